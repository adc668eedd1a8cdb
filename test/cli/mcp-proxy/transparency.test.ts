import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { PassThrough, type Readable } from 'node:stream'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import fc from 'fast-check'
import type { Calls } from '../../../cli/mcp-proxy/calls.ts'
import { PROXY_MESSAGE_BYTES_MAX } from '../../../cli/mcp-proxy/limits.ts'
import { McpProxy } from '../../../cli/mcp-proxy/proxy.ts'
import type { Ended, Receive } from '../../../cli/mcp-proxy/upstream.ts'
import { LineCutter } from '../../../src/mcp/line-cutter.ts'
import { runs } from '../../helpers/runs.ts'

const LINES = [
  '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"süß","arguments":{"a":1}}}',
  '{"jsonrpc":"2.0","id":"1","result":{"content":[]}}',
  '[{"jsonrpc":"2.0","id":2,"method":"ping"},{"jsonrpc":"2.0","id":3,"method":"tools/call"}]',
  '{"id":1,"id":2}',
  '{"jsonrpc":"2.0","id":12345678901234567890,"method":"ping"}',
  'npm WARN this is no JSON',
  '{"half":',
  '\u{1f98e}'.repeat(5),
  '',
  '\r',
  ' ',
  '{"jsonrpc":"2.0","id":4,"method":"ping","params":\r{"jsonrpc":"2.0","id":5,"method":"tools/call"}\r}',
]
const bytes = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(...LINES).map((line) => Buffer.from(line)) },
  { weight: 1, arbitrary: fc.uint8Array({ maxLength: 40 }).map((each) => Buffer.from(each)) },
)
const ends = fc.constantFrom('\n', '\r\n', '\n\n', '')
const streams = fc
  .array(fc.tuple(bytes, ends), { maxLength: 12 })
  .map((lines) => Buffer.concat(lines.flatMap(([line, end]) => [line, Buffer.from(end)])))
/** Where a stream is cut: in the middle of a line, of a character, or not at all. */
const cuts = fc.array(fc.nat(400), { maxLength: 20 })

function pieces(stream: Buffer, at: readonly number[]): Buffer[] {
  const places = [...new Set([0, ...at.map((each) => each % (stream.length + 1)), stream.length])].sort(
    (a, b) => a - b,
  )
  return places.slice(1).map((to, i) => stream.subarray(places[i]!, to))
}

/** Both directions at the same time, as pipes. */
async function pass(
  fromClient: readonly Buffer[],
  fromServer: readonly Buffer[],
  calls: Calls,
  held = false,
) {
  const stdin = new PassThrough()
  const stdout = new PassThrough()
  const toServer: Buffer[] = []
  let receive: Receive = async () => {}
  let end: (ended: Ended) => void = () => {}
  const ended = new Promise<Ended>((resolve) => (end = resolve))
  let clientEnded: () => void = () => {}
  const clientEnd = new Promise<void>((resolve) => (clientEnded = resolve))
  const isRecorded = held ? async () => true : null
  const proxy = new McpProxy({ stdin, stdout, calls, isRecorded, say: () => {} })
  const run = proxy.run(
    (given) => {
      receive = given
      return {
        send: async (piece) => void toServer.push(Buffer.from(piece)),
        end: () => clientEnded(),
        stop: () => {},
        ended,
      }
    },
    new Promise(() => {}),
  )
  const toClient = readAll(stdout)
  await Promise.all([
    (async () => {
      for (const piece of fromClient) {
        stdin.write(piece)
        await turn()
      }
      stdin.end()
    })(),
    (async () => {
      for (const piece of fromServer) {
        await receive(piece)
        await turn()
      }
    })(),
  ])
  await clientEnd
  end({ why: 'the test is over', isFailure: false })
  await run
  stdout.end()
  return { toServer: Buffer.concat(toServer), toClient: await toClient }
}

async function readAll(stream: Readable): Promise<Buffer> {
  const found: Buffer[] = []
  for await (const piece of stream) found.push(piece as Buffer)
  return Buffer.concat(found)
}

