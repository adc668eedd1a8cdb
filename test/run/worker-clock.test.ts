import assert from 'node:assert/strict'
import { test } from 'node:test'
import pg from 'pg'
import { DatabaseClock } from '../../src/db/connect/clock.ts'
import { CLOCK_MEASURE_EVERY_MS } from '../../src/db/limits.ts'
import { Metrics } from '../../src/observe/metrics/metrics.ts'
import { startWorker } from '../../src/run/worker.ts'
import { buildTestApp, expectStatus, genericBody, testConfig } from '../helpers/app.ts'
import { createTestDatabase } from '../helpers/database.ts'
import { temporaryDir } from '../helpers/postgres.ts'
import { until } from '../helpers/wait.ts'
import { startReceiver } from '../helpers/webhook-receiver.ts'
import { sampleOf } from '../observe/metrics/exposition.ts'

const SHIFT_MS = 600_000
const ENVIRONMENT = { TALLYSTICK_OUTBOUND_ALLOW: '127.0.0.0/8' }

test('a worker ten minutes ahead uses the database’s time, and reports its offset', async (t) => {
  const app = await buildTestApp(t, { environment: ENVIRONMENT })
  const realNow = Date.now
  const heard = Promise.withResolvers<number>()
  const receiver = await startReceiver(({ headers }, response) => {
    heard.resolve(Number(headers['webhook-timestamp']) * 1_000 - realNow())
    response.writeHead(204).end()
  })
  t.after(async () => void (await receiver.close()))
  const body = { url: receiver.url, events: ['record.recorded'] }
  expectStatus(201, await app.send('POST', '/v1/webhooks', { body }))
  expectStatus(201, await app.send('POST', '/v1/records', { body: genericBody() }))
  t.mock.method(Date, 'now', () => realNow() + SHIFT_MS)
  const metrics = new Metrics()
  const config = {
    ...testConfig(app.database.apiUrl, ENVIRONMENT),
    workerUrl: app.database.workerUrl,
    dataDir: temporaryDir(),
  }
  const worker = await startWorker(config, metrics)
  t.after(() => worker.close())
  assert.ok(Math.abs(await heard.promise) < 5_000, `${await heard.promise} ms off`)
  const skew = sampleOf(await metrics.registry.metrics(), 'tallystick_clock_skew_seconds')
  assert.ok(Math.abs(skew - SHIFT_MS / 1_000) < 5, String(skew))
})

test('the log reports the start and end of a clock offset, and the corrected time stays right', async (t) => {
  const { superuserUrl } = await createTestDatabase(t)
  const pool = new pg.Pool({ connectionString: superuserUrl, max: 1 })
  t.after(() => pool.end())
  t.mock.timers.enable({ apis: ['setInterval'] })
  const told: string[] = []
  const tell = (kind: string) => (about: object) => void told.push(`${kind} ${JSON.stringify(about)}`)
  let shiftMs = 0
  const clock = await DatabaseClock.start(
    pool,
    { warn: tell('warn'), info: tell('info') },
    () => Date.now() + shiftMs,
  )
  t.after(() => clock.close())
  const measure = async (count: number) => {
    t.mock.timers.tick(CLOCK_MEASURE_EVERY_MS)
    await until(() => told.length === count)
  }
  assert.deepEqual(told, [])
  shiftMs = -90_000
  await measure(1)
  assert.match(told[0]!, /^warn \{"skewSeconds":-(90|89\.9|90\.1)\}$/)
  assert.ok(Math.abs(clock.now() - Date.now()) < 1_000)
  shiftMs = 0
  await measure(2)
  assert.match(told[1]!, /^info /)
})
