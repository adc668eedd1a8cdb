import assert from 'node:assert/strict'
import { test } from 'node:test'
import { buildTestApp, expectStatus, genericBody, type TestApp } from '../helpers/app.ts'
import { assertProblem } from '../helpers/assert-problem.ts'
import { unguarded } from '../helpers/checkpoints.ts'
import { openEraser } from '../helpers/eraser.ts'
import { buildGatedApp } from '../helpers/gated-app.ts'
import { addKey } from '../helpers/more-keys.ts'
import { openEnvelope } from '../helpers/open-envelope.ts'
import { sharedApp } from '../helpers/shared-app.ts'
import { assertVerifies } from '../helpers/verify-app.ts'

const LABEL = 'ada.lovelace@example.com'
const post = (app: TestApp, url: string, body: object) => app.send('POST', url, { body })
const find = async (app: TestApp, subject = LABEL, more: object = {}) =>
  expectStatus(200, await post(app, '/v1/subjects/find', { subject, ...more })).json()
const erase = async (app: TestApp, more: object = {}) =>
  expectStatus(
    200,
    await post(app, '/v1/subjects/erase', { subject: LABEL, code: 'data_subject_request', ...more }),
  ).json()

async function batchOf(app: TestApp, items: readonly object[]): Promise<string[]> {
  const records = items.map((item, n) => ({ ...genericBody({ n }), ...item }))
  const answer = expectStatus(201, await post(app, '/v1/records/batch', { records })).json()
  return answer.records.map(({ id }: { id: string }) => id)
}

test('one request finds all documents of a person, and another erases them, with a signed receipt', async (t) => {
  const app = await sharedApp()
  const other = { ...app, ...(await app.newLedger()) }
  const eraser = openEraser(t, app)
  const { id } = await app.notarize({ ...genericBody(), subject: LABEL, references: ['crm:1'] })
  const kept = await app.notarize({ ...genericBody(), subject: 'somebody else' })
  const items = await batchOf(app, [
    {},
    { subject: LABEL },
    { subject: LABEL, metadata: { m: 1 } },
    { subject: 'other' },
  ])
  const span = {
    traceId: '0af7651916cd43dd8448eb211c80319c',
    spanId: 'b7ad6b7169203331',
    name: 'gen_ai.chat',
    attributes: [{ key: 'tallystick.subject', value: { stringValue: LABEL } }],
  }
  const traces = { resourceSpans: [{ scopeSpans: [{ spans: [span] }] }] }
  expectStatus(200, await post(app, '/v1/traces', traces))
  const theirs = await app.notarize({ ...genericBody(), subject: LABEL }, { key: other.key.key })

  const { data, nextCursor } = await find(app)
  assert.equal(nextCursor, null)
  assert.deepEqual(
    data.slice(0, 3).map(({ record }: { record: string }) => record),
    [id, items[1], items[2]],
  )
  assert.equal(data.length, 4)
  assert.deepEqual(
    data[1].documents.map(({ document }: { document: string }) => document),
    ['payload'],
  )

  const { seq } = expectStatus(201, await post(app, '/v1/holds', { case: '7', records: [items[2]] })).json()
  const receipt = await erase(app, { reason: 'ticket 1' })
  assert.deepEqual(
    receipt.held.map((one: Record<string, unknown>) => [one['record'], one['case'], one['document']]),
    [[items[2], '7', 'payload']],
  )
  assert.equal(receipt.erased.length, 3)
  const [line] = await app.entries(`?after=${receipt.entry.seq - 1}`)
  const { keys } = (await app.send('GET', '/.well-known/tallystick-keys.json')).json()
  const { statement } = openEnvelope(line.envelope, keys)
  const { code, erased, held } = statement.predicate
  assert.deepEqual(
    [line.kind, code, erased, held],
    ['subject-erased', 'data_subject_request', receipt.erased, 1],
  )
  assert.equal((await app.send('GET', `/v1/records/${id}`)).json().payload, null)
  assert.ok((await app.send('GET', `/v1/records/${kept.id}`)).json().payload)
  assert.deepEqual((await find(app)).data.length, 1, 'the held one')

  expectStatus(200, await post(app, `/v1/holds/${seq}/lift`, {}))
  assert.equal((await erase(app)).erased.length, 1)
  await eraser.run()
  assert.deepEqual(
    // Only errors of this ledger count, because other tests damage chunks of their own ledgers.
    eraser.logged.filter(({ level, ledger }) => level === 'error' && ledger === app.ledger.ledger.id),
    [],
  )
  const left = await app.sql(
    `select 1 from tallystick.records where ledger_id = $1 and subject is not null
     union all select 1 from tallystick.batch_keys where ledger_id = $1 and get_byte(key, 0) = 83`,
    [app.ledgerId],
  )
  assert.equal(left.length, 2, 'those of the other two persons')
  assert.deepEqual([(await find(app)).data, (await erase(app)).erased], [[], []])
  await assertVerifies(app)
  const shown = await app.send('GET', `/v1/records/${theirs.id}`, { key: other.key.key })
  assert.ok(shown.json().payload, 'another ledger has the same label, and another hash')
  await assertVerifies(app, other.ledger.id)
})

