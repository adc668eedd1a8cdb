import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatId, parseId } from '../../src/proof/ids.ts'
import { buildTestApp, expectStatus, genericBody, type TestApp } from '../helpers/app.ts'
import { assertProblem } from '../helpers/assert-problem.ts'
import { addKey } from '../helpers/more-keys.ts'
import { sharedApp } from '../helpers/shared-app.ts'
import { age, openSweeper, unage } from '../helpers/sweeper.ts'
import { assertVerifies } from '../helpers/verify-app.ts'
import { until } from '../helpers/wait.ts'

const post = (app: TestApp, url: string, body: object = {}) => app.send('POST', url, { body })
const hold = async (app: TestApp, body: object) =>
  expectStatus(201, await post(app, '/v1/holds', body)).json()
const rule = async (app: TestApp, body: object) =>
  expectStatus(201, await post(app, '/v1/retention/rules', { basis: 'law', ...body })).json()
const lift = (app: TestApp, seq: number) => post(app, `/v1/holds/${seq}/lift`)
const erase = (app: TestApp, id: string) =>
  app.send('DELETE', `/v1/records/${id}/payload`, { body: { code: 'data_subject_request' } })

async function batchOf(app: TestApp, count: number, more: object = {}): Promise<string[]> {
  const records = Array.from({ length: count }, (_, n) => ({ ...genericBody({ n }), ...more }))
  const answer = expectStatus(201, await post(app, '/v1/records/batch', { records })).json()
  return answer.records.map(({ id }: { id: string }) => id)
}

test('a hold that names a record twice is refused with 422 invalid_request', async () => {
  const app = await sharedApp()
  const { id } = await app.notarize()
  const before = await app.written()
  const twice = await post(app, '/v1/holds', { case: '2027/9', records: [id, id] })
  assert.equal(assertProblem(twice, 422, 'invalid_request')['path'], '/records')
  assert.deepEqual(await app.written(), before)
  await assertVerifies(app)
})

test('a hold prevents erasure and names its case; each hold must be lifted', async () => {
  const app = await sharedApp()
  const { id } = await app.notarize()
  const [item, other] = (await batchOf(app, 2)) as [string, string]
  const first = await hold(app, { case: '2027/1', records: [id, item] })
  assert.deepEqual(
    [first.case, first.records, first.type, first.agent, first.liftedBy],
    ['2027/1', [id, item], null, null, null],
  )
  const second = await hold(app, {
    case: '2027/2',
    type: 'generic/1',
    agent: app.ledger.agent.id,
    records: [id],
  })
  for (const held of [id, item]) {
    const problem = assertProblem(await erase(app, held), 409, 'held')
    assert.match(problem['detail'] as string, /2027\/1/)
    const holds = [{ seq: first.seq, case: '2027/1' }]
    if (held === id) holds.push({ seq: second.seq, case: '2027/2' })
    assert.deepEqual(problem['holds'], holds)
  }
  expectStatus(202, await erase(app, other))
  const lifted = expectStatus(200, await lift(app, first.seq)).json()
  assert.equal(typeof lifted.liftedBy, 'number')
  assertProblem(await lift(app, first.seq), 409, 'already_ended')
  assertProblem(await lift(app, 0), 404, 'not_found')
  assertProblem(await erase(app, id), 409, 'held')
  expectStatus(202, await erase(app, item))
  expectStatus(200, await lift(app, second.seq))
  expectStatus(202, await erase(app, id))
  await assertVerifies(app)
})

test('holds select records by type, by agent, or all', async () => {
  const app = await sharedApp()
  const { id } = await app.notarize()
  const agent = app.ledger.agent.id
  for (const [selector, isHeld] of [
    [{}, true],
    [{ type: 'generic/1' }, true],
    [{ type: 'other/1' }, false],
    [{ agent }, true],
    [{ agent: agent.replace(/.$/, (c: string) => (c === '0' ? '1' : '0')) }, false],
    [{ type: 'other/1', agent }, false],
  ] as const) {
    const { seq } = await hold(app, { case: 'c', ...selector })
    if (isHeld) assertProblem(await erase(app, id), 409, 'held')
    else {
      const target = await app.notarize()
      expectStatus(202, await erase(app, target.id))
    }
    expectStatus(200, await lift(app, seq))
  }
  const pages = await app.send('GET', '/v1/holds?limit=4')
  assert.equal(pages.json().data.length, 4)
  const { nextCursor } = pages.json()
  assert.equal((await app.send('GET', `/v1/holds?limit=4&cursor=${nextCursor}`)).json().data.length, 2)
  assertProblem(await app.send('GET', `/v1/holds?standing=true&cursor=${nextCursor}`), 422, 'invalid_request')
  assert.deepEqual((await app.send('GET', '/v1/holds?standing=true')).json().data, [])
  await assertVerifies(app)
})

