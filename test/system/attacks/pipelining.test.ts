import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { PIPELINED_REQUESTS_MAX } from '../../../src/http/limits.ts'
import { buildTestApp, expectStatus, genericBody, type TestApp } from '../../helpers/app.ts'
import { openSocket, requestText } from '../../helpers/raw-http.ts'
import { lockHeads, until } from '../../helpers/wait.ts'

/*
 * Part of finding H3: if a client pipelines requests, Node starts all of them immediately, and buffers their answers.
 */

test('a pipelined request begins after the answer before it, in order', async (t) => {
  const { app, socket } = await setUp(t)
  const body = JSON.stringify(genericBody())
  const headers = ['Content-Type: application/json', `Content-Length: ${body.length}`]
  const write = requestText('POST', '/v1/records', app.ledger.key.key, headers) + body
  const release = await lockHeads(t, app.database.superuserUrl)
  socket.write(write + requestText('GET', '/v1/ledger', app.ledger.key.key) + write)
  await until(() => app.deps.admission.underWay === 1)
  await sleep(100)
  assert.equal(app.deps.admission.underWay, 1, 'the others wait')
  await release()
  const answers = read(socket)
  await until(() => answers.statuses().length === 3)
  assert.deepEqual(answers.statuses(), [201, 200, 201])
  socket.write(requestText('GET', '/v1/ledger', app.ledger.key.key))
  await until(() => answers.statuses().length === 4)
})

test('a body that arrives after its pipelined request has begun is read whole', async (t) => {
  const { app, socket } = await setUp(t)
  const answers = read(socket)
  const body = JSON.stringify(genericBody({ text: 'x'.repeat(60_000) }))
  const headers = ['Content-Type: application/json', `Content-Length: ${body.length}`]
  const write = requestText('POST', '/v1/records', app.ledger.key.key, headers)
  socket.write(requestText('GET', '/v1/ledger', app.ledger.key.key) + write + body.slice(0, 10))
  await until(() => answers.statuses().length === 1)
  socket.write(body.slice(10))
  await until(() => answers.statuses().length === 2)
  assert.deepEqual(answers.statuses(), [200, 201])
})

test('of pipelined pages that nobody reads, at most two are made', async (t) => {
  const { app, socket, responses } = await setUp(t)
  const records = Array.from({ length: 60 }, () => genericBody({ text: 'x'.repeat(60_000) }))
  for (let i = 0; i < 2; i++)
    expectStatus(201, await app.send('POST', '/v1/records/batch', { body: { records } }))
  socket.write(requestText('GET', '/v1/records?limit=200', app.ledger.key.key).repeat(6))
  await until(() => responses.length === 6 && responses.some(({ headersSent }) => headersSent))
  await sleep(300)
  const made = responses.filter(({ headersSent }) => headersSent)
  // The kernel's buffers may take the whole first answer. Then the server makes a second answer.
  assert.ok(made.length <= 2, `${made.length} were made`)
  assert.ok(app.deps.budgets.reads.taken > 0)
  socket.destroy()
  await until(() => app.deps.budgets.reads.taken === 0)
})

test('requests behind an event stream are not read without limit', async (t) => {
  const { app, socket, sockets } = await setUp(t)
  socket.write(requestText('GET', '/v1/events', app.ledger.key.key, ['Accept: text/event-stream']))
  await until(() => sockets.length === 1)
  const asked = requestText('GET', '/v1/ledger', app.ledger.key.key)
  for (let i = 0; i < PIPELINED_REQUESTS_MAX - 10; i++) {
    socket.write(asked)
    if (i % 10 === 0) await sleep(5)
  }
  await sleep(200)
  assert.equal(sockets[0]!.destroyed, false)
  const many = asked.repeat(Math.ceil((1024 * 1024) / asked.length))
  for (let i = 0; i < 16; i++) socket.write(many)
  await sleep(200)
  assert.ok(sockets[0]!.bytesRead < 256 * 1024, `${sockets[0]!.bytesRead} bytes were read`)
})

test('a connection with too many pipelined requests is closed', async (t) => {
  const { app, socket, sockets } = await setUp(t)
  socket.write('GET /livez HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(10 * PIPELINED_REQUESTS_MAX))
  await once(socket.resume(), 'close')
  assert.equal(sockets[0]!.destroyed, true)
  expectStatus(200, await app.send('GET', '/livez'))
})

async function setUp(t: TestContext) {
  const app = await buildTestApp(t)
  const sockets: Socket[] = []
  const responses: ServerResponse[] = []
  app.app.server.on('connection', (socket: Socket) => sockets.push(socket))
  app.app.server.on('request', (_, response) => responses.push(response))
  const { port } = new URL(await app.app.listen({ port: 0, host: '127.0.0.1' }))
  return { app, socket: openSocket(t, Number(port)), sockets, responses } satisfies { app: TestApp } & Record<
    string,
    unknown
  >
}

function read(socket: Socket): { statuses(): number[] } {
  let text = ''
  socket.on('data', (piece: Buffer) => {
    text += piece.toString('latin1')
  })
  socket.resume()
  return { statuses: () => [...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => Number(status)) }
}
