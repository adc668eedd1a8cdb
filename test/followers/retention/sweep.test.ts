import assert from 'node:assert/strict'
import { test } from 'node:test'
import { listHolds, listRules } from '../../../src/db/records/retention-rules.ts'
import { claimSweep, countSweeps, releaseSweep } from '../../../src/db/records/retention-work.ts'
import { RETENTION_ENTRIES_PER_CALL } from '../../../src/followers/limits.ts'
import { parseId } from '../../../src/proof/ids.ts'
import { isHeld, retentionOf } from '../../../src/records/retention/rules.ts'
import { expectStatus, genericBody, type TestApp } from '../../helpers/app.ts'
import { lendGatedApp } from '../../helpers/gated-app.ts'
import { lendApp } from '../../helpers/lent-app.ts'
import { addAgent } from '../../helpers/more-keys.ts'
import { sharedApp } from '../../helpers/shared-app.ts'
import { age, openSweeper, unage } from '../../helpers/sweeper.ts'
import { assertVerifies } from '../../helpers/verify-app.ts'

const post = (app: TestApp, url: string, body: object = {}) => app.send('POST', url, { body })
const rule = async (app: TestApp, body: object) =>
  expectStatus(201, await post(app, '/v1/retention/rules', { basis: 'law', ...body })).json()
const hold = async (app: TestApp, body: object) =>
  expectStatus(201, await post(app, '/v1/holds', { case: 'c', ...body })).json()

/** Returns a seeded random generator (mulberry32), so that failures can be repeated. */
function randomOf(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return Math.floor((((t ^ (t >>> 14)) >>> 0) / 2 ** 32) * below)
  }
}

test('holds, rules, sweeps and requests in random order erase what a simple model predicts', async (t) => {
  const app = await sharedApp()
  const sweeper = openSweeper(t, app)
  const random = randomOf(7)
  type Rule = { days: number; made: number }
  type Model = { id: string; made: number; days: number; erased: boolean; item: boolean }
  const records: Model[] = []
  const holds: { seq: number; of: readonly string[] | null }[] = []
  const rules: Rule[] = []
  const isHeldIn = (record: Model) => holds.some(({ of }) => of === null || of.includes(record.id))
  const keptDays = (record: Model) => {
    const inForce = rules.findLastIndex(({ made }) => made < record.made)
    const counting = rules.slice(Math.max(inForce, 0)).map(({ days }) => days)
    return counting.length === 0 ? Number.POSITIVE_INFINITY : Math.max(...counting)
  }
  let step = 0
  let ages = 0
  const actions = [
    async () => {
      const { id } = await app.notarize()
      records.push({ id, made: step, days: ages, erased: false, item: false })
    },
    async () => {
      const body = { records: [genericBody(), genericBody()] }
      const { records: made } = expectStatus(201, await post(app, '/v1/records/batch', body)).json()
      for (const { id } of made) records.push({ id, made: step, days: ages, erased: false, item: true })
    },
    async () => {
      const of = random(6) === 0 ? null : records.filter(() => random(4) === 0).map(({ id }) => id)
      if (of?.length === 0) return
      const { seq } = await hold(app, of ? { records: of } : {})
      holds.push({ seq, of })
    },
    async () => {
      const [lifted] = holds.splice(random(Math.max(holds.length, 1)), 1)
      if (lifted) expectStatus(200, await post(app, `/v1/holds/${lifted.seq}/lift`))
    },
    async () => {
      const days = 183 + 20 * random(6)
      await rule(app, { days })
      rules.push({ days, made: step })
    },
    async () => {
      await age(app, 40)
      ages += 40
    },
    async () => {
      const record = records[random(Math.max(records.length, 1))]
      if (!record) return
      const url = `/v1/records/${record.id}/payload`
      const answer = await app.send('DELETE', url, { body: { code: 'data_subject_request' } })
      const expected = record.erased ? 'already_ended' : isHeldIn(record) ? 'held' : 202
      assert.equal(answer.statusCode === 202 ? 202 : answer.json().code, expected)
      record.erased ||= expected === 202
    },
    async () => {
      await sweeper.run()
      for (const record of records)
        record.erased ||= !isHeldIn(record) && ages - record.days >= keptDays(record)
    },
  ]
  for (; step < 160; step++) {
    await actions[random(actions.length)]!()
    if (step % 10 !== 9) continue
    const shown = await Promise.all(
      records.map(async ({ id }) => (await app.send('GET', `/v1/records/${id}`)).json().payload === null),
    )
    assert.deepEqual(
      shown,
      records.map(({ erased }) => erased),
      `after step ${step}`,
    )
  }
  assert.ok(records.some(({ erased }) => erased) && records.some(({ erased }) => !erased))
  assert.deepEqual(sweeper.logged, [])
  await unage(app)
  await assertVerifies(app)
})

