import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { test } from 'node:test'
import { buildTestApp, genericBody, OPERATOR_KEY, parseLines, type TestApp } from '../helpers/app.ts'
import { lockHeads, until } from '../helpers/wait.ts'

const ON = { environment: { TALLYSTICK_LOG_REQUESTS: 'true' } }

test('each request is logged with caller, route, status and code', async (t) => {
  const app = await buildTestApp(t, ON)
  const { agent: _, ledger, key } = app.ledger
  const who = { ledger: ledger.id, key: key.id }
  const nobody = { ledger: null, key: null }
  // Uses a socket, because injected requests end in another order.
  const url = await app.app.listen({ host: '127.0.0.1', port: 0 })
  const before = linesOf(app).length
  const send = async (method: string, path: string, bearer: string, text: string | null = null) => {
    const headers = {
      authorization: `Bearer ${bearer}`,
      'x-other': 'hunter2',
      'content-type': 'application/json',
    }
    const response = await fetch(url + path, { method, headers, body: text })
    return { bytes: (await response.arrayBuffer()).byteLength }
  }
  await send('POST', '/v1/records', key.key, JSON.stringify(genericBody({ hunter2: 'hunter2' })))
  const listed = await send('GET', '/v1/records?limit=1', key.key)
  await send('GET', '/v1/export', key.key)
  await send('GET', '/hunter2/nowhere?key=hunter2', '')
  await send('GET', '/v1/records/hunter2', 'tly_hunter2')
  await send('POST', '/v1/ledgers', OPERATOR_KEY, '{"name":"hunter2"}')
  await send('POST', '/v1/records', key.key, '{"hunter2":')
  await until(() => linesOf(app).length === before + 7)
  const lines = linesOf(app).slice(before)
  assert.deepEqual(
    lines.map(({ method, route, status, code, ledger, key }) => ({
      method,
      route,
      status,
      code,
      ledger,
      key,
    })),
    [
      { method: 'POST', route: '/v1/records', status: 201, code: null, ...who },
      { method: 'GET', route: '/v1/records', status: 200, code: null, ...who },
      { method: 'GET', route: '/v1/export', status: 200, code: null, ...who },
      { method: 'GET', route: null, status: 404, code: 'not_found', ...nobody },
      { method: 'GET', route: '/v1/records/:id', status: 401, code: 'unauthenticated', ...nobody },
      { method: 'POST', route: '/v1/ledgers', status: 201, code: null, ...nobody },
      { method: 'POST', route: '/v1/records', status: 400, code: 'bad_json', ...who },
    ],
  )
  assert.equal(lines[1].bytes, listed.bytes)
  assert.equal(lines[2].bytes, null)
  assert.equal(lines[3].requestId.length, 'req_'.length + 32)
  for (const line of lines) {
    assert.deepEqual(Object.keys(line).sort(), MEMBERS)
    assert.ok(line.ms >= 0 && line.ms < 60_000)
    assert.equal(line.msg, 'answered')
  }
  assert.doesNotMatch(app.logs(), /hunter2/)
})

const MEMBERS = [
  'bytes',
  'code',
  'key',
  'ledger',
  'level',
  'method',
  'ms',
  'msg',
  'requestId',
  'route',
  'status',
  'time',
]

test('a request whose client disconnects before the answer is logged too', async (t) => {
  const app = await buildTestApp(t, ON)
  const url = await app.app.listen({ host: '127.0.0.1', port: 0 })
  const release = await lockHeads(t, app.database.superuserUrl)
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  await once(socket, 'connect')
  const body = JSON.stringify(genericBody())
  socket.write(
    `POST /v1/records HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${app.ledger.key.key}\r\n` +
      `content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
  )
  await until(() => app.deps.appender.underWay.batches === 1)
  // The client resets the connection. A client that only half-closes may still wait for its answer.
  socket.resetAndDestroy()
  const gone = () =>
    linesOf(app).filter(({ msg, route }) => msg === 'the client went away' && route === '/v1/records')
  await until(() => gone().length === 1)
  await release()
  await until(() => app.deps.appender.underWay.batches === 0)
  assert.equal(gone().length, 1)
})

test('requests are logged only if the option is set', async (t) => {
  const app = await buildTestApp(t)
  await app.notarize()
  await app.send('GET', '/v1/records/hunter2')
  assert.deepEqual(linesOf(app), [])
})

function linesOf(app: TestApp) {
  return parseLines(app.logs()).filter(({ method }) => method !== undefined)
}
