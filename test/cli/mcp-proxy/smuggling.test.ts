import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import fc from 'fast-check'
import { Calls } from '../../../cli/mcp-proxy/calls.ts'
import { OpenCalls } from '../../../cli/outbox/calls.ts'
import { contentOf } from '../../../sdk/actions/content.ts'
import { JSON_RPC_CODES } from '../../../src/json-rpc-codes.ts'
import { runs } from '../../helpers/runs.ts'
import { temporaryFiles } from '../../helpers/temporary-files.ts'
import { callsRead, READERS, type ReadCall } from './lenient-readers.ts'
import { pass } from './pass.ts'

const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')

type Recorded = { readonly name: string; readonly argumentsDigest?: { readonly sha256: string } }

/**
 * Opens a proxy with its own outbox. If a call waits for its record (`held`), the test immediately answers that the
 * ledger has the record.
 */
function openProxy(t: TestContext, held = true) {
  const { directory } = temporaryFiles(t)
  const open = new OpenCalls(directory)
  t.after(() => open.close())
  const options = {
    directory,
    open,
    include: false,
    failClosed: held,
    server: null,
    command: 'server',
    sha256,
  }
  const calls = new Calls({ ...options, say: () => {} })
  const inbox = join(directory, 'inbox')
  const taken = (): Recorded[] => {
    const names = readdirSync(directory).includes('inbox') ? readdirSync(inbox) : []
    const records = names.toSorted().map((name) => {
      const [, line] = readFileSync(join(inbox, name), 'utf8').split('\n')
      rmSync(join(inbox, name))
      return (JSON.parse(line!) as { record: { type: string; payload: Recorded } }).record
    })
    return records.filter(({ type }) => type === 'agent-action/1').map(({ payload }) => payload)
  }
  return async (line: string | Buffer) => {
    const { toServer, toClient } = await pass([Buffer.from(line), Buffer.from('\n')], [], calls, held)
    const answers = toClient.toString().split('\n').filter(Boolean)
    return { passed: toServer, recorded: taken(), answers: answers.map((each) => JSON.parse(each)) }
  }
}

const isRecorded = ({ name, args }: ReadCall, recorded: readonly Recorded[]) => {
  const content = contentOf('arguments', args, { include: false, sha256 })
  const digest = (content['argumentsDigest'] as { sha256: string } | undefined)?.sha256
  return recorded.some((each) => each.name === name && each.argumentsDigest?.sha256 === digest)
}

const CALL = '{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"delete","arguments":{"a":1}}}'
const PARAMS = '"params":{"name":"delete","arguments":{"a":1}}'
const PING = '"jsonrpc":"2.0","id":6,"method":"ping"'
const SHOWN = '"jsonrpc":"2.0","id":6,"method":"tools/call"'
const ECHO = '"name":"echo","arguments":{"a":1}'