test('retentionOf() and isHeld() find the same rules and holds as the database', async () => {
  const app = await sharedApp()
  const random = randomOf(11)
  const agents = await Promise.all(['a', 'b'].map((name) => addAgent(app, name)))
  const [{ id }, { id: other }] = [await app.notarize(), await app.notarize()]
  const pick = <T>(values: readonly T[]): T => values[random(values.length)]!
  const narrowed = () => ({
    ...(random(2) === 0 && { type: pick(['generic/1', 'other/1']) }),
    ...(random(2) === 0 && { agent: pick(agents) }),
  })
  for (let i = 0; i < 24; i++) {
    await rule(app, { ...narrowed(), days: pick([null, 183, 200, 365]) })
    const { seq } = await hold(app, {
      ...narrowed(),
      ...(random(2) === 0 && { records: [pick([id, other])] }),
    })
    if (random(2) === 0) expectStatus(200, await post(app, `/v1/holds/${seq}/lift`))
  }
  const { readPool } = app.deps
  const rules = await listRules(readPool, app.ledgerId)
  const holds = await listHolds(readPool, app.ledgerId, { before: 1e9, standing: true, limit: 100 })
  for (let i = 0; i < 200; i++) {
    const facts = {
      recordId: parseId('rec', pick([id, other])),
      type: pick(['generic/1', 'other/1', 'third/1']),
      agents: agents.filter(() => random(2) === 0).map((agent) => parseId('agt', agent)),
      madeSeq: random(80),
    }
    const [found] = await app.sql(
      `select r.days, r.rule_seq::int as "ruleSeq", exists (select from tallystick.holds_on($1, $2, $3, $4, 1000000)) as held
       from tallystick.retention_of($1, $3, $4, $5) r`,
      [app.ledgerId, facts.recordId, facts.type, facts.agents, facts.madeSeq],
    )
    const kept = retentionOf(rules, facts) ?? { days: null, ruleSeq: null }
    assert.deepEqual({ ...kept, held: isHeld(holds, facts) }, found)
  }
})

test('of a hold and a simultaneous erasure, an accepted erasure precedes the hold in the chain', async () => {
  const app = await sharedApp()
  for (let i = 0; i < 8; i++) {
    const { id } = await app.notarize()
    const [held, erased] = await Promise.all([
      post(app, '/v1/holds', { case: 'c', records: [id] }),
      app.send('DELETE', `/v1/records/${id}/payload`, { body: { code: 'expired' } }),
    ])
    const { seq } = expectStatus(201, held).json()
    if (erased.statusCode === 202) assert.ok(erased.json().erasure.entry.seq < seq)
    else assert.equal(erased.json().code, 'held')
  }
  await assertVerifies(app)
})

test('an open gated record stays; an ended one loses all of its documents', async (t) => {
  const app = await lendGatedApp(t)
  const sweeper = openSweeper(t, app)
  const open = await app.reach('VERIFIED')
  const ended = await app.reach('ACCEPTED')
  await rule(app, { days: 183 })
  await age(app, 183)
  await sweeper.run()
  assert.deepEqual([sweeper.observed, sweeper.logged], [[3], []])
  const { payload, gated } = await app.get(ended.id)
  assert.deepEqual([payload, gated.completion.evidence], [null, null])
  assert.ok((await app.get(open.id)).payload)
  await unage(app)
  await assertVerifies(app)
})

