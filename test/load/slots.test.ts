import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { connect } from 'node:net'
import { test } from 'node:test'
import { STREAMS_PER_LEDGER_MAX } from '../../src/http/limits.ts'
import { Slots } from '../../src/load/slots.ts'
import { buildTestApp, expectStatus, genericBody, type TestApp } from '../helpers/app.ts'
import { assertProblem } from '../helpers/assert-problem.ts'
import { until } from '../helpers/wait.ts'

const REFUSED = 2
const READERS = STREAMS_PER_LEDGER_MAX + REFUSED
/** Maximum wait in ms on a busy machine. Normally the wait takes a tenth of a second. */
const WAIT_MS_MAX = 60_000

test('greedy ledgers leave slots to other ledgers', () => {
  const slots = new Slots(32, 128)
  const takeAll = (ledger: string) => {
    let taken = 0
    try {
      for (;;) {
        slots.take(ledger)
        taken++
      }
    } catch {
      return taken
    }
  }
  assert.equal(takeAll('first'), 32)
  for (let i = 0; i < 8; i++) assert.ok(takeAll(`ledger ${i}`) > 0)
  assert.ok(slots.open < 128)
  const give = slots.take('another')
  give()
})

test('unread answers beyond a ledger’s limit get 503, until their readers disconnect', async (t) => {
  const app = await buildTestApp(t)
  const { port } = new URL(await app.app.listen({ port: 0, host: '127.0.0.1' }))
  await fill(app)
  const answers: ServerResponse[] = []
  app.app.server.on('request', (_, answer) => answers.push(answer))
  const read = `GET /v1/export HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${app.ledger.key.key}\r\n\r\n`
  const readers = Array.from({ length: READERS }, () => {
    const reader = connect(Number(port), '127.0.0.1').pause()
    reader.write(read)
    return reader
  })
  t.after(async () => {
    for (const reader of readers) reader.destroy()
  })
  // Waits until all readers have their slots. An earlier request would take the slot of a reader, and the reader does
  // not retry.
  await until(() => answers.filter(({ headersSent }) => headersSent).length === READERS, WAIT_MS_MAX)
  assert.equal(answers.filter(({ statusCode }) => statusCode === 503).length, REFUSED)
  const refused = await app.send('GET', '/v1/export')
  assertProblem(refused, 503, 'overloaded')
  assert.equal(refused.headers['retry-after'], '1')
  const other = await app.newLedger()
  expectStatus(200, await app.send('GET', '/v1/export', { key: other.key.key }))
  expectStatus(201, await app.send('POST', '/v1/records', { body: genericBody() }))
  for (const reader of readers) reader.destroy()
  await until(async () => (await app.send('GET', '/v1/entries?limit=1')).statusCode === 200, WAIT_MS_MAX)
})

/** Writes records that are larger than the socket buffers. */
async function fill(app: TestApp): Promise<void> {
  const records = Array.from({ length: 60 }, () => genericBody({ padding: 'x'.repeat(60_000) }))
  for (let i = 0; i < 4; i++)
    expectStatus(201, await app.send('POST', '/v1/records/batch', { body: { records } }))
}