/** Lines in which some lenient server could find a hidden call, for example of the tool `delete`. */
const HIDDEN: Readonly<Record<string, string | Buffer>> = {
  'Method alone': `{"jsonrpc":"2.0","id":6,"Method":"tools/call",${PARAMS}}`,
  'METHOD beside a method': `{${PING},"METHOD":"tools/call",${PARAMS}}`,
  'method with an escape': `{${PING},"\\u006dethod":"tools/call",${PARAMS}}`,
  'paramſ beside params': `{${SHOWN},"params":{${ECHO}},"paramſ":{"name":"delete"}}`,
  'PARAMS instead of params': `{${SHOWN},"PARAMS":{"name":"delete"}}`,
  'Name beside name': `{${SHOWN},"params":{${ECHO},"Name":"delete"}}`,
  'name with a space': `{${SHOWN},"params":{${ECHO},"name ":"delete"}}`,
  'name with U+0000': `{${SHOWN},"params":{${ECHO},"name\\u0000":"delete"}}`,
  'full-width name': `{${SHOWN},"params":{${ECHO},"ｎame":"delete"}}`,
  'na-me, without the dash': `{${SHOWN},"params":{${ECHO},"na-me":"delete"}}`,
  'ARGUMENTS beside arguments': `{${SHOWN},"params":{${ECHO},"ARGUMENTS":{"rm":"all"}}}`,
  requeﬆState: `{${SHOWN},"params":{${ECHO},"requeﬆState":"x"}}`,
  'Traceparent in _meta': `{${SHOWN},"params":{${ECHO},"_meta":{"TraceParent":"x"}}}`,
  _Meta: `{${SHOWN},"params":{${ECHO},"_Meta":{}}}`,
  'a doubled name': `{${SHOWN},"params":{${ECHO},"name":"delete"}}`,
  '__proto__ of the message': `{"jsonrpc":"2.0","id":6,"__proto__":{"method":"tools/call",${PARAMS}}}`,
  '__proto__ of params': `{${SHOWN},"params":{"name":"echo","__proto__":{"arguments":{"rm":"all"}}}}`,
  'a list in a list': `[[${CALL}]]`,
  'a text in a list': `[${JSON.stringify(CALL)}]`,
  'a number in a list': '[1]',
  'JSON as text': JSON.stringify(CALL),
  'Tools/Call': CALL.replace('tools/call', 'Tools/Call'),
  'tools/call with a space': CALL.replace('tools/call', 'tools/call '),
  'tools/call with U+0000': CALL.replace('tools/call', 'tools/call\\u0000'),
  'tools/call in full width': CALL.replace('tools/call', 'ｔools/call'),
  'toolſ/call': CALL.replace('tools/call', 'toolſ/call'),
  'tools.call': CALL.replace('tools/call', 'tools.call'),
  'x/tools/call': CALL.replace('tools/call', 'x/tools/call'),
  callTool: CALL.replace('tools/call', 'callTool'),
  'tools%2Fcall': CALL.replace('tools/call', 'tools%2Fcall'),
  'a list as method': CALL.replace('"tools/call"', '["tools/call"]'),
  'null as method': CALL.replace('"tools/call"', 'null'),
  'no method': `{"jsonrpc":"2.0","id":6,${PARAMS}}`,
  'request and answer': CALL.replace('"id":7', '"id":7,"result":{}'),
  'params by position': `{${SHOWN},"params":["delete",{}]}`,
  'params as text': `{${SHOWN},"params":${JSON.stringify('{"name":"delete"}')}}`,
  'no params, members of the message': `{${SHOWN},"name":"delete","arguments":{}}`,
  'no params': `{${SHOWN}}`,
  'a number as name': `{${SHOWN},"params":{"name":5}}`,
  'a name that a record cannot hold': `{${SHOWN},"params":{"name":"${'x'.repeat(513)}"}}`,
  'no name': `{${SHOWN},"params":{"name":""}}`,
  'a call within params': `{${PING},"params":{"a":${CALL}}}`,
  'a call within arguments': `{${SHOWN},"params":{"name":"echo","arguments":{"a":${CALL}}}}`,
  'ⓜethod within params': `{${PING},"params":{"a":{"ⓜethod":"tools/call","params":{"name":"delete"}}}}`,
  'a call within an answer': `{"jsonrpc":"2.0","id":6,"result":[${CALL.replace('method', 'Method')}]}`,
  'a carriage return': `{${PING},"params":\r${CALL}\r}`,
  'two messages in a line': `{${PING}} ${CALL}`,
  'text behind': `${CALL} # a comment`,
  'a comment': CALL.replace(',', ',/* a comment */'),
  'single quotes': CALL.replaceAll('"', "'"),
  NaN: CALL.replace('"a":1', '"a":NaN'),
  'a comma too many': CALL.replace('{"a":1}', '{"a":1,}'),
  'a control character in a text': CALL.replace('delete', 'de\tlete'),
  'two byte order marks': `\ufeff\ufeff${CALL}`,
  'a space of Unicode': `\u00a0${CALL}`,
  'half of a surrogate pair': CALL.replace('delete', '\\ud800'),
  'a number that a double changes': CALL.replace('"a":1', '"a":12345678901234567890'),
  'an id that a double changes': CALL.replace('7', '1e400'),
  'deeper than is read': CALL.replace('"a":1', `"a":${'['.repeat(300)}${']'.repeat(300)}`),
  'very deep': `${'['.repeat(200_000)}${']'.repeat(200_000)}`,
  'a very deep id': CALL.replace('7', `${'['.repeat(200_000)}${']'.repeat(200_000)}`),
  'bytes that are no UTF-8': Buffer.from(CALL.replace('delete', 'del\xffete'), 'latin1'),
  'an overlong quote': Buffer.from(CALL.replace('delete', '\xc0\xa2'), 'latin1'),
  'a surrogate in UTF-8': Buffer.from(CALL.replace('delete', '\xed\xa0\x80'), 'latin1'),
  'UTF-16': Buffer.from(CALL, 'utf16le'),
}