test('the label is stored nowhere in the clear, nor signed, and its hash differs from ledger to ledger', async (t) => {
  const app = await buildTestApp(t)
  const other = await app.newLedger()
  await app.notarize({ ...genericBody(), subject: LABEL }, { headers: { 'idempotency-key': 'k' } })
  await batchOf(app, [{ subject: LABEL }])
  await app.notarize({ ...genericBody(), subject: LABEL }, { key: other.key.key })
  const tables = await app.sql<{ name: string }>(
    `select table_name as name from information_schema.tables where table_schema = 'tallystick' and table_type = 'BASE TABLE'`,
  )
  const hex = Buffer.from(LABEL).toString('hex')
  for (const { name } of tables) {
    const found = await app.sql(`select from tallystick.${name} t where t::text like $1 or t::text like $2`, [
      `%${hex}%`,
      `%${LABEL}%`,
    ])
    assert.equal(found.length, 0, name)
  }
  const hashes = await app.sql<{ hash: string }>(
    `select encode(subject, 'hex') as hash from tallystick.records where subject is not null
     union all select encode(substr(key, 2, 16), 'hex') from tallystick.batch_keys where get_byte(key, 0) = 83`,
  )
  assert.deepEqual([hashes.length, new Set(hashes.map(({ hash }) => hash)).size], [3, 2])
  const [{ hash }] = hashes as [{ hash: string }]
  const envelopes = await app.sql<{ envelope: string }>(
    `select encode(envelope, 'hex') as envelope from tallystick.entries`,
  )
  const asText = Buffer.from(hash).toString('hex')
  for (const { envelope } of envelopes) assert.ok(!envelope.includes(hash) && !envelope.includes(asText))
  assert.ok(!app.logs().includes(LABEL))
})

test('erases at most 1,000 documents per request, and the rest from nextCursor on', async () => {
  const app = await sharedApp()
  await batchOf(
    app,
    Array.from({ length: 1_030 }, () => ({ subject: LABEL })),
  )
  const pages = [await find(app)]
  pages.push(await find(app, LABEL, { cursor: pages[0].nextCursor }))
  assert.deepEqual(
    pages.map(({ data }) => data.length),
    [50, 50],
  )
  assert.notEqual(pages[0].data[49].record, pages[1].data[0].record)
  const first = await erase(app)
  assert.equal(first.erased.length, 1_000)
  const second = await erase(app, { cursor: first.nextCursor })
  assert.deepEqual([second.erased.length, second.nextCursor], [30, null])
  await assertVerifies(app)
})

test('after a failed erasure the receipt names the erased documents, and the next request continues', async (t) => {
  const app = await sharedApp()
  await batchOf(
    app,
    Array.from({ length: 60 }, () => ({ subject: LABEL })),
  )
  const { appender } = app.deps
  const append = appender.append.bind(appender)
  let [sent, refusedFrom] = [0, 53]
  t.mock.method(appender, 'append', (...args: Parameters<typeof append>) => {
    if (args[0].kind !== 'payload-erased' || ++sent !== refusedFrom) return append(...args)
    return Promise.resolve({ status: 'overloaded', retryAfterMs: 1 })
  })
  const first = await erase(app)
  const [line] = await app.entries(`?after=${first.entry.seq - 1}`)
  assert.equal(line.kind, 'subject-erased')
  const all = await app.sql('select seq::int from tallystick.erasures where ledger_id = $1 order by seq', [
    app.ledgerId,
  ])
  assert.deepEqual(
    first.erased,
    all.map(({ seq }) => seq),
    'each erasure is named, and none goes on',
  )
  assert.ok(all.length >= 52 && all.length < 60)
  const second = await erase(app, { cursor: first.nextCursor })
  assert.deepEqual([first.erased.length + second.erased.length, second.nextCursor], [60, null])

  await app.notarize({ ...genericBody(), subject: LABEL })
  refusedFrom = sent + 1
  const body = { subject: LABEL, code: 'x' }
  assertProblem(await post(app, '/v1/subjects/erase', body), 503, 'overloaded')
  await assertVerifies(app)
})

