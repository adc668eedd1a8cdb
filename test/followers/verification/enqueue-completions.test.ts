import assert from 'node:assert/strict'
import { test } from 'node:test'
import { redriveDeadLetters } from '../../../src/db/jobs/job-queues.ts'
import { readWaitingFigures } from '../../../src/db/records/verification-work.ts'
import { COMPLETION_JOB_MS_MAX, COMPLETIONS_QUEUED_MAX } from '../../../src/followers/limits.ts'
import {
  enqueueCompletions,
  releaseCompletions,
} from '../../../src/followers/verification/enqueue-completions.ts'
import { expectStatus, OPERATOR_KEY, type Test } from '../../helpers/app.ts'
import { connect } from '../../helpers/connect.ts'
import { type GatedApp, lendGatedApp } from '../../helpers/gated-app.ts'
import { raiseVerifiedSizes } from '../../helpers/verified-sizes.ts'
import { jobsOf, openBoss, openDeps, tamper, uuidOf, verifyAll } from './set-up.ts'

test('several followers at once make one job per completion, which names only ledger and record', async (t) => {
  const { app, deps } = await setUp(t)
  const ids = [await submitted(app), await submitted(app), await submitted(app)]
  await app.reach('VERIFIED')
  await Promise.all([enqueueCompletions(deps), enqueueCompletions(deps), enqueueCompletions(deps)])
  const jobs = await jobsOf(app)
  assert.deepEqual(
    jobs.map(({ data }) => data).sort(byRecord),
    ids.map((record) => ({ ledger: app.ledger.ledger.id, record })).sort(byRecord),
  )
  assert.deepEqual(await jobIds(app, ids), jobs.map(({ id }) => id).sort())
  assert.equal(deps.woken >= 1, true)
  await enqueueCompletions(deps)
  await releaseCompletions(deps)
  await enqueueCompletions(deps)
  assert.equal((await jobsOf(app)).length, ids.length)
})

test('a completion gets a new job if its job is lost or runs too long', async (t) => {
  const { app, deps, boss } = await setUp(t)
  const id = await submitted(app)
  const again = async () => {
    await releaseCompletions(deps)
    await enqueueCompletions(deps)
    return (await jobIds(app, [id]))[0]!
  }
  await enqueueCompletions(deps)
  const first = await again()
  await app.sql('delete from tallystick_jobs.job')
  const second = await again()
  assert.notEqual(second, first)
  const [job] = await boss.fetch('verify-completion')
  assert.equal(job!.id, second)
  assert.equal(await again(), second, 'it has only just been taken')
  await app.sql(
    "update tallystick_jobs.job set started_on = started_on - $1 * interval '1 millisecond' where id = $2",
    [COMPLETION_JOB_MS_MAX, second],
  )
  assert.notEqual(await again(), second)
  await verifyAll(deps, app, id)
  await again()
  assert.equal(
    (await jobsOf(app)).filter(({ state }) => state === 'created').length,
    1,
    'nothing is left to do',
  )
})

test('a ledger that floods the queue does not delay a completion of another ledger', async (t) => {
  const { app, deps, boss } = await setUp(t)
  await submitted(app)
  // Inserts twice as many rows of completions as the queue has slots. No entries are needed, because the queue reads
  // only rows.
  await tamper(
    app,
    `with added as (
      insert into tallystick.gated_records (ledger_id, record_id, first_seq, principal_id, performer_id, gate, max_revisions,
        state, version, last_seq)
      select ledger_id, gen_random_uuid(), -n, principal_id, performer_id, gate, max_revisions, state, version, -n
      from tallystick.gated_records cross join generate_series(1, 2 * ${COMPLETIONS_QUEUED_MAX}) n
      returning ledger_id, last_seq, record_id
    )
    insert into tallystick.waiting_completions (ledger_id, seq, record_id) table added`,
  )
  assert.equal(await enqueueCompletions(deps), true)
  assert.equal(await enqueueCompletions(deps), false, 'the queue is full')
  assert.equal((await jobsOf(app)).length, COMPLETIONS_QUEUED_MAX)
  const other = 'ffffffff-ffff-7fff-bfff-ffffffffffff'
  await tamper(
    app,
    `with head as (insert into tallystick.chain_heads (ledger_id, size, chain, envelope_kid)
      select '${other}', size, chain, envelope_kid from tallystick.chain_heads limit 1 returning ledger_id)
    , last as (insert into tallystick.entries (ledger_id, seq, kind, subject_id, recorded_at, leaf, chain, envelope)
      select '${other}', seq, e.kind, e.subject_id, e.recorded_at, e.leaf, e.chain, e.envelope
      from tallystick.entries e order by seq desc limit 1)
    , waiting as (update tallystick.waiting_completions w set ledger_id = '${other}'
      from (select record_id from tallystick.waiting_completions where verification_job is null limit 1) r
      where w.record_id = r.record_id returning w.record_id)
    update tallystick.gated_records g set ledger_id = '${other}' from waiting w where g.record_id = w.record_id`,
  )
  await raiseVerifiedSizes(app)
  await boss.fetch('verify-completion', { batchSize: 100 })
  await enqueueCompletions(deps)
  const enqueued = await app.sql<{ ledger_id: string; jobs: string }>(
    `select ledger_id, count(verification_job) as jobs from tallystick.waiting_completions group by 1 order by 1`,
  )
  assert.deepEqual(
    enqueued.map(({ ledger_id, jobs }) => [ledger_id === other, Number(jobs)]),
    [
      [false, COMPLETIONS_QUEUED_MAX + 50],
      [true, 1],
    ],
  )
  // A completion that is retried later takes no slot.
  await app.sql(
    "update tallystick_jobs.job set start_after = now() + interval '1 minute' where state < 'active'",
  )
  await enqueueCompletions(deps)
  const [left] = await app.sql('select from tallystick.waiting_completions where verification_job is null')
  assert.equal(left, undefined)
})