test('rules need at least the minimum days, and are listed with their replacement', async () => {
  const app = await sharedApp()
  const refused = assertProblem(
    await post(app, '/v1/retention/rules', { days: 182, basis: 'law' }),
    422,
    'invalid_request',
  )
  assert.equal(refused['path'], '/days')
  const first = await rule(app, { days: 183 })
  const second = await rule(app, { days: null })
  const other = await rule(app, { type: 'generic/1', days: 200 })
  const { data } = (await app.send('GET', '/v1/retention/rules')).json()
  assert.deepEqual(
    data.map(({ seq, days, replacedBy }: Record<string, unknown>) => [seq, days, replacedBy]),
    [
      [other.seq, 200, null],
      [second.seq, null, null],
      [first.seq, 183, second.seq],
    ],
  )
  await assertVerifies(app)
})

test('rules and holds need the scope retention:manage; audit:read can read them', async () => {
  const app = await sharedApp()
  const auditor = await addKey(app, { scopes: ['audit:read'] })
  const send = (method: string, url: string, key: string, body?: object) =>
    app.send(method, url, { key, ...(body && { body }) })
  for (const [url, body] of [
    ['/v1/retention/rules', { days: 200, basis: 'law' }],
    ['/v1/holds', { case: 'c' }],
    ['/v1/holds/1/lift', {}],
  ] as const)
    assert.equal(
      assertProblem(await send('POST', url, auditor, body), 403, 'forbidden')['scope'],
      'retention:manage',
    )
  for (const url of ['/v1/retention/rules', '/v1/holds']) expectStatus(200, await send('GET', url, auditor))
  expectStatus(200, await send('POST', '/v1/retention/preview', auditor, { days: 1 }))
})

test('the preview counts what a rule would erase, and the sweep erases just that', async (t) => {
  const app = await sharedApp()
  const sweeper = openSweeper(t, app)
  await app.notarize()
  const held = await app.notarize()
  await hold(app, { case: 'c', records: [held.id] })
  const items = await batchOf(app, 130)
  await age(app, 200)
  const young = await app.notarize()
  const preview = (body: object) => post(app, '/v1/retention/preview', body)
  const { oldest, ...found } = expectStatus(200, await preview({ days: 183 })).json()
  assert.ok(Date.parse(oldest) < Date.now() - 199 * 86_400_000)
  assert.deepEqual(found, { records: 131, held: 1, byType: { 'generic/1': 131 }, nextSeq: null })
  assert.equal((await preview({ days: 201 })).json().records, 0)
  assert.equal((await preview({ days: 183, type: 'other/1' })).json().records, 0)
  const { seq } = await rule(app, { days: 183 })
  await sweeper.run()
  assert.deepEqual([sweeper.observed, sweeper.logged], [[131], []])
  assert.equal((await preview({ days: 183 })).json().records, 0)
  for (const id of [held.id, young.id])
    assert.ok((await app.send('GET', `/v1/records/${id}`)).json().payload, 'kept')
  const erased = (await app.send('GET', `/v1/records/${items[129]}`)).json()
  assert.equal(erased.payload, null)
  assert.equal(erased.erasure.code, 'retention')
  const { data } = (await app.send('GET', '/v1/holds')).json()
  expectStatus(200, await lift(app, data[0].seq))
  await sweeper.run()
  assert.deepEqual(sweeper.observed, [131, 1])
  await unage(app)
  await assertVerifies(app)
  const lines = await app.entries(`?after=${seq}&limit=5`)
  assert.ok(lines.every(({ kind }) => kind === 'payload-erased'))
})

test('a ledger has one preview at a time; a second one gets 503', async () => {
  const app = await sharedApp()
  const previews = await Promise.all([1, 2].map(() => post(app, '/v1/retention/preview', { days: 183 })))
  assert.deepEqual(previews.map(({ statusCode }) => statusCode).sort(), [200, 503])
  expectStatus(200, await post(app, '/v1/retention/preview', { days: 183 }))
})

test('open holds name at most 65,536 records; the refusal suggests a type or an agent', async (t) => {
  const app = await buildTestApp(t)
  await app.sql(`do $$ begin
    set local session_replication_role = replica;
    insert into tallystick.holds (ledger_id, seq, case_id, record_ids)
    select '${app.ledgerId}', 10000 + n, 'c', array(select gen_random_uuid() from generate_series(1, 500))
    from generate_series(1, 131) n;
  end $$`)
  const ids = Array.from({ length: 37 }, () => formatId('rec', app.deps.entropy.uuidv7(Date.now())))
  const appended = t.mock.method(app.deps.appender, 'append').mock
  const refused = assertProblem(await post(app, '/v1/holds', { case: 'c', records: ids }), 409, 'too_many')
  assert.match(refused['detail'] as string, /65,536.*hold a type or an agent instead/)
  assert.equal(appended.callCount(), 0, 'the database is not asked for what it would refuse')
  await hold(app, { case: 'c', records: ids.slice(1) })
})