test('find and erase refuse keys without their scopes, and malformed labels', async () => {
  const app = await sharedApp()
  const reader = await addKey(app, { scopes: ['records:read'] })
  const body = { subject: LABEL, code: 'x' }
  expectStatus(200, await app.send('POST', '/v1/subjects/find', { key: reader, body: { subject: LABEL } }))
  const refused = await app.send('POST', '/v1/subjects/erase', { key: reader, body })
  assert.equal(assertProblem(refused, 403, 'forbidden')['scope'], 'payloads:erase')
  for (const subject of ['', 'a\nb', 'x'.repeat(257), 7])
    assertProblem(await post(app, '/v1/subjects/find', { subject }), 422, 'invalid_request')
  const cursor = Buffer.from('[1]').toString('base64url')
  assertProblem(await post(app, '/v1/subjects/find', { subject: LABEL, cursor }), 422, 'invalid_request')
})

test('a label still finds a gated record after its payload is erased, until no document is left', async (t) => {
  const app = await buildGatedApp(t)
  const eraser = openEraser(t, app)
  const { id } = await app.reach('ACCEPTED', { subject: LABEL })
  const url = `/v1/records/${id}/payload`
  expectStatus(202, await app.send('DELETE', url, { body: { code: 'data_subject_request' } }))
  await eraser.run()
  const { data } = await find(app)
  assert.deepEqual(
    data.map(({ record, documents }: { record: string; documents: unknown[] }) => [record, documents.length]),
    [[id, 2]],
  )
  assert.equal((await erase(app)).erased.length, 2)
  await eraser.run()
  await eraser.run()
  const left = await app.sql('select from tallystick.records where subject is not null')
  assert.equal(left.length, 0, 'the label goes with the last document')
  await assertVerifies(app)
})

test('the eraser does not remove a record’s label while its ledger is moved', async (t) => {
  const app = await buildGatedApp(t)
  const eraser = openEraser(t, app)
  await app.reach('ACCEPTED', { subject: LABEL })
  const labels = () => app.sql('select subject from tallystick.records where subject is not null')
  const [before] = await labels()
  await erase(app)
  await eraser.run()
  assert.deepEqual(await labels(), [])
  await unguarded(app, `update tallystick.records set subject = '\\x${before!['subject'].toString('hex')}'`)
  await unguarded(app, "update tallystick.chain_heads set closed = 'moving'")
  await eraser.run()
  assert.deepEqual(await labels(), [before])
  await unguarded(app, 'update tallystick.chain_heads set closed = null')
  await eraser.run()
  assert.deepEqual(await labels(), [])
})

test('erases a record’s payload after its other documents, and lists held documents with their case', async (t) => {
  const app = await buildGatedApp(t)
  const { id } = await app.reach('ACCEPTED', { subject: LABEL })
  const held = await app.reach('ACCEPTED', { subject: LABEL })
  expectStatus(201, await post(app, '/v1/holds', { case: '7', records: [held.id] }))
  const receipt = await erase(app)
  assert.deepEqual(
    receipt.held.map(({ record, case: of }: { record: string; case: string }) => [record, of]),
    [1, 2, 3].map(() => [held.id, '7']),
  )
  const { keys } = (await app.send('GET', '/.well-known/tallystick-keys.json')).json()
  const lines = await app.entries(`?after=${receipt.erased[0] - 1}&limit=3`)
  const names = lines.map(({ envelope }) => openEnvelope(envelope, keys).statement.subject[0].name as string)
  assert.equal(names.at(-1), id)
})
