import assert from 'node:assert/strict'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { openHttp } from '../../../cli/mcp-proxy/http-upstream.ts'
import type { NoAnswer } from '../../../cli/mcp-proxy/upstream.ts'
import { until } from '../../helpers/wait.ts'

// biome-ignore lint/suspicious/noExplicitAny: messages of JSON-RPC, as the tests write them
type Message = any
type Exchange = {
  readonly message: Message
  readonly request: IncomingMessage
  readonly response: ServerResponse
  answer(result: object, headers?: Record<string, string>): void
}

const INITIALIZE = { id: 'init', method: 'initialize', params: { protocolVersion: '2025-11-25' } }
const INITIALIZED = { method: 'notifications/initialized' }
const CALL = { id: 1, method: 'tools/call', params: { name: 'pay' } }
const RESULT = { protocolVersion: '2025-11-25', capabilities: {}, serverInfo: { name: 's', version: '1' } }

/** Starts an MCP server over streamable HTTP whose answers come from `handle`. Opens an upstream to this server. */
async function connect(t: TestContext, handle: (exchange: Exchange) => unknown) {
  const requests: { method: string; session: string | undefined; message: Message }[] = []
  const server = createServer(async (request, response) => {
    const message = request.method === 'POST' ? ((await json(request)) as Message) : {}
    const session = request.headers['mcp-session-id'] as string | undefined
    requests.push({ method: message.method ?? request.method, session, message })
    const answer = (result: object, headers = {}) => {
      const text = JSON.stringify({ jsonrpc: '2.0', id: message.id, result })
      response.writeHead(200, { 'content-type': 'application/json', ...headers }).end(text)
    }
    await handle({ message, request, response, answer })
    if (!response.writableEnded && !response.headersSent)
      response.writeHead(request.method === 'POST' ? 202 : 405).end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const got: Message[] = []
  const unanswered: ({ readonly id: unknown } & NoAnswer)[] = []
  const said: string[] = []
  const upstream = openHttp({
    url: new URL(`http://127.0.0.1:${port}/mcp`),
    headers: [],
    downstream: {
      receive: async (bytes) => void got.push(JSON.parse(bytes.toString())),
      noAnswer: async (id, reason) => void unanswered.push({ id, ...reason }),
      say: (message) => void said.push(message),
    },
  })
  t.after(() => upstream.stop())
  return {
    ...{ upstream, got, unanswered, said, requests, server },
    send: (message: object | string) =>
      upstream.send(
        Buffer.from(
          `${typeof message === 'string' ? message : JSON.stringify({ jsonrpc: '2.0', ...message })}\n`,
        ),
      ),
    settled: (count: number) => until(() => got.length + unanswered.length >= count),
  }
}

/** Returns a server with sessions. `forget` drops all sessions, as a restart would. */
function sessions(status: number, body = '') {
  let known = ''
  let made = 0
  return {
    forget: () => {
      known = ''
    },
    handle({ message, request, response, answer }: Exchange) {
      if (request.method !== 'POST') return
      if (message.method === 'initialize') {
        known = `s${++made}`
        return answer(RESULT, { 'mcp-session-id': known })
      }
      if (request.headers['mcp-session-id'] !== known) return response.writeHead(status).end(body)
      if (message.method === 'tools/call') answer({ session: known })
    },
  }
}

for (const [what, status, body] of [
  ['HTTP 404', 404, ''],
  [
    'HTTP 404 and an error without an id',
    404,
    '{"jsonrpc":"2.0","error":{"code":-32001,"message":"Session not found"},"id":null}',
  ],
  [
    'HTTP 400 that names the session',
    400,
    '{"jsonrpc":"2.0","error":{"code":-32000,"message":"No valid session ID provided"},"id":null}',
  ],
] as const)
  test(`a lost session is replaced once, and the request is sent again: ${what}`, async (t) => {
    const { forget, handle } = sessions(status, body)
    const { send, settled, got, requests, unanswered } = await connect(t, handle)
    await send(INITIALIZE)
    await send(INITIALIZED)
    await send(CALL)
    await settled(2)
    forget()
    for (const id of [2, 3, 4]) await send({ ...CALL, id })
    await settled(5)
    forget()
    await send({ ...CALL, id: 5 })
    await settled(6)
    assert.deepEqual(unanswered, [])
    const sessionsOf = got.slice(1).map(({ id, result }) => [id, result.session])
    assert.deepEqual(sessionsOf.sort(), [
      [1, 's1'],
      [2, 's2'],
      [3, 's2'],
      [4, 's2'],
      [5, 's3'],
    ])
    const began = requests.filter(({ method }) => method === 'initialize')
    assert.deepEqual(
      began.map(({ session, message }) => [session, message.id]),
      began.map(() => [undefined, 'init']),
    )
    assert.equal(began.length, 3)
    assert.deepEqual(
      requests.filter(({ method }) => method === INITIALIZED.method).map(({ session }) => session),
      ['s1', 's2', 's3'],
    )
  })

test('if no new session can be begun, the request is refused, and the client gets the reason', async (t) => {
  let isOther = false
  const { forget, handle } = sessions(404)
  const { send, settled, unanswered } = await connect(t, (exchange) => {
    if (isOther && exchange.message.method === 'initialize')
      return exchange.answer({ ...RESULT, protocolVersion: '2024-11-05' })
    return handle(exchange)
  })
  await send(INITIALIZE)
  await send(CALL)
  await settled(2)
  forget()
  isOther = true
  await send({ ...CALL, id: 2 })
  await settled(3)
  assert.match(unanswered[0]!.why, /has lost the session, and a new one could not be started: .*"2024-11-05"/)
  assert.equal(unanswered[0]!.isRefused, true)
})

test('a request waits only for earlier notifications and answers of the client', async (t) => {
  const open: string[] = []
  let release = () => {}
  const last = new Promise<void>((resolve) => (release = resolve))
  const { send, settled, got } = await connect(t, async ({ message, answer }) => {
    open.push(message.method)
    if (message.method === 'initialize') await sleep(30)
    if (message.method?.startsWith('notifications/')) await sleep(30)
    if (message.id === 1) await last
    open.push(`/${message.method}`)
    if (message.method === 'initialize') answer(RESULT)
    else if (message.id !== undefined) answer({})
    if (message.id === 3) release()
  })
  await send(INITIALIZE)
  await send(INITIALIZED)
  await send(CALL)
  await send({ ...CALL, id: 2 })
  await send({ method: 'notifications/progress' })
  await send({ ...CALL, id: 3, method: 'tools/list' })
  await settled(4)
  const order = open.filter((each) => each !== 'undefined' && each !== '/undefined')
  const of = (name: string) => order.indexOf(name)
  assert.deepEqual(order.slice(0, 4), [
    'initialize',
    '/initialize',
    INITIALIZED.method,
    `/${INITIALIZED.method}`,
  ])
  assert.ok(of('/notifications/progress') < of('tools/list'))
  // The server delays the answer to call 1 until it has answered call 3. The other calls do not wait for call 1.
  assert.deepEqual(
    got.map(({ id }) => id),
    ['init', 2, 3, 1],
  )
})

test('an answer is read to its end, also over several streams', async (t) => {
  const asked: (string | undefined)[] = []
  const { send, settled, got, unanswered } = await connect(t, ({ message, request, response, answer }) => {
    if (message.method === 'initialize') return answer(RESULT, { 'mcp-session-id': 's' })
    if (request.method === 'POST') {
      response.writeHead(200, { 'content-type': 'Text/Event-Stream; charset=utf-8' })
      return response.end('id: e1\nretry: 20\ndata: \n\n')
    }
    const last = request.headers['last-event-id'] as string
    asked.push(last)
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    // The first stream ends in the middle of an event. The second stream ends before any event.
    if (asked.length === 1)
      return response.end(
        'id: e2\ndata: {"jsonrpc":"2.0","method":"notifications/progress"}\n\nid: e3\ndata: {"js',
      )
    if (asked.length === 2) return response.end()
    return response.end('id: e4\ndata: {"jsonrpc":"2.0","id":1,"result":{"content":[]}}\n\n')
  })
  await send(INITIALIZE)
  await send(CALL)
  await settled(3)
  assert.deepEqual([asked, unanswered], [['e1', 'e2', 'e2'], []])
  assert.deepEqual(
    got.slice(1).map(({ id, method }) => id ?? method),
    ['notifications/progress', 1],
  )
})

const STREAM = { 'content-type': 'text/event-stream' }
const NO_ANSWERS: Readonly<Record<string, [(exchange: Exchange) => unknown, boolean, RegExp]>> = {
  'a stream that ends': [
    ({ response }) => response.writeHead(200, STREAM).end('data: \n\n'),
    false,
    /without a result/,
  ],
  'a stream that breaks': [
    ({ response }) => response.writeHead(200, STREAM).write('data: {', () => response.destroy()),
    false,
    /the connection broke before the answer/,
  ],
  'a stream that cannot be resumed': [
    ({ request, response }) =>
      request.method === 'GET'
        ? response.writeHead(404).end()
        : response.writeHead(200, STREAM).end('id: e1\nretry: 5\ndata: \n\n'),
    false,
    /the server answered HTTP 404 when it was resumed/,
  ],
  'a connection that breaks': [({ response }) => response.destroy(), false, /cannot be reached/],
  'an empty answer': [({ response }) => response.writeHead(202).end(), false, /without a result/],
  'a page': [
    ({ response }) => response.writeHead(200, { 'content-type': 'text/html' }).end('<h1>'),
    false,
    /without a result/,
  ],
  'HTTP 500': [({ response }) => response.writeHead(500).end('it broke'), false, /HTTP 500/],
  'HTTP 504': [({ response }) => response.writeHead(504).end(), false, /HTTP 504/],
  'HTTP 408': [({ response }) => response.writeHead(408).end(), false, /HTTP 408/],
  'HTTP 401': [
    ({ response }) =>
      response.writeHead(401, { 'content-type': 'application/json' }).end('{"error":"invalid_token"}'),
    true,
    /HTTP 401/,
  ],
  'HTTP 404 without a session': [
    ({ response }) => response.writeHead(404).end('no such page'),
    true,
    /HTTP 404/,
  ],
  'HTTP 307': [
    ({ response }) => response.writeHead(307, { location: 'https://other.example/mcp' }).end(),
    true,
    /^the server answered HTTP 307, a redirect to another address\. .* use it with --upstream/,
  ],
  'HTTP 303': [
    ({ response }) => response.writeHead(303, { location: 'https://other.example/paid' }).end(),
    false,
    /HTTP 303/,
  ],
}

for (const [what, [handle, isRefused, why]] of Object.entries(NO_ANSWERS))
  test(`without an answer the client gets an error, and the outcome is error only if the server refused: ${what}`, async (t) => {
    const { send, settled, got, unanswered } = await connect(t, handle)
    await send(CALL)
    await settled(1)
    assert.deepEqual([got, unanswered.map((each) => [each.id, each.isRefused])], [[], [[1, isRefused]]])
    assert.match(unanswered[0]!.why, why)
    assert.ok(!unanswered[0]!.why.includes('other.example'), 'what the server sent is content')
    if (what.startsWith('HTTP 30')) assert.match(unanswered[0]!.sent!, /^https:\/\/other\.example/)
  })

test('a JSON-RPC error without the id of the request gets that id; other texts in a stream are dropped', async (t) => {
  const { send, settled, got, said } = await connect(t, ({ message, response }) => {
    const error = { code: -32_600, message: 'no' }
    if (message.id === 1)
      return response.writeHead(400).end(JSON.stringify({ jsonrpc: '2.0', id: 'server-error', error }))
    if (message.id === 2)
      return response.writeHead(400).end(`\ufeff${JSON.stringify({ jsonrpc: '2.0', id: null, error })}`)
    return response
      .writeHead(200, STREAM)
      .end('data: started\n\ndata: {"level":30}\n\ndata: {"jsonrpc":"2.0","id":3,"result":{}}\n\n')
  })
  for (const id of [1, 2, 3]) await send({ ...CALL, id })
  await settled(3)
  const ids = got.map(({ id, error }) => [id, error?.code]).sort()
  assert.deepEqual(ids, [
    [1, -32_600],
    [2, -32_600],
    [3, undefined],
  ])
  assert.deepEqual(said.length, 2)
  assert.match(said[0]!, /not an MCP message: "started"/)
})

test('a byte order mark is not forwarded, and every request of a batch gets an answer', async (t) => {
  const { send, settled, got, unanswered } = await connect(t, ({ message, response }) =>
    response
      .writeHead(200, { 'content-type': 'application/json' })
      .end(JSON.stringify([{ jsonrpc: '2.0', id: message[0].id, result: {} }])),
  )
  await send('\ufeff[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":2,"method":"ping"}]')
  await settled(2)
  assert.deepEqual([got[0][0].id, unanswered.map(({ id }) => id)], [1, [2]])
})

test('the session ends with the client, also if the proxy is stopped', async (t) => {
  for (const how of ['end', 'stop'] as const) {
    const { handle } = sessions(404)
    const { send, settled, requests, upstream } = await connect(t, handle)
    await send(INITIALIZE)
    await settled(1)
    upstream[how]()
    await upstream.ended
    const last = requests.at(-1)!
    assert.deepEqual([last.method, last.session], ['DELETE', 's1'])
  }
})

test('a stream with a very long retry time is not reopened at once', async (t) => {
  let streams = 0
  const server = createServer((request, response) => {
    if (request.method !== 'GET') return void response.writeHead(202).end()
    streams++
    response.writeHead(200, { 'content-type': 'text/event-stream' }).end(`retry: ${2 ** 31}\n\n`)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => server.close())
  const { port } = server.address() as AddressInfo
  const url = new URL(`http://127.0.0.1:${port}/mcp`)
  const downstream = { receive: async () => {}, noAnswer: async () => {}, say: () => {} }
  const upstream = openHttp({ url, headers: [], downstream })
  t.after(() => upstream.stop())
  await upstream.send(Buffer.from('{"jsonrpc":"2.0","method":"notifications/initialized"}\n'))
  await until(() => streams > 0)
  await sleep(50)
  assert.equal(streams, 1)
})
