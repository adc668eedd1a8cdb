import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readdirSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { Client, type ClientOptions } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { createMcpHandler } from '@modelcontextprotocol/server'
import { FAIL_CLOSED_SECONDS_MAX } from '../../../cli/calls/limits.ts'
import { canonicalize } from '../../../src/proof/json/jcs.ts'
import { sharedCliApp } from '../../helpers/cli-app.ts'
import { CLI } from '../../helpers/run-cli.ts'
import { startTcpProxy } from '../../helpers/tcp-proxy.ts'
import { temporaryFiles } from '../../helpers/temporary-files.ts'
import { until } from '../../helpers/wait.ts'
import { makeServer } from './server.ts'
import { deedsOf, end, SERVER, spoolIn, start, waitForDeed, waitForDeeds, waiting } from './set-up.ts'

const COMMAND = ['--', process.execPath, SERVER]
const TRACEPARENT = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`
const jcs = (value: never) => createHash('sha256').update(canonicalize(value)).digest('hex')

async function connect(
  t: TestContext,
  args: readonly string[],
  env: Record<string, string>,
  options: ClientOptions = {},
) {
  const client = new Client({ name: 'test-client', version: '2.0.0' }, options)
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [CLI, 'mcp-proxy', ...args],
    env: { ...(process.env as Record<string, string>), ...env },
    stderr: 'pipe',
  })
  const said: string[] = []
  transport.stderr?.on('data', (piece) => said.push(String(piece)))
  await client.connect(transport)
  t.after(() => client.close())
  return { client, pid: transport.pid!, said }
}

test('a call is recorded as an action and a child outcome, with digests of arguments and result', async (t) => {
  const app = await sharedCliApp(t)
  const spool = spoolIn(temporaryFiles(t).directory)
  const { client } = await connect(t, ['--spool', spool, ...COMMAND], app.env)
  assert.deepEqual((await client.listTools()).tools.map(({ name }) => name).sort(), [
    'echo',
    'exit',
    'fail',
    'keys',
    'wait',
  ])
  const _meta = { traceparent: TRACEPARENT, 'claudecode/toolUseId': 'toolu_1' }
  const echo = await client.callTool({ name: 'echo', arguments: { text: 'süß' }, _meta })
  assert.deepEqual(echo.content, [{ type: 'text', text: 'süß' }])
  assert.equal((await client.callTool({ name: 'fail', arguments: { text: 'x' } })).isError, true)
  await client.callTool({ name: 'nothing', arguments: {} }).catch(() => {})
  const deeds = await waitForDeeds(app, 6)
  const [action, outcome] = deeds
  assert.deepEqual(
    deeds.map(({ type, payload: { name, status, told } }) => [type, name, status ?? told]),
    [
      ['agent-action/1', 'echo', 'before'],
      ['agent-outcome/1', 'echo', 'ok'],
      ['agent-action/1', 'fail', 'before'],
      ['agent-outcome/1', 'fail', 'error'],
      ['agent-action/1', 'nothing', 'before'],
      ['agent-outcome/1', 'nothing', 'error'],
    ],
  )
  assert.equal(outcome!.parentId, action!.recordId)
  assert.equal(action!.traceparent, TRACEPARENT)
  assert.equal(outcome!.traceparent, TRACEPARENT)
  const { argumentsDigest, callId, server, framework, attributes, session } = action!.payload
  assert.deepEqual(
    { callId, server, framework },
    { callId: 'toolu_1', server: 'test-server', framework: 'mcp-proxy' },
  )
  assert.equal(attributes.client, 'test-client/2.0.0')
  assert.equal(argumentsDigest.sha256, jcs({ text: 'süß' } as never))
  assert.equal(outcome!.payload.resultDigest.of, 'jcs')
  assert.ok(outcome!.payload.durationMs > 0)
  assert.ok(deeds.every(({ payload }) => payload.session === session))
  assert.ok(!JSON.stringify(deeds).includes('süß'), 'content was not asked for')

  await t.test(
    'a call that the client cancels, or whose server ends, has the outcome unknown, with the reason',
    async () => {
      const cancel = new AbortController()
      const waited = client.callTool({ name: 'wait', arguments: { text: 'x' } }, { signal: cancel.signal })
      await waitForDeeds(app, 7)
      cancel.abort()
      await assert.rejects(waited)
      await assert.rejects(client.callTool({ name: 'exit', arguments: { text: 'x' } }))
      const ended = (await waitForDeeds(app, 10)).slice(6)
      const outcomes = ended.filter(({ type }) => type === 'agent-outcome/1').map(({ payload }) => payload)
      assert.deepEqual(outcomes.map(({ status }) => status).sort(), ['unknown', 'unknown'])
      const exited = outcomes.find(({ name }) => name === 'exit')
      assert.match(exited.error, /the server ended \(exit code 3\) before it answered/)
      assert.equal(outcomes.find(({ name }) => name === 'wait').attributes.cancelled, true)
    },
  )
})

test('with --content arguments and results are kept; the server sees no key of ours', async (t) => {
  const app = await sharedCliApp(t)
  const spool = spoolIn(temporaryFiles(t).directory)
  const key = app.env['TALLYSTICK_API_KEY']!
  const env = {
    ...app.env,
    OTEL_EXPORTER_OTLP_HEADERS: `Authorization=Bearer%20${key}`,
    OTEL_EXPORTER_OTLP_LOGS_HEADERS: `x=${Buffer.from(`Bearer ${key}`).toString('base64')}`,
    OTEL_SERVICE_NAME: 'files',
  }
  const args = ['--content', '--name', 'files', '--spool', spool, ...COMMAND]
  const { client, said } = await connect(t, args, env)
  const long = 'x'.repeat(60_000)
  assert.deepEqual((await client.callTool({ name: 'keys', arguments: { text: long } })).content, [
    { type: 'text', text: 'OTEL_SERVICE_NAME' },
  ])
  assert.match(said.join(''), /OTEL_EXPORTER_OTLP_HEADERS.*OTEL_EXPORTER_OTLP_LOGS_HEADERS/s)
  assert.ok(!said.join('').includes(key))
  const [action, outcome] = await waitForDeeds(app, 2)
  assert.equal(
    action!.payload.argumentsDigest.length,
    JSON.stringify({ text: long }).length,
    'too long to be kept',
  )
  assert.equal(action!.payload.server, 'files')
  assert.deepEqual(outcome!.payload.result.content, [{ type: 'text', text: 'OTEL_SERVICE_NAME' }])
})

test('after kill -9 of the proxy, the next sender records that the call has no outcome', async (t) => {
  const app = await sharedCliApp(t)
  const spool = spoolIn(temporaryFiles(t).directory)
  const first = await connect(t, ['--spool', spool, ...COMMAND], app.env)
  const waited = first.client.callTool({ name: 'wait', arguments: { text: 'x' } })
  const [action] = await waitForDeeds(app, 1)
  process.kill(first.pid, 'SIGKILL')
  await assert.rejects(waited)
  const flushed = start(t, ['flush', '--spool', spool], app.env)
  assert.equal(await end(flushed), 0)
  const deeds = await deedsOf(app)
  assert.equal(deeds.length, 2)
  assert.equal(deeds[1]!.parentId, action!.recordId)
  const { status, errorType, error } = deeds[1]!.payload
  assert.deepEqual({ status, errorType }, { status: 'unknown', errorType: 'proxy_ended' })
  assert.match(error, /no outcome came/)
  assert.deepEqual(readdirSync(join(spool, 'calls')), [])
})

test('while the ledger is away calls go on, and are recorded when it is back', async (t) => {
  const app = await sharedCliApp(t)
  const network = await startTcpProxy(t, app.url)
  network.refuse()
  const spool = spoolIn(temporaryFiles(t).directory)
  const env = { ...app.env, TALLYSTICK_URL: network.url }
  const { client, said } = await connect(t, ['--spool', spool, ...COMMAND], env)
  for (let i = 0; i < 3; i++) await client.callTool({ name: 'echo', arguments: { text: `${i}` } })
  await until(() => said.join('').includes('records wait'))
  await client.close()
  assert.equal(waiting(spool), 6)
  network.accept()
  const deeds = await waitForDeeds(app, 6)
  for (let i = 0; i < 6; i += 2) assert.equal(deeds[i + 1]!.parentId, deeds[i]!.recordId)
})

test('--fail-closed forwards a call when the ledger has it, and otherwise answers with an error', async (t) => {
  const app = await sharedCliApp(t)
  const network = await startTcpProxy(t, app.url)
  const env = { ...app.env, TALLYSTICK_URL: network.url }
  const open = (seconds: number) => {
    const spool = spoolIn(temporaryFiles(t).directory)
    const args = ['--fail-closed', '--timeout', `${seconds}`, '--spool', spool, ...COMMAND]
    return connect(t, args, env)
  }
  // Two timeouts make the test independent of the machine's speed. A call that can be recorded has the maximum timeout.
  // A call that cannot be recorded has a timeout of one second.
  const { client: patient } = await open(FAIL_CLOSED_SECONDS_MAX)
  const { client } = await open(1)
  await patient.callTool({ name: 'echo', arguments: { text: 'x' } })
  const [first] = await deedsOf(app)
  assert.equal(first!.payload.told, 'held')
  network.refuse()
  await assert.rejects(client.callTool({ name: 'exit', arguments: { text: 'x' } }), /cannot be recorded/)
  assert.equal(
    (await client.listTools()).tools.length,
    5,
    'what is no call passes, and the server still lives',
  )
  network.accept()
  const denied = await waitForDeed(app, ({ payload }) => payload.status === 'denied')
  const action = (await deedsOf(app)).find(({ recordId }) => recordId === denied.parentId)
  assert.equal(action!.payload.name, 'exit')
})

for (const mode of ['legacy', 'auto'] as const)
  test(`an HTTP server gets requests in the client's protocol version: ${mode}`, async (t) => {
    const app = await sharedCliApp(t)
    const url = await serveHttp(t)
    const spool = spoolIn(temporaryFiles(t).directory)
    const { client } = await connect(
      t,
      ['--upstream', url, '--header', 'x-secret: $SECRET', '--spool', spool],
      { ...app.env, SECRET: 'shh' },
      {
        versionNegotiation: { mode },
      },
    )
    await client.listTools() // Since MCP 2026-07-28, the first answer to any request names the server.
    const echo = await client.callTool({ name: 'echo', arguments: { text: 'over HTTP' } })
    assert.deepEqual(echo.content, [{ type: 'text', text: 'over HTTP' }])
    const cancel = new AbortController()
    const waited = client.callTool({ name: 'wait', arguments: { text: 'x' } }, { signal: cancel.signal })
    await waitForDeeds(app, 3)
    cancel.abort()
    await assert.rejects(waited)
    const [action, outcome] = await waitForDeeds(app, 2)
    assert.equal(outcome!.parentId, action!.recordId)
    assert.equal(outcome!.payload.status, 'ok')
    assert.equal(action!.payload.server, 'test-server')
  })

async function serveHttp(t: TestContext): Promise<string> {
  const handler = createMcpHandler(makeServer)
  const server = createServer(async (request, response) => {
    assert.equal(request.headers['x-secret'], 'shh')
    const pieces: Buffer[] = []
    for await (const piece of request) pieces.push(piece)
    const gone = new AbortController()
    response.on('close', () => gone.abort())
    const answer = await handler.fetch(
      new Request(`http://${request.headers.host}${request.url}`, {
        method: request.method!,
        headers: request.headers as Record<string, string>,
        signal: gone.signal,
        ...(pieces.length > 0 && { body: Buffer.concat(pieces) }),
      }),
    )
    response.writeHead(answer.status, Object.fromEntries(answer.headers))
    for await (const piece of answer.body ?? []) response.write(piece)
    response.end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as { port: number }
  return `http://127.0.0.1:${port}/mcp`
}