test('a job that was given up stays a single dead letter until an operator redrives it', async (t) => {
  const { app, deps, boss } = await setUp(t)
  const id = await submitted(app)
  const round = async () => {
    await releaseCompletions(deps)
    await enqueueCompletions(deps)
    return (await jobsOf(app)).filter(({ state }) => state === 'created').map(({ name }) => name)
  }
  const giveUp = async () => {
    const [job] = await boss.fetch('verify-completion')
    await app.sql('update tallystick_jobs.job set retry_count = retry_limit where id = $1', [job!.id])
    await boss.fail('verify-completion', job!.id, { why: 'a test' })
  }
  assert.deepEqual(await round(), ['verify-completion'])
  await giveUp()
  assert.deepEqual(await round(), ['dead-letters'])
  const operator = await connect(t, app.database.ownerUrl)
  for (let i = 0; i < 2; i++) {
    assert.equal(await redriveDeadLetters(operator, null), 1)
    assert.deepEqual(await round(), ['verify-completion'])
    await giveUp()
    assert.deepEqual(await round(), ['dead-letters'])
  }
  await app.sql("delete from tallystick_jobs.job where name = 'dead-letters'")
  assert.deepEqual(
    await round(),
    ['verify-completion'],
    'anybody who throws it away has not thrown the completion away',
  )
  await verifyAll(deps, app, id)
  assert.equal((await app.get(id)).state, 'VERIFIED')
})

test('a completion in a frozen ledger gets no job until unfreezing, and counts in no waiting figure', async (t) => {
  const { app, deps, boss } = await setUp(t)
  const [waiting, taken] = [await submitted(app), await submitted(app)]
  const ledger = app.ledger.ledger.id
  const freeze = (how: string) => app.send('POST', `/v1/ledgers/${ledger}/${how}`, { key: OPERATOR_KEY })
  await enqueueCompletions(deps)
  await app.sql('update tallystick.waiting_completions set verification_job = null where record_id = $1', [
    uuidOf(waiting),
  ])
  expectStatus(200, await freeze('freeze'))
  await enqueueCompletions(deps)
  // Of the two completions, `taken` has a job, which runs now. `waiting` has no job.
  assert.deepEqual(await verifyAll(deps, app, taken), [{ status: 'done' }])
  assert.equal(await releaseCompletions(deps), false)
  assert.deepEqual(
    new Set(await jobIds(app, [waiting, taken])),
    new Set(['00000000-0000-0000-0000-000000000000']),
  )
  assert.deepEqual(await readWaitingFigures(deps.pool), { count: 0, oldestSeconds: 0 })
  const jobs = (await jobsOf(app)).length

  expectStatus(200, await freeze('unfreeze'))
  await releaseCompletions(deps)
  await enqueueCompletions(deps)
  assert.equal((await jobsOf(app)).length, jobs + 2)
  assert.equal((await readWaitingFigures(deps.pool)).count, 2)
  const names = (await boss.fetch<{ record: string }>('verify-completion', { batchSize: 10 })).map(
    ({ data }) => data.record,
  )
  assert.deepEqual(
    await verifyAll(deps, app, ...names),
    names.map(() => ({ status: 'done' })),
  )
  for (const id of [waiting, taken]) assert.equal((await app.get(id)).state, 'VERIFIED')
})

async function setUp(t: Test) {
  const app = await lendGatedApp(t)
  const worker = openDeps(t, app)
  const boss = await openBoss(t, worker.pool)
  const deps = Object.assign(worker, { boss, woken: 0, wakeVerification: () => void deps.woken++ })
  return { app, deps, boss }
}

async function submitted(app: GatedApp): Promise<string> {
  const { id } = await app.reach('SUBMITTED')
  await raiseVerifiedSizes(app)
  return id
}

async function jobIds(app: GatedApp, records: readonly string[]): Promise<string[]> {
  const rows = await app.sql<{ id: string }>(
    'select verification_job as id from tallystick.waiting_completions where record_id = any($1::uuid[]) order by 1',
    [records.map(uuidOf)],
  )
  return rows.map(({ id }) => id)
}

function byRecord(a: { record: string }, b: { record: string }): number {
  return a.record < b.record ? -1 : 1
}
