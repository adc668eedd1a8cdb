import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openReadPool } from '../../../src/db/connect/pools.ts'
import { watchJobs } from '../../../src/db/jobs/metrics.ts'
import { Metrics } from '../../../src/observe/metrics/metrics.ts'
import { buildTestApp, expectStatus } from '../../helpers/app.ts'
import { testDatabase } from '../../helpers/connect.ts'
import { buildGatedApp } from '../../helpers/gated-app.ts'
import { until } from '../../helpers/wait.ts'
import { startReceiver } from '../../helpers/webhook-receiver.ts'
import { sampleOf } from '../../observe/metrics/exposition.ts'
import { startWorkerOn } from '../deployment/test-deployment.ts'

/** Maximum wait in ms. The worker polls once a second and starts a thread. On a busy machine both delays add up. */
const PATIENCE_MS = 30_000
const ENVIRONMENT = { TALLYSTICK_OUTBOUND_ALLOW: '127.0.0.0/8' }

test('the metrics of a worker count its work, and what is left', async (t) => {
  const app = await buildGatedApp(t, { environment: ENVIRONMENT })
  const figure = async (name: string, labels: Record<string, string> = {}) =>
    sampleOf(await worker.metrics!.registry.metrics(), `tallystick_${name}`, labels)
  const reaches = (count: number, name: string, labels: Record<string, string> = {}) =>
    until(async () => (await figure(name, labels)) === count, PATIENCE_MS)
  const failing = await startReceiver((_, response) => response.writeHead(500).end())
  t.after(async () => void (await failing.close()))
  const subscribe = async (url: string, events: string[]) =>
    expectStatus(201, await app.send('POST', '/v1/webhooks', { body: { url, events } })).json()
  await subscribe(failing.url, ['record.recorded'])
  // No server listens at this address.
  await subscribe('http://127.0.0.1:9/hook', ['record.recorded'])
  await app.notarize()
  const audit = await app.send('POST', '/v1/audits', { body: {} })
  expectStatus(202, audit)
  // No version of the worker understands this job, so it is tried once and given up.
  await app.sql(
    "insert into tallystick_jobs.job (name, data, retry_limit, dead_letter) values ('audit-schedule', '{\"not\":1}', 0, 'dead-letters')",
  )
  const worker = await startWorkerOn(t, app.database)

  await t.test('webhooks: failed attempts by reason, pending deliveries, failing endpoints', async () => {
    await reaches(1, 'webhook_attempt_failures_total', { reason: '5xx' })
    await reaches(1, 'webhook_attempt_failures_total', { reason: 'connect_failed' })
    await reaches(2, 'webhook_attempts_total', { outcome: 'failed' })
    await reaches(2, 'webhook_deliveries', { state: 'pending' })
    await reaches(2, 'webhook_endpoints_failing')
    await reaches(2, 'webhook_endpoints', { state: 'active' })
    await until(async () => (await figure('webhook_endpoints_failing_seconds')) > 0, PATIENCE_MS)
    await reaches(0, 'webhook_endpoints_waiting')
    await reaches(0, 'webhook_waiting_seconds')
    await reaches(0, 'webhook_cursor_lag_entries')
    await reaches(0, 'webhook_cursor_lag_seconds')
    assert.equal(await figure('webhook_attempt_duration_seconds_count'), 2)
  })

  await t.test('audits, and verified entries', async () => {
    await reaches(1, 'audits_total', { result: 'good' })
    assert.equal(await figure('audit_duration_seconds_count'), 1)
    await reaches(1, 'job_attempts_total', { queue: 'audit', result: 'completed' })
    const { size } = (await app.sql<{ size: string }>('select size from tallystick.chain_heads'))[0]!
    await reaches(Number(size), 'entries_verified_total')
  })

  await t.test('checkpoints: published, lag, last success', async () => {
    await until(async () => (await figure('checkpoints_published_total')) >= 1, PATIENCE_MS)
    await reaches(0, 'checkpoint_lag_seconds')
    assert.ok(
      (await figure('follower_last_success_timestamp_seconds', { follower: 'checkpoints' })) >
        Date.now() / 1_000 - 60,
    )
  })

  await t.test('dead letters, by the queue of their job', async () => {
    await reaches(1, 'dead_letters', { queue: 'audit-schedule' })
    assert.equal(await figure('dead_letters', { queue: 'audit' }), 0)
    assert.equal(await figure('job_attempts_total', { queue: 'audit-schedule', result: 'dead' }), 1)
  })
})

test('waiting jobs are counted by state, with the age of the oldest job that may start', async (t) => {
  const app = await buildTestApp(t)
  const pool = openReadPool(testDatabase(app.database.workerUrl), { warn() {} })
  t.after(() => pool.end())
  const metrics = new Metrics()
  watchJobs(metrics, pool)
  const states = [
    ['created', '-90 seconds'],
    ['created', '1 hour'],
    ['retry', '-30 seconds'],
    ['active', '-200 seconds'],
    ['completed', '-300 seconds'],
  ]
  for (const [state, from] of states)
    await app.sql(
      `insert into tallystick_jobs.job (name, data, state, start_after) values ('audit', '{}', '${state}', now() + interval '${from}')`,
    )
  const text = await metrics.registry.metrics()
  const jobs = (state: string) => sampleOf(text, 'tallystick_jobs', { queue: 'audit', state })
  assert.deepEqual(['waiting', 'retrying', 'working'].map(jobs), [2, 1, 1])
  const seconds = (queue: string) => sampleOf(text, 'tallystick_jobs_oldest_waiting_seconds', { queue })
  assert.ok(seconds('audit') >= 90 && seconds('audit') < 150, String(seconds('audit')))
  assert.equal(seconds('verify-completion'), 0)
})