test('with --fail-closed no line passes in which some server could read a call that is not recorded', async (t) => {
  const send = openProxy(t)
  for (const [what, line] of Object.entries(HIDDEN)) {
    const { passed, recorded, answers } = await send(line)
    assert.deepEqual([passed.toString(), recorded], ['', []], what)
    assert.ok(answers.length > 0, `${what}: the client gets an answer`)
    for (const { error } of answers) assert.equal(error.code, JSON_RPC_CODES.notForwarded, what)
  }
})

test('without --fail-closed, such a line is forwarded, and a record has the digest of its bytes', async (t) => {
  const send = openProxy(t, false)
  for (const [what, line] of Object.entries(HIDDEN)) {
    const { passed, recorded } = await send(line)
    const bytes = Buffer.concat([Buffer.from(line), Buffer.from('\n')])
    assert.ok(passed.equals(bytes), what)
    const unread = recorded.filter(({ name }) => name === 'unread message')
    // In these lines of UTF-16, the byte 0x0a occurs only at the end of a line.
    assert.deepEqual(
      unread.map(({ argumentsDigest }) => argumentsDigest!.sha256),
      [sha256(bytes)],
      what,
    )
  }
})

test('a refusal has the id of the client’s request, and never an id of the server', async (t) => {
  const send = openProxy(t)
  const idsOf = async (line: string) => (await send(line)).answers.map(({ id }) => id)
  assert.deepEqual(await idsOf(HIDDEN['Method alone'] as string), [6])
  assert.deepEqual(await idsOf('{"jsonrpc":"2.0","id":9,"result":{},"Method":"tools/call"}'), [null])
  assert.deepEqual(await idsOf('{"jsonrpc":"2.0","method":"x","METHOD":"tools/call"}'), [null])
  assert.deepEqual(await idsOf(`[${CALL},{"jsonrpc":"2.0","id":"b","method":"Tools/call"}]`), [7, 'b'])
})

