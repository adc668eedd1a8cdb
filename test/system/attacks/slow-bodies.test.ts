import assert from 'node:assert/strict'
import type { Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { BODIES_BYTES_MAX, BODY_BYTES_MAX } from '../../../src/load/limits.ts'
import { BATCH_BODY_BYTES_MAX } from '../../../src/records/limits.ts'
import { buildTestApp, expectStatus, genericBody, type TestApp } from '../../helpers/app.ts'
import { openSocket, requestText } from '../../helpers/raw-http.ts'
import { ServerProcess } from '../../helpers/server-process.ts'
import { until } from '../../helpers/wait.ts'

/*
 * Finding M5: 60 bodies of 4 MiB without their last byte occupied 252 MiB for 72 s. 240 such bodies fill a process of
 * 1 GiB.
 */
const BODIES = 60
const WHOLE = Buffer.alloc(BATCH_BODY_BYTES_MAX, 32)
/** Number of bodies that are accepted from one ledger, which may use half of the budget. */
const TAKEN = BODIES_BYTES_MAX / 2 / BATCH_BODY_BYTES_MAX
/**
 * Maximum growth of memory in MiB: the budget of one ledger, the same amount for chunks that are being read, and the
 * heap. Before the fix, the growth was 252 MiB.
 */
const GROWTH_MIB_MAX = 200

test('unfinished bodies cost bounded memory, and another ledger can still write', async (t) => {
  const app = await buildTestApp(t)
  const other = (await app.newLedger()).key.key
  await ServerProcess.use(app, async (server) => {
    const before = server.memoryMiB
    const senders = Array.from({ length: BODIES }, () => new Sender(server.open(t), app.ledger.key.key))
    await until(() => senders.filter(({ status }) => status === 503).length === BODIES - TAKEN, 30_000)
    await until(() => senders.every(({ status, pending }) => status === 503 || pending === 0), 30_000)
    const growth = server.memoryMiB - before
    t.diagnostic(
      `${before.toFixed(0)} MiB at rest, ${growth.toFixed(0)} more in the attack, ${BODIES - TAKEN} refused`,
    )
    assert.ok(growth < GROWTH_MIB_MAX, `${growth} MiB`)
    const records = Array.from({ length: 60 }, () => genericBody({ text: 'x'.repeat(50_000) }))
    const written = await fetch(`${server.url}/v1/records/batch`, {
      method: 'POST',
      headers: { authorization: `Bearer ${other}`, 'content-type': 'application/json' },
      body: JSON.stringify({ records }),
    })
    assert.equal(written.status, 201, 'another ledger has its share')
    const stranger = new Sender(server.open(t), `${other.slice(0, -4)}AAAA`, { bytes: 0 })
    await until(() => stranger.status === 401, 30_000)
  })
})

test('bytes reserved for a body are released after its answer, refusal or disconnect', async (t) => {
  const { app, port } = await listen(t)
  const { bodies } = app.deps.budgets
  const sender = new Sender(openSocket(t, port), app.ledger.key.key, { bytes: 1_000 })
  await until(() => bodies.taken === WHOLE.length)
  sender.socket.destroy()
  await until(() => bodies.taken === 0)
  expectStatus(422, await app.send('POST', '/v1/records', { body: {} }))
  await app.notarize()
  await until(() => bodies.taken === 0)
  const { reads, writes } = app.deps.budgets
  await until(() => reads.taken === 0 && writes.taken === 0)
})

test('a body in tiny chunks reserves the overhead of each chunk', async (t) => {
  const { app, port } = await listen(t)
  const { bodies } = app.deps.budgets
  const { bodyLimit } = app.routes.find(({ url, method }) => url === '/v1/records' && method === 'POST')!
  const socket = openSocket(t, port)
  const head = requestText('POST', '/v1/records', app.ledger.key.key, [
    'Content-Type: application/json',
    'Transfer-Encoding: chunked',
  ])
  socket.write(head)
  await until(() => bodies.taken === (bodyLimit ?? BODY_BYTES_MAX))
  const announced = bodies.taken
  socket.write('1\r\n \r\n'.repeat(announced / 512))
  await until(() => bodies.taken > announced)
  socket.destroy()
  await until(() => bodies.taken === 0)
})

test('a request that is not complete in time gets 408 within 6 s', async (t) => {
  const { app, port } = await listen(t)
  app.app.server.headersTimeout = 200
  app.app.server.requestTimeout = 300
  const sender = new Sender(openSocket(t, port), app.ledger.key.key, { bytes: 1_000 })
  const startedAt = performance.now()
  await until(() => sender.status === 408, 30_000)
  const tookMs = performance.now() - startedAt
  assert.ok(tookMs < 6_000, `${tookMs} ms`)
})

async function listen(t: TestContext): Promise<{ app: TestApp; port: number }> {
  const app = await buildTestApp(t)
  const { port } = new URL(await app.app.listen({ port: 0, host: '127.0.0.1' }))
  return { app, port: Number(port) }
}

class Sender {
  readonly socket: Socket
  status = 0

  constructor(socket: Socket, key: string, { bytes = WHOLE.length - 1 } = {}) {
    this.socket = socket
    const headers = ['Content-Type: application/json', `Content-Length: ${WHOLE.length}`]
    socket.write(requestText('POST', '/v1/records/batch', key, headers))
    socket.write(WHOLE.subarray(0, bytes))
    socket.resume().once('data', (answer: Buffer) => {
      this.status = Number(/^HTTP\/1.1 (\d+)/.exec(answer.toString('latin1'))?.[1])
    })
  }

  get pending(): number {
    return this.socket.writableLength
  }
}
