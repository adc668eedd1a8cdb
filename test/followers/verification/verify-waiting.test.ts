import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import { claimWaitingCompletions, listWaitingLedgers } from '../../../src/db/records/verification-work.ts'
import { insertJobs } from '../../../src/followers/verification/enqueue-completions.ts'
import { verifyCompletions } from '../../../src/followers/verification/verify-completions.ts'
import { makeVerificationRound, verifyWaiting } from '../../../src/followers/verification/verify-waiting.ts'
import type { Uuid } from '../../../src/proof/ids.ts'
import { expectStatus, OPERATOR_KEY, type Test } from '../../helpers/app.ts'
import { connect } from '../../helpers/connect.ts'
import { type GatedApp, lendGatedApp } from '../../helpers/gated-app.ts'
import { raiseVerifiedSizes } from '../../helpers/verified-sizes.ts'
import { lockHeads, until } from '../../helpers/wait.ts'
import { jobsOf, kindsOf, openBoss, openDeps, tamper, uuidOf } from './set-up.ts'

const CLAIM = { limit: 2, claimMsMax: 10_000 }

test('one round verifies all waiting completions and makes no job', async (t) => {
  const { app, deps } = await setUp(t)
  const ids = await submitted(app, 3)
  assert.equal(await verifyWaiting(deps), false)
  assert.deepEqual(await statesOf(app, ids), ['VERIFIED', 'VERIFIED', 'VERIFIED'])
  assert.deepEqual(await jobsOf(app), [])
  assert.deepEqual(deps.observed, ['pass', 'pass', 'pass'])
  assert.equal(await verifyWaiting(deps), false, 'nothing is left to do')
})

test('several workers at once verify each completion once', async (t) => {
  const { app, deps } = await setUp(t)
  const ids = await submitted(app, 4)
  await Promise.all([verifyWaiting(deps), verifyWaiting(deps), verifyWaiting(deps)])
  for (const id of ids)
    assert.deepEqual(
      (await kindsOf(app, id)).filter((kind) => kind === 'completion-verified'),
      ['completion-verified'],
    )
  assert.deepEqual(await jobsOf(app), [])
})

test('completions claimed by another worker are skipped until it disconnects or its claim expires', async (t) => {
  const { app, deps } = await setUp(t)
  const ids = await submitted(app, 3)
  const other = await connect(t, app.database.workerUrl)
  other.on('error', () => {})
  await other.query('begin')
  assert.equal(
    (await claimWaitingCompletions(other, await listWaitingLedgers(deps.pool, deps.cursorMac), CLAIM)).length,
    2,
  )
  await verifyWaiting(deps)
  assert.deepEqual(await statesOf(app, ids), ['SUBMITTED', 'SUBMITTED', 'VERIFIED'])
  await other.query('rollback')
  await verifyWaiting(deps)
  assert.deepEqual(await statesOf(app, ids), ['VERIFIED', 'VERIFIED', 'VERIFIED'])

  const [last] = await submitted(app, 1)
  await other.query('begin')
  assert.equal(
    (
      await claimWaitingCompletions(other, await listWaitingLedgers(deps.pool, deps.cursorMac), {
        ...CLAIM,
        claimMsMax: 500,
      })
    ).length,
    1,
  )
  await sleep(1_500)
  await verifyWaiting(deps)
  assert.deepEqual(await statesOf(app, [last!]), ['VERIFIED'])
})

test('a refused completion gets a job, and the others are verified', async (t) => {
  const { app, deps, boss } = await setUp(t)
  const [bad, good] = await submitted(app, 2)
  await tamper(
    app,
    `update tallystick.records set payload = '{"quantity":1}' where record_id = '${uuidOf(bad!)}'`,
  )
  await verifyWaiting(deps)
  assert.deepEqual(await statesOf(app, [bad!, good!]), ['SUBMITTED', 'VERIFIED'])
  assert.deepEqual(
    (await jobsOf(app)).map(({ data }) => data.record),
    [bad],
  )
  assert.equal(deps.woken, 1)
  assert.deepEqual(deps.observed, ['pass'], 'its job is what says so')
  await verifyWaiting(deps)
  assert.equal((await jobsOf(app)).length, 1)
  assert.equal((await boss.fetch('verify-completion')).length, 1)
})