test('with --fail-closed, valid MCP is forwarded: requests, notifications, answers, tasks, batches, any tool names', async (t) => {
  const send = openProxy(t)
  for (const [line, names] of [
    [CALL, ['delete']],
    [CALL.replace('"id":7,', ''), ['delete']],
    [CALL.replace('"id":7', '"id":null'), ['delete']],
    [CALL.replace('delete', 'TOOLS/CALL süß \u2028 ı'), ['TOOLS/CALL süß \u2028 ı']],
    [`\ufeff${CALL}\r`, ['delete']],
    [`[${CALL},{${PING}},${CALL.replace('delete', 'echo')}]`, ['delete', 'echo']],
    [
      `{${SHOWN},"params":{${ECHO},"task":{"ttl":1},"inputResponses":{},"requestState":"x","_meta":{"progressToken":1}}}`,
      ['echo'],
    ],
    [
      `{${SHOWN},"params":{"name":"x","arguments":{"Name":"a","name":"b","METHOD":"GET","method":"tools/list"}}}`,
      ['x'],
    ],
    [`{${PING}}`, []],
    ['{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"x"}}', []],
    ['{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"x","arguments":{}}}', []],
    ['{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}', []],
    ['{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"taskId":"x"}}', []],
    [
      '{"jsonrpc":"2.0","id":1,"result":{"role":"assistant","content":{"type":"text","text":"tools/call"}}}',
      [],
    ],
    ['{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"tools/call"}}', []],
    ['{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7,"reason":"tools"}}', []],
    ['[]', []],
    ['', []],
  ] as const) {
    const { passed, recorded } = await send(line)
    assert.equal(passed.toString(), `${line}\n`)
    assert.deepEqual(
      recorded.map(({ name }) => name),
      names,
      line,
    )
  }
})

test('a model’s tool uses in a sampling answer are recorded by digest before they are forwarded', async (t) => {
  const uses = '[{"type":"tool_use","id":"u1","name":"run","input":{}}]'
  for (const line of [
    `{"jsonrpc":"2.0","id":1,"result":{"role":"assistant","content":${uses}}}`,
    `{"jsonrpc":"2.0","id":1,"method":"tasks/update","params":{"taskId":"x","inputResponses":{"a":{"content":${uses}}}}}`,
  ]) {
    const { passed, recorded } = await openProxy(t)(line)
    assert.equal(passed.toString(), `${line}\n`)
    const [record] = recorded
    assert.equal(record!.argumentsDigest!.sha256, sha256(passed))
  }
})

/* Changes a line. `n` chooses the position. `other` is the text to insert. */
type Mutation = (line: string, n: number, other: string) => string

const NAMES = ['jsonrpc', 'id', 'method', 'params', 'name', 'arguments', '_meta']
const LETTERS: Readonly<Record<string, readonly string[]>> = {
  s: ['ſ', 'ｓ', 'S', '\\u0073'],
  i: ['ı', 'İ', 'I'],
  k: ['\u212a'],
  m: ['M', '\\u006d', 'ⓜ'],
  n: ['N', 'ｎ', '-n'],
  a: ['A', ' a', 'a\u0301', '_a'],
  e: ['E', 'e\\u0000', 'e ', 'e\u200d'],
  t: ['T', '\u2028t'],
}

const nth = <Each>(list: readonly Each[], n: number): Each => list[n % list.length]!

/** Returns another spelling of the name that some servers accept as the name. */
function alike(name: string, n: number): string {
  const at = n % name.length
  return name.slice(0, at) + nth(LETTERS[name[at]!] ?? [name[at]!.toUpperCase()], n >> 4) + name.slice(at + 1)
}

function atOne(line: string, pattern: RegExp, n: number, replace: (found: string) => string): string {
  const places = [...line.matchAll(pattern)]
  if (places.length === 0) return line
  const { index, 0: found } = nth(places, n)
  return line.slice(0, index) + replace(found) + line.slice(index + found.length)
}

