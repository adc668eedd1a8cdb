import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { countOverdue } from '../../../src/db/records/expiry-work.ts'
import { makeExpiryRound } from '../../../src/followers/expiry/expire-records.ts'
import { EXPIRIES_PER_ROUND } from '../../../src/followers/limits.ts'
import { expectStatus, OPERATOR_KEY, type Test } from '../../helpers/app.ts'
import { buildGatedApp, type GatedApp, PASSING } from '../../helpers/gated-app.ts'
import { raiseVerifiedSizes } from '../../helpers/verified-sizes.ts'
import { assertVerifies } from '../../helpers/verify-app.ts'
import { kindsOf, openDeps, tamper, uuidOf, verifyAll } from '../verification/set-up.ts'

test('expires only records that were not delivered by their deadline', async (t) => {
  const { app, deps, expire } = await setUp(t)
  const deadline = inMs(1_500)
  const [created, active, submitted, cancelled] = await Promise.all(
    ['CREATED', 'ACTIVE', 'SUBMITTED', 'CANCELLED'].map((state) => app.reach(state, { deadline })),
  )
  const later = await app.reach('ACTIVE', { deadline: inMs(600_000) })
  const never = await app.reach('CREATED')
  await expire()
  assert.equal((await app.get(created.id)).state, 'CREATED', 'not before the deadline')
  await passed(deadline)
  assert.equal(await countOverdue(deps.pool), 2)
  await expire()
  const states = await Promise.all(
    [created, active, submitted, cancelled, later, never].map(async ({ id }) => (await app.get(id)).state),
  )
  assert.deepEqual(states, ['EXPIRED', 'EXPIRED', 'SUBMITTED', 'CANCELLED', 'ACTIVE', 'CREATED'])
  assert.deepEqual(
    [deps.observed, deps.logged, await countOverdue(deps.pool)],
    [['expired', 'expired'], [], 0],
  )
  assert.deepEqual(await kindsOf(app, active.id), ['record-created', 'record-activated', 'record-expired'])
  await assertVerifies(app)
})

test('does not expire a record before its deadline has passed by the machine’s clock too', async (t) => {
  let behindMs = 90_000
  const { app, deps, expire } = await setUp(t, {
    ...AHEAD_OF_SERVER,
    machineNow: () => Date.now() - behindMs,
  })
  const { id } = await app.create({ deadline: inMs(-10_000) })
  await expire()
  assert.equal((await app.get(id)).state, 'CREATED', 'the clock of the database says so alone')
  assert.deepEqual([await countOverdue(deps.pool), deps.logged], [1, []])
  behindMs = 20_000
  await expire()
  assert.equal((await app.get(id)).state, 'EXPIRED')
})

test('a completion before the deadline counts even with a late worker; a later one gets deadline_passed', async (t) => {
  const { app, deps, expire } = await setUp(t)
  const deadline = inMs(1_500)
  const [inTime, late] = [await app.reach('ACTIVE', { deadline }), await app.reach('ACTIVE', { deadline })]
  await app.take(inTime.id, 'completions', { body: { evidence: PASSING } })
  await passed(deadline)
  const refused = expectStatus(409, await app.step(late.id, 'completions'))
  assert.equal(refused.json().code, 'deadline_passed')
  await expire()
  await verifyAll(deps, app, inTime.id, late.id)
  assert.deepEqual(
    [(await app.get(inTime.id)).state, (await app.get(late.id)).state],
    ['VERIFIED', 'EXPIRED'],
  )
  assert.equal((await app.step(late.id, 'completions')).json().code, 'state_conflict')
  await assertVerifies(app)
})

test('a record sent back for revision also expires at its deadline', async (t) => {
  const { app, expire } = await setUp(t)
  const deadline = inMs(1_500)
  const { id } = await app.reach('VERIFIED', { deadline })
  await app.take(id, 'revision')
  await passed(deadline)
  await expire()
  assert.deepEqual((await kindsOf(app, id)).slice(-2), ['revision-requested', 'record-expired'])
  await assertVerifies(app)
})