/** Records nothing, or fails at it. */
function stubCalls(fails = false) {
  const unread: [string, string, number][] = []
  const fromClient = () => {
    if (fails) throw new Error('no space left on device')
    return null
  }
  const calls = {
    fromClient,
    fromServer: () => {},
    refuse: () => {},
    end: () => {},
    unread: (...told: [string, string, number]) => void unread.push(told),
  }
  return { calls: calls as unknown as Calls, unread }
}

test('every byte passes, both ways, in order, however it is cut, whether or not it is understood or recorded', async () => {
  const property = fc.asyncProperty(
    streams,
    streams,
    cuts,
    cuts,
    fc.boolean(),
    async (client, server, a, b, fails) => {
      const { calls } = stubCalls(fails)
      const { toServer, toClient } = await pass(pieces(client, a), pieces(server, b), calls)
      assert.deepEqual(toServer, client)
      assert.deepEqual(toClient, server)
    },
  )
  await fc.assert(property, { numRuns: runs(1_000) })
})

test('an answer of the proxy’s own stands between two lines of the server, never within one', async () => {
  const { calls } = stubCalls()
  const server = [
    Buffer.from('{"jsonrpc":"2.0",'),
    Buffer.from('"method":"x"}\n{"jsonrpc":"2.0","method":"y"}\n'),
  ]
  const { toServer, toClient } = await pass(
    [Buffer.from('no JSON\n{"id":1,"id":2,"method":"tools/call"}\n')],
    server,
    calls,
    true,
  )
  assert.equal(toServer.length, 0)
  const lines = toClient
    .toString()
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
  assert.deepEqual(lines.map(({ method, error, id }) => method ?? [id, error.code]).sort(), [
    [null, -32090],
    [2, -32090],
    'x',
    'y',
  ])
})

test('a carriage return inside a line, behind which a server may read a second message, is refused, or recorded as unread', async () => {
  const call = '{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"delete"}}'
  const hidden = Buffer.from(`{"jsonrpc":"2.0","id":6,"method":"ping","params":\r${call}\r}\n`)
  const plain = Buffer.from(`${call}\r\n\r\n`)

  const held = await pass([hidden, plain], [], stubCalls().calls, true)
  assert.deepEqual(held.toServer, plain)
  const { id, error } = JSON.parse(held.toClient.toString())
  assert.deepEqual([id, error.code], [6, -32090])
  assert.match(error.message, /a carriage return inside/)

  const { calls, unread } = stubCalls()
  const passed = await pass([hidden, plain], [], calls)
  assert.deepEqual(passed.toServer, Buffer.concat([hidden, plain]))
  const sha256 = createHash('sha256').update(hidden).digest('hex')
  assert.deepEqual(
    unread.map(([why, ...rest]) => [/carriage return/.test(why), ...rest]),
    [[true, sha256, hidden.length]],
  )
})

test('a message that is too long passes in pieces, unread, and a record has its digest', async () => {
  const { calls, unread } = stubCalls()
  const long = Buffer.alloc(PROXY_MESSAGE_BYTES_MAX + 10, 'x')
  const client = [long, Buffer.from('y\n{"id":1,"method":"ping"}\n')]
  const { toServer } = await pass(client, [], calls)
  assert.ok(toServer.equals(Buffer.concat(client)))
  const line = Buffer.concat([long, Buffer.from('y\n')])
  assert.deepEqual(
    unread.map(([, sha256, length]) => [sha256, length]),
    [[createHash('sha256').update(line).digest('hex'), line.length]],
  )
})

test('a line is cut at its bound and nowhere else', () => {
  const cutter = new LineCutter(4)
  const shown = [
    ...cutter.cut(Buffer.from('abcd')),
    ...cutter.cut(Buffer.from('efg')),
    ...cutter.cut(Buffer.from('h\nij\n')),
    ...cutter.end(),
  ]
  assert.deepEqual(
    shown.map(({ bytes, part }) => [bytes.toString(), part?.isLast ?? 'line']),
    [
      ['abcdefg', false],
      ['h\n', true],
      ['ij\n', 'line'],
    ],
  )
})