test('completions get jobs if their round fails after its claims expired', async (t) => {
  const { app, deps } = await setUp(t)
  const ids = await submitted(app, 2)
  await lockHeads(t, app.database.superuserUrl)
  const round = verifyWaiting(deps).catch((error: Error) => error)
  const workers = `from pg_stat_activity where datname = current_database() and usename = 'tallystick_worker'`
  await until(async () => (await app.sql(`select pid ${workers} and wait_event_type = 'Lock'`)).length === 1)
  // Simulates what Postgres does by itself after COMPLETION_CLAIM_MS_MAX: it ends the idle session, and later cancels
  // the waiting statement.
  await app.sql(`select pg_terminate_backend(pid) ${workers} and state = 'idle in transaction'`)
  await app.sql(`select pg_cancel_backend(pid) ${workers} and wait_event_type = 'Lock'`)
  assert.ok((await round) instanceof Error, 'it says that it was not whole')
  const jobs = (await jobsOf(app)).map(({ data }) => data.record)
  assert.deepEqual(jobs.sort(), ids.sort())
})

test('a verified completion leaves the waiting list even if another worker gave it a job', async (t) => {
  const { app, deps } = await setUp(t)
  const ids = await submitted(app, 1)
  const other = await connect(t, app.database.superuserUrl)
  await other.query('begin')
  await other.query('update tallystick.waiting_completions set verification_job = gen_random_uuid()')
  const round = verifyWaiting(deps)
  const waiting = `select pid from pg_stat_activity where datname = current_database() and wait_event = 'transactionid'`
  await until(async () => (await app.sql(waiting)).length === 1)
  await other.query('commit')
  await round
  assert.deepEqual(await statesOf(app, ids), ['VERIFIED'])
  assert.deepEqual(await app.sql('select from tallystick.waiting_completions'), [])
})

test('a waiting completion of a frozen ledger is put aside without a job', async (t) => {
  const { app, deps } = await setUp(t)
  const [id] = await submitted(app, 1)
  const ledger = app.ledger.ledger.id
  expectStatus(200, await app.send('POST', `/v1/ledgers/${ledger}/freeze`, { key: OPERATOR_KEY }))
  await verifyWaiting(deps)
  assert.deepEqual(await statesOf(app, [id!]), ['SUBMITTED'])
  const [row] = await app.sql('select verification_job from tallystick.waiting_completions')
  assert.deepEqual(row, { verification_job: '00000000-0000-0000-0000-000000000000' })
  assert.deepEqual(await jobsOf(app), [])
})

test('waiting completions of a moved ledger stay unchanged and are in no round', async (t) => {
  const { app, deps } = await setUp(t)
  const ids = await submitted(app, 2)
  const uuids = ids.map(uuidOf)
  const [waiting, taken] = uuids as [string, string]
  await app.sql(
    'update tallystick.waiting_completions set verification_job = gen_random_uuid() where record_id = $1',
    [taken],
  )
  const rows = () => app.sql('select * from tallystick.waiting_completions order by seq')
  const before = await rows()
  await tamper(app, "update tallystick.chain_heads set closed = 'moving'")
  assert.deepEqual(await listWaitingLedgers(deps.pool, deps.cursorMac), [])
  await verifyWaiting(deps)
  // These completions are named by a round that was already running when the ledger was closed.
  const names = [waiting, taken].map((recordId) => ({ ledgerId: app.ledgerId, recordId: recordId as Uuid }))
  assert.deepEqual(await verifyCompletions(deps, names), [{ status: 'done' }, { status: 'done' }])
  await insertJobs(deps.boss, deps.pool as unknown as pg.ClientBase, names)
  assert.deepEqual(await rows(), before)
})

test('completions that wait when a worker starts get jobs; a round verifies later ones', async (t) => {
  const { app, deps } = await setUp(t)
  const [before] = await submitted(app, 1)
  const round = makeVerificationRound(deps)
  await round()
  assert.deepEqual(
    (await jobsOf(app)).map(({ data }) => data.record),
    [before],
  )
  const [after] = await submitted(app, 1)
  await round()
  assert.deepEqual(await statesOf(app, [before!, after!]), ['SUBMITTED', 'VERIFIED'])
  assert.equal((await jobsOf(app)).length, 1)
})

async function setUp(t: Test) {
  const app = await lendGatedApp(t)
  const worker = openDeps(t, app)
  const boss = await openBoss(t, worker.pool)
  const deps = Object.assign(worker, {
    boss,
    woken: 0,
    wakeVerification: () => void deps.woken++,
    typeWaitMsMax: 30_000, // The first lookup of a type may be slow while other tests run.
  })
  return { app, deps, boss }
}

async function submitted(app: GatedApp, count: number): Promise<string[]> {
  const ids: string[] = []
  for (let i = 0; i < count; i++) ids.push((await app.reach('SUBMITTED')).id)
  await raiseVerifiedSizes(app)
  return ids
}

async function statesOf(app: GatedApp, ids: readonly string[]): Promise<string[]> {
  const records = await Promise.all(ids.map((id) => app.get(id)))
  return records.map(({ state }) => state)
}