test('one hold or rule above the limit is refused with 409 too_many before the database call', async (t) => {
  const app = await buildTestApp(t)
  await app.sql(`do $$ begin
    set local session_replication_role = replica;
    insert into tallystick.holds (ledger_id, seq, case_id) select '${app.ledgerId}', 10000 + n, 'c' from generate_series(1, 1023) n;
    insert into tallystick.retention_rules (ledger_id, seq, days) select '${app.ledgerId}', 20000 + n, 200 from generate_series(1, 1023) n;
  end $$`)
  for (const [url, body] of [
    ['/v1/holds', { case: 'c' }],
    ['/v1/retention/rules', { days: 200, basis: 'law' }],
  ] as const) {
    const answers = await Promise.all([1, 2, 3].map(() => post(app, url, body)))
    assert.deepEqual(answers.map(({ statusCode }) => statusCode).sort(), [201, 409, 409])
    const appended = t.mock.method(app.deps.appender, 'append').mock
    assertProblem(await post(app, url, body), 409, 'too_many')
    assert.equal(appended.callCount(), 0)
    appended.restore()
  }
})

test('an erasure of a held document gets 409 held before the database call', async (t) => {
  const app = await sharedApp()
  const { id } = await app.notarize()
  const { seq } = await hold(app, { case: 'c', records: [id] })
  const appended = t.mock.method(app.deps.appender, 'append').mock
  const headers = { 'idempotency-key': 'k' }
  const body = { code: 'data_subject_request' }
  const url = `/v1/records/${id}/payload`
  for (const more of [{}, { headers }])
    assertProblem(await app.send('DELETE', url, { body, ...more }), 409, 'held')
  assert.equal(appended.callCount(), 0)
  expectStatus(200, await lift(app, seq))
  const { entry } = expectStatus(202, await app.send('DELETE', url, { body, headers })).json().erasure
  await hold(app, { case: 'd', records: [id] })
  const again = expectStatus(202, await app.send('DELETE', url, { body, headers })).json().erasure
  assert.equal(again.entry.seq, entry.seq, 'the same request, and its answer')
})

test('the lookup of holds on a record reads few pages, whatever other ledgers hold or have lifted', async (t) => {
  const app = await buildTestApp(t)
  const { ledger } = await app.newLedger()
  const theirs = parseId('led', ledger.id)
  const { id } = await app.notarize()
  const recordId = parseId('rec', id)
  await app.sql(`do $$ begin
    set local session_replication_role = replica;
    insert into tallystick.holds (ledger_id, seq, case_id, record_ids, lifted_seq)
    select '${theirs}', 10000 + n, 'c', array['${recordId}'::uuid], 20000 + n from generate_series(1, 5000) n;
    insert into tallystick.holds (ledger_id, seq, case_id, record_ids)
    select '${theirs}', 30000 + n, 'c', array['${recordId}'::uuid] from generate_series(1, 1000) n;
    insert into tallystick.hold_records (ledger_id, record_id, seq)
    select '${theirs}', '${recordId}'::uuid, 30000 + n from generate_series(1, 1000) n;
  end $$`)
  const { seq } = await hold(app, { case: 'c', records: [id] })
  const [{ 'QUERY PLAN': plan }] = (await app.sql(
    `explain (analyze, buffers, timing off, format json)
     select * from tallystick.holds_on('${app.ledgerId}', '${recordId}', 'generic/1', '{}', 100000)`,
  )) as [{ 'QUERY PLAN': [{ Plan: { 'Shared Hit Blocks': number; 'Shared Read Blocks': number } }] }]
  const { 'Shared Hit Blocks': hit, 'Shared Read Blocks': read } = plan[0].Plan
  assert.ok(hit + read < 30, `${hit + read} pages were looked at`)
  assertProblem(await erase(app, id), 409, 'held')
  const count = () =>
    app.sql('select seq::int from tallystick.hold_records where ledger_id = $1', [app.ledgerId])
  assert.deepEqual(await count(), [{ seq }])
  expectStatus(200, await lift(app, seq))
  assert.deepEqual(await count(), [], 'a hold that was lifted leaves nothing to be looked through')
  expectStatus(202, await erase(app, id))
})

test('an erasure placed before the hold’s lift in one call is refused as retryable', async (t) => {
  const app = await sharedApp()
  const { id } = await app.notarize()
  const { appender } = app.deps
  const append = appender.append.bind(appender)
  const kept: (() => void)[] = []
  const keep = t.mock.method(appender, 'append', (...args: Parameters<typeof append>) =>
    ['payload-erased', 'hold-lifted'].includes(args[0].kind)
      ? new Promise((resolve) => kept.push(() => void append(...args).then(resolve)))
      : append(...args),
  ).mock
  const erased = erase(app, id)
  await until(() => kept.length === 1)
  const { seq } = await hold(app, { case: 'c', records: [id] })
  const lifted = lift(app, seq)
  await until(() => kept.length === 2)
  for (const send of kept) send()
  keep.restore()
  const problem = assertProblem(await erased, 409, 'held')
  assert.deepEqual([problem['retryable'], problem['holds']], [true, []], 'it is lifted by now')
  expectStatus(200, await lifted)
  expectStatus(202, await erase(app, id))
  await assertVerifies(app)
})
