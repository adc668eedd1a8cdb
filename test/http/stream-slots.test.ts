import assert from 'node:assert/strict'
import { connect, type Socket } from 'node:net'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { STREAM_STALL_MS_MAX, STREAMS_PER_LEDGER_MAX } from '../../src/limits.ts'
import { buildTestApp, expectStatus, genericBody, type TestApp } from '../helpers/app.ts'
import { assertProblem } from '../helpers/assert-problem.ts'

/** Twice as many as are allowed: what asks meanwhile takes a place too, and who was refused does not come back. */
const READERS = 2 * STREAMS_PER_LEDGER_MAX

for (const [how, connections] of [
  ['on connections of their own', READERS],
  ['one behind another on one connection', 1],
] as const) {
  test(`answers that nobody reads, ${how}, are limited, and given back when the reader is gone`, async (t) => {
    const app = await buildTestApp(t)
    const { port } = new URL(await app.app.listen({ port: 0, host: '127.0.0.1' }))
    await fill(app)
    const sockets: Socket[] = []
    app.app.server.on('connection', (socket: Socket) => sockets.push(socket))
    const read = `GET /v1/export HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${app.ledger.key.key}\r\n\r\n`
    const readers = Array.from({ length: connections }, () => {
      const reader = connect(Number(port), '127.0.0.1').pause()
      reader.write(read.repeat(READERS / connections))
      return reader
    })
    t.after(async () => {
      for (const reader of readers) reader.destroy()
    })
    await eventually(app, 503)
    const refused = await app.send('GET', '/v1/export')
    assertProblem(refused, 503, 'overloaded')
    assert.equal(refused.headers['retry-after'], '1')
    const other = await app.newLedger()
    expectStatus(200, await app.send('GET', '/v1/export', { key: other.key.key }))
    expectStatus(201, await app.send('POST', '/v1/records', { body: genericBody() }))
    assert.ok(sockets.some((socket) => socket.timeout === STREAM_STALL_MS_MAX))
    for (const reader of readers) reader.destroy()
    await eventually(app, 200)
  })
}

/** More than socket buffers take. */
async function fill(app: TestApp): Promise<void> {
  const records = Array.from({ length: 60 }, () => genericBody({ padding: 'x'.repeat(60_000) }))
  for (let i = 0; i < 4; i++)
    expectStatus(201, await app.send('POST', '/v1/records/batch', { body: { records } }))
}

async function eventually(app: TestApp, status: number): Promise<void> {
  for (let i = 0; i < 50; i++) {
    await sleep(100)
    if ((await app.send('GET', '/v1/entries?limit=1')).statusCode === status) return
  }
  assert.fail(`no answer with ${status}`)
}