test('refuses and logs once overdue records whose columns contradict their entries; other records expire', async (t) => {
  const { app, deps, expire } = await setUp(t)
  const deadline = inMs(1_500)
  const set = async (id: string, what: string) => {
    await tamper(app, `update tallystick.gated_records set ${what} where record_id = '${uuidOf(id)}'`)
    await tamper(
      app,
      `insert into tallystick.open_deadlines select ledger_id, record_id, deadline from tallystick.gated_records
       where record_id = '${uuidOf(id)}' on conflict (ledger_id, record_id) do update set deadline = excluded.deadline`,
    )
  }
  const attacks: ((id: string) => Promise<void>)[] = [
    (id) => set(id, "deadline = now() - interval '1 hour'"),
    (id) => set(id, 'version = 1, last_seq = first_seq'),
    (id) => set(id, "state = 'CREATED'"),
  ]
  const good = await app.reach('ACTIVE', { deadline })
  const targets: string[] = []
  for (const attack of attacks) {
    const { id } = await app.reach('ACTIVE', { deadline })
    await attack(id)
    targets.push(id)
  }
  const submitted = await app.reach('SUBMITTED', { deadline })
  await set(submitted.id, "state = 'ACTIVE'")
  await passed(deadline)
  await expire()
  await expire()
  assert.equal((await app.get(good.id)).state, 'EXPIRED')
  const refused = [...targets, submitted.id].sort()
  assert.deepEqual(deps.logged.map(({ record }) => record as string).sort(), refused)
  assert.equal(deps.refusedExpiries.count, refused.length)
  for (const { level, message, err } of deps.logged)
    assert.deepEqual(
      [level, message, (err as Error).name],
      ['error', 'an overdue record could not be expired', 'ProofError'],
    )
  const kinds = (await app.entries()).map(({ kind }) => kind)
  assert.equal(kinds.filter((kind) => kind === 'record-expired').length, 1)
})

test('a record of a frozen ledger expires only after unfreezing', async (t) => {
  const { app, expire } = await setUp(t, AHEAD_OF_SERVER)
  const { id } = await app.create({ deadline: inMs(-10_000) })
  const change = (how: string) =>
    app.send('POST', `/v1/ledgers/${app.ledger.ledger.id}/${how}`, { key: OPERATOR_KEY })
  expectStatus(200, await change('freeze'))
  await expire()
  assert.equal((await app.get(id)).state, 'CREATED')
  expectStatus(200, await change('unfreeze'))
  await expire()
  assert.equal((await app.get(id)).state, 'EXPIRED')
})

test('two workers and several rounds expire each record once', async (t) => {
  const { app, deps, expire } = await setUp(t, AHEAD_OF_SERVER)
  const other = makeExpiryRound(openDeps(t, app))
  const count = EXPIRIES_PER_ROUND + 20
  await Promise.all(
    Array.from({ length: count }, () => app.create({ type: 'task/1', deadline: inMs(-10_000) })),
  )
  await Promise.all([expire(), other().then(() => other())])
  await expire()
  const states = await app.sql<{ state: string; count: number }>(
    'select state, count(*)::int from tallystick.gated_records group by 1',
  )
  assert.deepEqual(states, [{ state: 'EXPIRED', count }])
  assert.deepEqual(deps.logged, [])
  await assertVerifies(app)
})

/**
 * The server's clock is 20 s slow. A deadline that is in the future for the server has already passed for the database.
 * So the test does not have to wait.
 */
const AHEAD_OF_SERVER = { now: () => Date.now() - 20_000 }

async function setUp(
  t: Test,
  { machineNow, ...options }: { readonly now?: () => number; readonly machineNow?: () => number } = {},
) {
  const app: GatedApp = await buildGatedApp(t, options)
  const deps = { ...openDeps(t, app), ...(machineNow && { machineNow }) }
  const round = makeExpiryRound(deps)
  const expire = async () => {
    await raiseVerifiedSizes(app)
    while (await round()) {}
  }
  return { app, deps, expire }
}

function inMs(ms: number): string {
  return new Date(Date.now() + ms).toISOString()
}

/** Waits slightly longer than the deadline, because of rounding. */
async function passed(deadline: string): Promise<void> {
  await sleep(Math.max(0, Date.parse(deadline) - Date.now()) + 20)
}
