import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { redriveDeadLetters } from '../../src/db/jobs/job-queues.ts'
import { Metrics } from '../../src/observe/metrics/metrics.ts'
import { startWorker } from '../../src/run/worker.ts'
import { jobsOf, kindsOf, tamper } from '../followers/verification/set-up.ts'
import { expectStatus, type Test, testConfig } from '../helpers/app.ts'
import { connect } from '../helpers/connect.ts'
import { FAILING, type GatedApp, lendGatedApp, PASSING } from '../helpers/gated-app.ts'
import { temporaryDir } from '../helpers/postgres.ts'
import { raiseVerifiedSizes } from '../helpers/verified-sizes.ts'
import { assertVerifies } from '../helpers/verify-app.ts'
import { until } from '../helpers/wait.ts'

test('running workers verify each completion once, and expire records without one', async (t) => {
  const app = await lendGatedApp(t)
  const metrics = await runWorker(t, app)
  await runWorker(t, app)
  const passing = await submit(app, PASSING, { gate: 'auto' })
  const failing = await submit(app, FAILING)
  const overdue = await app.create({ deadline: new Date(Date.now() + 1_000).toISOString() })
  await reaches(app, passing, 'ACCEPTED')
  await reaches(app, failing, 'DISCREPANT')
  await reaches(app, overdue.id, 'EXPIRED')
  for (const id of [passing, failing])
    assert.equal((await kindsOf(app, id)).filter((kind) => kind === 'completion-verified').length, 1)
  await assertVerifies(app)
  const text = await metrics.registry.metrics()
  for (const line of [
    /tallystick_completions_verified_total{outcome="refused"} 0\n/,
    /tallystick_completions_waiting 0\n/,
    /tallystick_completions_oldest_waiting_seconds 0\n/,
    /tallystick_completion_verification_seconds_count \d\n/,
    /tallystick_records_expired_total [01]\n/,
    /tallystick_records_overdue 0\n/,
    /tallystick_expiries_refused 0\n/,
  ])
    assert.match(text, line)
})

test('a changed completion becomes a dead letter, and is verified after repair and redrive', async (t) => {
  const app = await lendGatedApp(t)
  const id = await submit(app, PASSING)
  const other = await submit(app, PASSING)
  const { seq } = (await app.get(id)).entry
  const change = (from: string, to: string) =>
    tamper(
      app,
      `update tallystick.documents set content = replace(convert_from(content, 'UTF8'), '${from}', '${to}')::bytea where seq = ${seq}`,
    )
  // Raises the verified sizes before the row is changed. Otherwise the follower of entries would find the change, and
  // the fault would stop every completion of the ledger.
  await raiseVerifiedSizes(app)
  await change('100', '101')
  await runWorker(t, app)
  const isDead = async () => (await jobsOf(app)).some(({ name }) => name === 'dead-letters')
  await until(isDead)
  await reaches(app, other, 'VERIFIED')
  assert.equal((await app.get(id)).state, 'SUBMITTED')
  await change('101', '100')
  assert.equal(await redriveDeadLetters(await connect(t, app.database.ownerUrl), null), 1)
  await reaches(app, id, 'VERIFIED')
  assert.equal(await isDead(), false)
})

test('a completion submitted in time is verified, also by a worker that starts after the deadline', async (t) => {
  const app = await lendGatedApp(t)
  const deadline = new Date(Date.now() + 1_500).toISOString()
  const inTime = await submit(app, PASSING, { deadline })
  const late = await app.reach('ACTIVE', { deadline })
  await sleep(Date.parse(deadline) - Date.now() + 20)
  await runWorker(t, app)
  await reaches(app, late.id, 'EXPIRED')
  await reaches(app, inTime, 'VERIFIED')
})

/** Maximum wait in ms on a busy machine. The worker polls once a second. */
const PATIENCE_MS = 20_000

function reaches(app: GatedApp, id: string, state: string): Promise<void> {
  return until(async () => (await app.get(id)).state === state, PATIENCE_MS)
}

async function submit(app: GatedApp, evidence: object, body: object = {}): Promise<string> {
  const { id } = await app.reach('ACTIVE', body)
  expectStatus(200, await app.step(id, 'completions', { body: { evidence } }))
  return id
}

async function runWorker(t: Test, app: GatedApp): Promise<Metrics> {
  const metrics = new Metrics()
  const config = testConfig(app.database.apiUrl)
  const worker = await startWorker(
    { ...config, workerUrl: app.database.workerUrl, dataDir: temporaryDir() },
    metrics,
  )
  t.after(() => worker.close())
  return metrics
}
