import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Metrics } from '../../src/observe/metrics/metrics.ts'
import { startWorker } from '../../src/run/worker.ts'
import { appendAsApi, asTestLedger } from '../followers/audit/attacker.ts'
import { expectStatus, type Test, type TestApp, testConfig } from '../helpers/app.ts'
import { lendApp } from '../helpers/lent-app.ts'
import { temporaryDir } from '../helpers/postgres.ts'
import { makeEntry } from '../helpers/test-ledger.ts'
import { until } from '../helpers/wait.ts'

test('a running worker does an audit requested over HTTP, and its metrics show the result', async (t) => {
  const { app, metrics } = await setUp(t)
  await app.notarize()
  const asked = expectStatus(202, await app.send('POST', '/v1/audits', { body: {} })).json()
  let audit = asked
  await until(async () => {
    audit = expectStatus(200, await app.send('GET', `/v1/audits/${asked.id}`)).json()
    return audit.state === 'done'
  }, PATIENCE_MS)
  assert.equal(audit.ok, true)
  assert.equal(audit.requestedBy, app.ledger.agent.id)
  assert.equal(audit.progress.entriesDone, 4)
  await until(
    async () => /tallystick_entry_verification_lag_entries 0\n/.test(await read(metrics)),
    PATIENCE_MS,
  )
  const text = await read(metrics)
  assert.match(text, /tallystick_ledger_faults 0\n/)
  assert.match(text, /tallystick_audit_last_timestamp_seconds{result="good"} \d+/)
  assert.match(text, /tallystick_dead_letters{queue="audit"} 0\n/)
  assert.match(text, /tallystick_jobs{queue="audit",state="waiting"} 0\n/)
})

test('a running worker finds an unsigned entry within seconds', async (t) => {
  const { app, metrics } = await setUp(t)
  await appendAsApi(app, [makeEntry(await asTestLedger(app))])
  await until(async () => /tallystick_ledger_faults 1\n/.test(await read(metrics)), PATIENCE_MS)
})

/** Maximum wait in ms. The worker polls once a second and starts a thread. On a busy machine both delays add up. */
const PATIENCE_MS = 30_000

async function setUp(t: Test): Promise<{ app: TestApp; metrics: Metrics }> {
  const app = await lendApp(t)
  const metrics = new Metrics()
  const config = testConfig(app.database.apiUrl)
  const worker = await startWorker(
    { ...config, workerUrl: app.database.workerUrl, dataDir: temporaryDir() },
    metrics,
  )
  t.after(() => worker.close())
  return { app, metrics }
}

function read({ registry }: Metrics): Promise<string> {
  return registry.metrics()
}