test('erases nothing before its time has passed by the machine’s clock too', async (t) => {
  const app = await sharedApp()
  let behindMs = 90_000
  const sweeper = openSweeper(t, app, { machineNow: () => Date.now() - behindMs })
  const { id } = await app.notarize()
  const payload = async () => (await app.send('GET', `/v1/records/${id}`)).json().payload
  await rule(app, { days: 183 })
  await age(app, 183)
  await sweeper.run()
  assert.ok(await payload(), 'the clock of the database says so alone')
  behindMs = 20_000
  await age(app, 1)
  await sweeper.run()
  assert.equal(await payload(), null)
  assert.deepEqual(sweeper.logged, [])
  await unage(app)
  await assertVerifies(app)
})

test('a rule that contradicts its signed entry erases nothing and is logged', async (t) => {
  const app = await lendGatedApp(t)
  const sweeper = openSweeper(t, app)
  const { id } = await app.notarize()
  await rule(app, { days: 400 })
  await age(app, 300)
  await app.sql(`do $$ begin
    set local session_replication_role = replica;
    update tallystick.retention_rules set days = 200 where ledger_id = '${app.ledgerId}';
  end $$`)
  await sweeper.run(2)
  assert.deepEqual(sweeper.observed, [])
  assert.match(
    sweeper.logged[0]!,
    /the retention rule of entry \d+ in the table retention_rules differs from what was signed/,
  )
  const [place] = await app.sql(
    `select next_seq::int as next, due_at < now() + interval '15 minutes' as soon from tallystick.retention_sweeps where ledger_id = $1`,
    [app.ledgerId],
  )
  assert.deepEqual(place, { next: 2, soon: true }, 'it keeps its place, and comes again soon')
  assert.ok((await app.get(id)).payload)
  assert.deepEqual(await countSweeps(sweeper.pool), { due: 0, failing: 1 }, 'it is counted between tries')
  await app.sql(`do $$ begin
    set local session_replication_role = replica;
    update tallystick.retention_rules set days = 400 where ledger_id = '${app.ledgerId}';
  end $$`)
  await sweeper.run(2)
  assert.deepEqual(await countSweeps(sweeper.pool), { due: 0, failing: 0 })
})

test('entries of a page are signed range by range, each with the time of its range', async (t) => {
  const app = await sharedApp()
  const signedBeforeFirst: number[] = []
  const sweeper = openSweeper(t, app, {
    now() {
      if (sweeper.observed.length === 0) signedBeforeFirst.push(Date.now())
      return Date.now()
    },
  })
  const count = 5 * RETENTION_ENTRIES_PER_CALL - 100
  for (const length of [1_000, count - 1_000]) {
    const records = Array.from({ length }, () => genericBody())
    expectStatus(201, await post(app, '/v1/records/batch', { records }))
  }
  await rule(app, { days: 183 })
  await age(app, 200)
  await sweeper.run()
  assert.equal(
    sweeper.observed.reduce((sum, documents) => sum + documents),
    count,
  )
  // At most two pages were signed, because the next page is signed while one is committed. The clock is read once for
  // each page.
  assert.ok(signedBeforeFirst.length <= 2 * RETENTION_ENTRIES_PER_CALL + 2, `${signedBeforeFirst.length}`)
  await unage(app)
  await assertVerifies(app)
})

test('sweeps alternate between ledgers after each page', async (t) => {
  const app = await lendApp(t)
  const other = await app.newLedger()
  const { pool } = openSweeper(t, app)
  await rule(app, { days: 183 })
  const body = { days: 183, basis: 'law' }
  expectStatus(201, await app.send('POST', '/v1/retention/rules', { key: other.key.key, body }))
  const turns: string[] = []
  for (let page = 1; page <= 4; page++) {
    const sweep = (await claimSweep(pool))!
    turns.push(sweep.ledgerId)
    await releaseSweep(pool, sweep, { nextSeq: page })
  }
  assert.deepEqual(turns, [turns[0], turns[1], turns[0], turns[1]])
  assert.notEqual(turns[0], turns[1])
})
