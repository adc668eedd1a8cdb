import assert from 'node:assert/strict'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { PassThrough } from 'node:stream'
import { type TestContext, test } from 'node:test'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { main } from '../../cli/main.ts'
import { MCP_LINE_BYTES_MAX, MCP_REQUESTS_AT_ONCE_MAX } from '../../src/mcp/limits.ts'
import { capture } from '../helpers/capture.ts'
import { sharedCliApp } from '../helpers/cli-app.ts'
import { callTool, makeMcpClient, refusedTool } from '../helpers/mcp.ts'
import { addKey } from '../helpers/more-keys.ts'
import { CLI } from '../helpers/run-cli.ts'
import { runCommand } from '../helpers/run-command.ts'

test('tallystick mcp serves the official client as a process, and ends with it', async (t) => {
  const { ledger, env } = await sharedCliApp(t)
  // The tests below speak the older protocol version, in this process.
  const client = makeMcpClient('auto')
  const stderr: string[] = []
  const command = { command: process.execPath, args: [CLI, 'mcp'], env, stderr: 'pipe' as const }
  const transport = new StdioClientTransport(command)
  transport.stderr!.on('data', (piece) => stderr.push(`${piece}`))
  await client.connect(transport)
  assert.match(client.getInstructions()!, /^Tallystick is a ledger/)
  assert.equal((await client.listTools()).tools.length, 11)
  const { id, ledger: home } = await callTool(client, 'notarize', { payload: { n: 1 } })
  assert.equal(home, ledger.ledger.id)
  assert.equal((await callTool(client, 'get_record', { record: id })).payload.n, 1)
  assert.match(await refusedTool(client, 'get_record', { record: 'rec_x' }), /^404 not_found/)
  await client.close()
  assert.deepEqual(stderr, [])
})

const INITIALIZE = {
  jsonrpc: '2.0',
  id: 0,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'tests', version: '1' } },
}
const notarize = (id: number | string, text: string) =>
  `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"method":"tools/call","params":{"name":"notarize","arguments":{"payload":${text}}}}\n`

/** Runs `tallystick mcp` in this process. The test supplies the lines of its standard input. */
function startMcp(args: readonly string[] = []) {
  const stdin = new PassThrough()
  const [stdout, stderr] = [capture(), capture()]
  const ended = main(['mcp', ...args], { stdin, stdout, stderr })
  const answers = () =>
    stdout
      .text()
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line))
  stdin.write(`${JSON.stringify(INITIALIZE)}\n`)
  return { stdin, stderr, ended, answers }
}

test('refuses invalid lines, with their id if readable, and continues', async (t) => {
  await sharedCliApp(t)
  const { stdin, stderr, ended, answers } = startMcp()
  const deep = `${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`
  for (const line of [
    notarize(1, '{"a":1,"a":2}'),
    notarize('two', '{"a":12345678901234567890}'),
    notarize(3, deep),
    'tools/list\n',
    '[{"jsonrpc":"2.0","id":4,"method":"tools/list"}]\n',
    '{"id":5,"method":"tools/list"}\n',
    Buffer.from([0x22, 0xff, 0x22, 0x0a]),
    '\r\n',
    notarize(6, `{"a":"${'a'.repeat(MCP_LINE_BYTES_MAX)}"}`),
    // Even if the line is too long, the server must find the id, which is the last member here, as the TypeScript SDK
    // writes it.
    `{"method":"ping","params":{"id":9,"a":"${'a'.repeat(3 * MCP_LINE_BYTES_MAX)}"},"jsonrpc":"2.0","id":"last"}\n`,
    `{"jsonrpc":"2.0","id":10,"result":"${'a'.repeat(MCP_LINE_BYTES_MAX)}"}\n`,
    '{"jsonrpc":"2.0","id":11,"method":"initialize","params":{"protocolVersion":null}}\n',
    '{"jsonrpc":"2.0","id":12,"method":"initialize"}\n',
    '\ufeff{"jsonrpc":"2.0","id":13,"method":"ping"}\n',
  ])
    stdin.write(line)
  // A message may arrive in fragments, and together with another message.
  const last = `${notarize(7, '{"a":"ä"}')}{"jsonrpc":"2.0","id":8,"method":"ping"}`
  for (const byte of Buffer.from(last)) stdin.write(Buffer.from([byte]))
  stdin.end()
  assert.equal(await ended, 0)
  assert.equal(stderr.text(), '')
  const byId = answers().map(({ id, error, result }) => [id, error?.code ?? null, error?.message ?? result])
  const refused = byId
    .filter(([, code]) => code !== null)
    .map(([id, code, message]) => [id, code, message.slice(0, 38)])
  assert.deepEqual(refused, [
    [1, -32700, 'the message is not accepted: json_dupl'],
    ['two', -32700, 'the message is not accepted: json_numb'],
    [3, -32700, 'the message is not accepted: json_dept'],
    [null, -32700, 'the message is not accepted: json_synt'],
    [null, -32600, 'batches are not supported: send one me'],
    [5, -32600, 'the message is not a JSON-RPC 2.0 requ'],
    [null, -32700, 'the message contains bytes that are no'],
    ...[6, 'last', null].map((id) => [
      id,
      -32600,
      `a message may have at most ${MCP_LINE_BYTES_MAX} bytes: s`.slice(0, 38),
    ]),
    [11, -32602, 'initialize needs protocolVersion (a st'],
    [12, -32602, 'initialize needs protocolVersion (a st'],
  ])
  const done = byId.filter(([, code]) => code === null)
  assert.deepEqual(done.map(([id]) => id).sort(), [0, 13, 7, 8])
  assert.equal(done.find(([id]) => id === 7)![2].structuredContent.payload.a, 'ä')
})

test('answers all requests before the end of input, with a limit of concurrent requests', async (t) => {
  const { app } = await sharedCliApp(t)
  let [underWay, most] = [0, 0]
  const count = (_: IncomingMessage, response: ServerResponse) => {
    most = Math.max(most, ++underWay)
    response.once('close', () => underWay--)
  }
  app.server.on('request', count)
  t.after(() => app.server.off('request', count))
  const { stdin, ended, answers } = startMcp()
  const requests = 5 * MCP_REQUESTS_AT_ONCE_MAX
  stdin.end(Array.from({ length: requests }, (_, i) => notarize(i + 1, `{"n":${i}}`)).join(''))
  assert.equal(await ended, 0)
  assert.equal(answers().filter(({ result }) => result?.structuredContent).length, requests)
  assert.ok(most > 1 && most <= MCP_REQUESTS_AT_ONCE_MAX, `${most}`)
})

test('exits at once for a bad key or arguments; lists all tools if scopes are unknown', async (t: TestContext) => {
  const app = await sharedCliApp(t)
  const wrong = await runCommand(['mcp', '--api-key', 'tly_nobody'])
  assert.deepEqual([wrong.code, wrong.stdout], [77, ''])
  assert.match(wrong.stderr, /401 unauthenticated/)
  assert.equal((await runCommand(['mcp', 'now'])).code, 64)
  assert.equal((await runCommand(['mcp', '--key', 'nothing'])).code, 64)

  const own = await addKey(app, { scopes: ['records:read:own'] })
  const { stdin, stderr, ended, answers } = startMcp(['--api-key', own])
  stdin.end('{"jsonrpc":"2.0","id":1,"method":"tools/list"}\n')
  assert.equal(await ended, 0)
  assert.match(stderr.text(), /^tallystick: all tools are listed, .* 403 forbidden/)
  assert.equal(answers().at(-1).result.tools.length, 11)
})
