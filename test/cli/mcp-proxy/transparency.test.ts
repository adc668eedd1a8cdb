import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import type { Calls } from '../../../cli/mcp-proxy/calls.ts'
import { PROXY_MESSAGE_BYTES_MAX } from '../../../cli/mcp-proxy/limits.ts'
import { LineCutter } from '../../../src/mcp/line-cutter.ts'
import { runs } from '../../helpers/runs.ts'
import { pass } from './pass.ts'

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
  '{"level":30,"time":1764374400000,"msg":"a log line of the server"}',
]
const bytes = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(...LINES).map((line) => Buffer.from(line)) },
  { weight: 1, arbitrary: fc.uint8Array({ maxLength: 40 }).map((each) => Buffer.from(each)) },
)
const ends = fc.constantFrom('\n', '\r\n', '\n\n', '')
const streams = fc
  .array(fc.tuple(bytes, ends), { maxLength: 12 })
  .map((lines) => Buffer.concat(lines.flatMap(([line, end]) => [line, Buffer.from(end)])))
/** Positions at which a stream is cut. They may be within a line or a character. */
const cuts = fc.array(fc.nat(400), { maxLength: 20 })

function pieces(stream: Buffer, at: readonly number[]): Buffer[] {
  const places = [...new Set([0, ...at.map((each) => each % (stream.length + 1)), stream.length])].sort(
    (a, b) => a - b,
  )
  return places.slice(1).map((to, i) => stream.subarray(places[i]!, to))
}

/** Returns calls that record nothing. With `fails`, each call throws. */
function stubCalls(fails = false) {
  const unread: [string, string, number][] = []
  const fromClient = () => {
    if (fails) throw new Error('no space left on device')
    return null
  }
  const calls = {
    fromClient,
    fromServer: () => {},
    noAnswer: () => {},
    refuse: () => {},
    end: () => {},
    unread: (...told: [string, string, number]) => void unread.push(told),
  }
  return { calls: calls as unknown as Calls, unread }
}

/** Splits a server's output into messages, which the client must receive, and other lines. */
function messagesIn(stream: Buffer): [messages: Buffer, others: Buffer] {
  const [messages, others]: [Buffer[], Buffer[]] = [[], []]
  for (let from = 0; from < stream.length; ) {
    const end = stream.indexOf(0x0a, from)
    const line = stream.subarray(from, end < 0 ? stream.length : end + 1)
    from += line.length
    const isMessage = line.includes('"jsonrpc":"2.0"') && isJson(line)
    if (isMessage) messages.push(line, Buffer.from(end < 0 ? '\n' : ''))
    else if (line.some((byte) => byte > 0x20)) others.push(line)
  }
  return [Buffer.concat(messages), Buffer.concat(others)]
}

function isJson(line: Buffer): boolean {
  try {
    JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(line))
    return true
  } catch {
    return false
  }
}

test('every byte of client and server is forwarded in order, in pieces of any size, recorded or not', async () => {
  const property = fc.asyncProperty(
    streams,
    streams,
    cuts,
    cuts,
    fc.boolean(),
    async (client, server, a, b, fails) => {
      const { calls } = stubCalls(fails)
      const { toServer, toClient, stray } = await pass(pieces(client, a), pieces(server, b), calls)
      assert.deepEqual(toServer, client)
      assert.deepEqual([toClient, stray], messagesIn(server))
    },
  )
  await fc.assert(property, { numRuns: runs(1_000) })
})

test('a request with an invalid answer gets an error; byte order marks are removed, missing line breaks added', async () => {
  const unanswered: unknown[] = []
  const calls = { ...stubCalls().calls, noAnswer: (id: unknown) => unanswered.push(id) } as unknown as Calls
  const server = [
    '\ufeff{"jsonrpc":"2.0","id":1,"result":{}}\n',
    '{"id":2,"result":{}}\n',
    '{"jsonrpc":"1.0","id":"3","error":{"code":1,"message":"x"}}\n',
    '{"jsonrpc":"2.0","id":4,"result":{"text":"\xff"}}\n',
    '{"id":5}\n[]\n',
    '{"jsonrpc":"2.0","method":"last"}',
  ]
  const bytes = server.map((each) => Buffer.from(each, each.includes('\xff') ? 'latin1' : 'utf8'))
  const { toClient, stray } = await pass([], bytes, calls)
  const lines = toClient.toString().trimEnd().split('\n')
  assert.equal(lines[0], '{"jsonrpc":"2.0","id":1,"result":{}}')
  const messages = lines.map((line) => JSON.parse(line))
  assert.deepEqual(
    messages.map(({ id, error, method }) => [id ?? method, error?.code]),
    [
      [1, undefined],
      [2, -31_002],
      ['3', -31_002],
      [4, -31_002],
      ['last', undefined],
    ],
  )
  assert.match(messages[1].error.message, /not a JSON-RPC 2\.0 message in UTF-8: "\{\\"id\\":2/)
  assert.deepEqual(unanswered, [2, '3', 4])
  assert.equal(stray.length, Buffer.concat(bytes.slice(1, 5)).length)
})

test('the proxy’s own answer is written between two lines of the server, never inside a line', async () => {
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
    [null, -31_001],
    [2, -31_001],
    'x',
    'y',
  ])
})

test('a carriage return inside a line is refused, or recorded as unread: it may hide a message', async () => {
  const call = '{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"delete"}}'
  const hidden = Buffer.from(`{"jsonrpc":"2.0","id":6,"method":"ping","params":\r${call}\r}\n`)
  const plain = Buffer.from(`${call}\r\n\r\n`)

  const held = await pass([hidden, plain], [], stubCalls().calls, true)
  assert.deepEqual(held.toServer, plain)
  const { id, error } = JSON.parse(held.toClient.toString())
  assert.deepEqual([id, error.code], [6, -31_001])
  assert.match(error.message, /contains a carriage return/)

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

test('a line is split only at the size limit', () => {
  const cutter = new LineCutter(4)
  const shown = [
    ...cutter.cut(Buffer.from('abcd')),
    ...cutter.cut(Buffer.from('efg')),
    ...cutter.cut(Buffer.from('h\nij\n')),
    ...cutter.end(),
  ]
  assert.deepEqual(
    shown.map(({ bytes, fragment }) => [bytes.toString(), fragment?.isLast ?? 'line']),
    [
      ['abcdefg', false],
      ['h\n', true],
      ['ij\n', 'line'],
    ],
  )
})