const MUTATIONS: readonly Mutation[] = [
  (line, n) =>
    atOne(line, new RegExp(`(?<=")(?:${NAMES.join('|')})(?=":)`, 'g'), n, (name) => alike(name, n >> 2)),
  (line, n, other) => atOne(line, /\{/g, n, () => `{"${alike(nth(NAMES, n >> 3), n >> 6)}":${other},`),
  (line, n, other) => atOne(line, /\{/g, n, () => `{"${nth(NAMES, n >> 3)}":${other},`),
  (line, n, other) => atOne(line, /(?<=[^{[,])\}/g, n, () => `,"${nth(NAMES, n >> 3)}":${other}}`),
  (line, n, other) => atOne(line, /\{/g, n, () => `{"__proto__":${other}${line.includes('{}') ? '' : ','}`),
  (line, n) => atOne(line, /tools\/call/g, n, (found) => alike(found, n >> 2)),
  (line, n, other) => atOne(line, /"tools\/call"|\{"a":1\}|"echo"|7/g, n, () => other),
  (line, n) =>
    atOne(line, /[,:{[]/g, n, (found) => found + nth(['\r', ' ', '\u2028', '\u0085', '/**/', '\f'], n >> 4)),
  (line, n) => atOne(line, /[,:{[]/g, n, (found) => found + ' '.repeat(n % 130)),
  (line, n, other) =>
    nth([`[${line}]`, `[[${line}]]`, `[${line},${other}]`, JSON.stringify(line), `\ufeff${line}`], n),
  (line, n, other) => line + nth([' #', other, ',', '\0', ` ${other}`, '}'], n),
  (line) => line.replaceAll('"', "'"),
  // Inserts spaces, so that a reader with a buffer of 128 bytes begins a new buffer exactly at an inner message.
  (line) =>
    line.replace(/(?<=.)\{"jsonrpc"/, (found, at: number) => ' '.repeat(127 - ((at + 127) % 128)) + found),
  (line, n) =>
    line.slice(0, n % line.length) + String.fromCharCode(n % 0x300) + line.slice((n % line.length) + (n % 2)),
]

const OTHERS = [
  CALL,
  '"tools/call"',
  '{"name":"delete","arguments":{"a":2}}',
  '"delete"',
  '{"a":2}',
  '["delete",{"a":2}]',
  '{"method":"tools/call","params":{"name":"delete"}}',
  JSON.stringify(CALL),
  'null',
  '[]',
]
const BASES = [
  CALL.replace('delete', 'echo'),
  `{${PING}}`,
  `{${PING},"params":{"_meta":{"x":1}}}`,
  `{${PING},"params":${CALL}}`,
  `{${SHOWN},"params":{${ECHO},"_meta":{"progressToken":7}}}`,
  `{${SHOWN},"params":{"name":"echo","__proto__":{"task":{},"arguments":{"a":2}}}}`,
  '{"jsonrpc":"2.0","id":7,"result":{"content":[]}}',
  `[{${PING}},${CALL}]`,
]
const mutation = fc.tuple(fc.constantFrom(...MUTATIONS), fc.nat(1 << 20), fc.constantFrom(...OTHERS))
const lines = fc
  .tuple(fc.constantFrom(...BASES), fc.array(mutation, { maxLength: 3 }))
  .map(([base, mutations]) => mutations.reduce((line, [mutate, n, other]) => mutate(line, n, other), base))

/**
 * A call with a string that contains the text of another call. The proxy must pass this call. Only a server that begins
 * a new message at the end of a buffer, and also parses strings as messages, could read the inner call. No such server
 * is known (lenient-readers.ts).
 */
const MENTIONED = `{${SHOWN},"params":{${ECHO},"_meta":{"progressToken":7},"jsonrpc":${JSON.stringify(CALL)}}}`

test('property: with --fail-closed, no server reads an unrecorded tool call in any forwarded line', async (t) => {
  const send = openProxy(t)
  const seen = { passed: 0, calls: 0 }
  const property = fc.asyncProperty(lines, async (line) => {
    const { passed, recorded } = await send(line)
    if (passed.length === 0) return
    seen.passed++
    for (const [reader, options] of Object.entries(READERS))
      for (const call of callsRead(passed.subarray(0, -1), options)) {
        seen.calls++
        assert.ok(isRecorded(call, recorded), `${reader} reads ${JSON.stringify(call)}`)
      }
  })
  await fc.assert(property, { numRuns: runs(10_000), examples: [[MENTIONED]] })
  assert.ok(seen.passed > 100 && seen.calls > 500, JSON.stringify(seen))
})
