import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import type { EntryRow } from '../../../src/db/chain/append-entries.ts'
import { withClient } from '../../../src/db/connect/client.ts'
import { watchErasures } from '../../../src/followers/checkpoints/metrics.ts'
import { ERASURE_REFUSED_PAUSE_MS, ERASURES_PER_CALL } from '../../../src/followers/limits.ts'
import type { NewLedger } from '../../../src/ledgers/create-ledger.ts'
import { Metrics } from '../../../src/observe/metrics/metrics.ts'
import type { Signer } from '../../../src/proof/crypto.ts'
import { parseId } from '../../../src/proof/ids.ts'
import { makeEd25519Signer, nativeProviders } from '../../../src/signing/native.ts'
import { expectStatus, genericBody, type TestApp } from '../../helpers/app.ts'
import { listStoredRecords } from '../../helpers/batch-records.ts'
import { checkAllLedgers } from '../../helpers/check-ledger.ts'
import { eraseInDatabase } from '../../helpers/erase-documents.ts'
import { openEraser, takenAway } from '../../helpers/eraser.ts'
import { appendAsApi, envelopeAt, signErasure, withEnvelope } from '../../helpers/forged-erasures.ts'
import { lendApp } from '../../helpers/lent-app.ts'
import { until } from '../../helpers/wait.ts'

type Notarized = { readonly id: string; readonly digest: string; readonly entry: { readonly seq: number } }

test('removes all erased documents of every ledger, page by page, and nothing else', async (t) => {
  const app = await lendApp(t)
  const eraser = openEraser(t, app)
  const ledgers = [app.ledger, await app.newLedger(), await app.newLedger()]
  const erased: string[] = []
  for (const ledger of ledgers) {
    const { key } = ledger.key
    const records = Array.from({ length: ERASURES_PER_CALL / 2 + 1 }, (_, n) => genericBody({ n }))
    const batch = await app.send('POST', '/v1/records/batch', { body: { records }, key })
    const ids = batch.json().records.map((one: { id: string }) => one.id) as string[]
    await app.notarize(genericBody(), { key })
    await Promise.all(ids.slice(1).map((id) => erase(app, id, ledger)))
    erased.push(...ids.slice(1))
  }
  await eraser.run()
  assert.equal(erased.length, 1.5 * ERASURES_PER_CALL)
  assert.equal(takenAway(eraser.logged), erased.length)
  assert.deepEqual(await storedOf(app, erased), [])
  const [{ left }] = (await app.sql<{ left: number }>(
    'select count(payload)::int as left from tallystick.records where salt is not null',
  )) as [{ left: number }]
  const items = await listStoredRecords({ sql: app.sql })
  assert.equal(left + items.filter(({ payload }) => payload !== null).length, 2 * ledgers.length)
  assert.equal(await pendingOf(app), 0)
  await withClient(app.database.superuserUrl, checkAllLedgers)
})

test('two workers at once remove each erased document once', async (t) => {
  const app = await lendApp(t)
  const workers = [openEraser(t, app), openEraser(t, app)]
  const records = await Promise.all(Array.from({ length: 20 }, () => app.notarize()))
  await Promise.all(records.map(({ id }) => erase(app, id)))
  await Promise.all(workers.map((worker) => worker.run()))
  const logged = workers.flatMap((worker) => worker.logged)
  assert.deepEqual([takenAway(logged), logged.every(({ level }) => level === 'info')], [20, true])
  assert.equal(await pendingOf(app), 0)
})

test('erasures that the signed statement does not support', async (t) => {
  const app = await lendApp(t)
  let nowMs = 1_000_000
  const eraser = openEraser(t, app, () => nowMs)
  const elsewhere = await app.newLedger()
  const server = await app.deps.signers.load()
  const thief = makeEd25519Signer(nativeProviders.sha256, randomBytes(32))
  const make = () => app.notarize() as Promise<Notarized>
  const other = await make()
  const otherErasure = await erase(app, other.id)

  const forgeries: [string, (record: Notarized) => Promise<EntryRow> | EntryRow][] = [
    ['whose envelope is noise', (r) => withEnvelope(entryOf(app, server, r), randomBytes(300))],
    ['signed with another key', (r) => ({ ...entryOf(app, thief, r), kid: server.kid })],
    [
      'whose statement was changed',
      (r) => withEnvelope(entryOf(app, server, r), flipped(entryOf(app, server, r))),
    ],
    [
      'whose envelope is that of another record’s erasure',
      async (r) => withEnvelope(entryOf(app, server, r), await envelopeAt(app, otherErasure.entry.seq)),
    ],
    [
      'whose envelope is the record’s own',
      async (r) => withEnvelope(entryOf(app, server, r), await envelopeAt(app, r.entry.seq)),
    ],
    ['whose row names another entry', (r) => atEntryBefore(app, server, r, r.entry.seq)],
    ['that names another entry in row and statement', (r) => atEntryBefore(app, server, r, r.entry.seq - 1)],
    ['of another ledger', (r) => entryOf(app, server, r, { author: elsewhere })],
    ['that names another entry', (r) => entryOf(app, server, r, { seq: r.entry.seq + 1 })],
    ['that names another digest', (r) => entryOf(app, server, r, { digest: other.digest })],
    [
      'of a record that is nowhere',
      (r) => ({ ...entryOf(app, server, r), subjectId: app.deps.entropy.uuidv7(0) }),
    ],
  ]
  const targets: string[] = []
  for (const [what, forge] of forgeries) {
    await t.test(`an erasure ${what} is refused and logged once`, async () => {
      const record = await make()
      targets.push(record.id)
      const seq = await appendAsApi(app, await forge(record))
      const before = eraser.logged.length
      await eraser.run()
      const said = eraser.logged.slice(before).filter((line) => line.seq === seq)
      assert.deepEqual(
        said.map(({ level, err }) => [level, err?.name]),
        [['error', 'ProofError']],
      )
      await eraser.run()
      nowMs += ERASURE_REFUSED_PAUSE_MS
      await eraser.run()
      assert.equal(eraser.logged.filter((line) => line.seq === seq).length, 1)
      assert.equal((await storedOf(app, [record.id])).length, 1)
    })
  }

  await t.test('refused erasures delay no other erasure', async () => {
    const record = await make()
    const { entry } = await erase(app, record.id)
    await eraser.run()
    assert.deepEqual(eraser.logged.at(-1), { ...eraser.logged.at(-1), level: 'info', seq: entry.seq })
    assert.deepEqual(await storedOf(app, [other.id, record.id]), [])
    assert.equal((await storedOf(app, targets)).length, forgeries.length)
    assert.deepEqual([eraser.refused.count, await pendingOf(app)], [forgeries.length, forgeries.length])
  })

  await t.test(
    'a record with a refused erasure is shown without document and reason; lists still work',
    async () => {
      const shown = expectStatus(200, await app.send('GET', `/v1/records/${targets[0]}`)).json()
      assert.deepEqual([shown.payload, shown.salt, shown.erasure.code], [null, null, null])
      const second = expectStatus(200, await app.send('GET', `/v1/records/${targets[4]}`)).json()
      assert.equal(second.erasure.code, null, 'the envelope is no erasure')
    },
  )
})

test('refuses an erasure row that names an entry of another kind', async (t) => {
  const app = await lendApp(t)
  const eraser = openEraser(t, app)
  const record = (await app.notarize()) as Notarized
  const { entry } = (await app.notarize()) as Notarized
  await app.sql(
    `insert into tallystick.erasures (ledger_id, subject_id, document, document_seq, seq)
     select ledger_id, record_id, 'payload', first_seq, ${entry.seq} from tallystick.records
     where first_seq = ${record.entry.seq}`,
  )
  await eraser.run()
  assert.match(eraser.logged[0]!.err!.message, /named as the erasure is record-notarized, not payload-erased/)
  assert.equal((await storedOf(app, [record.id])).length, 1)
})

test('an erasure that fails is tried again after a pause', async (t) => {
  const app = await lendApp(t)
  let nowMs = 1_000_000
  const eraser = openEraser(t, app, () => nowMs)
  const [stuck, other] = [await app.notarize(), await app.notarize()]
  await app.sql(`create function in_the_way() returns trigger language plpgsql as
    $$ begin raise exception 'no' using errcode = 'check_violation'; end $$`)
  await app.sql(`create trigger in_the_way before update on tallystick.records for each row
    when (old.digest = '\\x${stuck.digest}') execute function in_the_way()`)
  await erase(app, stuck.id)
  await erase(app, other.id)
  await eraser.run()
  assert.deepEqual((await storedOf(app, [stuck.id, other.id])).length, 1)
  assert.deepEqual(
    eraser.logged.map(({ level }) => level),
    ['error', 'info'],
  )

  await app.sql('drop trigger in_the_way on tallystick.records')
  await eraser.run()
  assert.equal((await storedOf(app, [stuck.id])).length, 1, 'not in a hot loop')
  nowMs += ERASURE_REFUSED_PAUSE_MS
  await eraser.run()
  assert.deepEqual(await storedOf(app, [stuck.id]), [])
  assert.equal(eraser.refused.count, 0)
})

test('a connection that breaks during an erasure leaves the document complete and pending, not refused', async (t) => {
  const app = await lendApp(t)
  const eraser = openEraser(t, app)
  const headers = { 'idempotency-key': 'one' }
  const record = await app.notarize(genericBody(), { headers })
  await erase(app, record.id)
  await withClient(app.database.superuserUrl, async (holder) => {
    await holder.query('begin; select from tallystick.records for update')
    const running = eraser.run()
    running.catch(() => {})
    // When its connection is killed, the worker has marked the erasure as carried out and waits for the record's row.
    await until(async () => (await app.sql(`select ${KILL} from pg_stat_activity where ${WAITS}`)).length > 0)
    await assert.rejects(running, /terminat/)
    await holder.query('rollback')
  })
  assert.deepEqual([eraser.logged, eraser.refused.count], [[], 0])
  assert.deepEqual([(await storedOf(app, [record.id])).length, await pendingOf(app)], [1, 1])
  assert.equal((await app.sql('select from tallystick.idempotency_keys where salt is null')).length, 0)
  await eraser.run()
  assert.deepEqual([(await storedOf(app, [record.id])).length, await pendingOf(app)], [0, 0])
})

const KILL = 'pg_terminate_backend(pid)'
const WAITS = "datname = current_database() and usename = 'tallystick_worker' and wait_event_type = 'Lock'"

test('only the worker’s login can remove a document, and only one that an entry erased', async (t) => {
  const app = await lendApp(t)
  const eraser = openEraser(t, app)
  const record = await app.notarize()
  const ledger = app.deps.entropy.uuidv7(0)
  await assert.rejects(eraseInDatabase(app.deps.readPool, ledger, [record.entry.seq]), /permission denied/)
  assert.equal(await eraseInDatabase(eraser.pool, ledger, [record.entry.seq]), 0)
  for (const login of [app.deps.readPool, eraser.pool]) {
    await assert.rejects(login.query('update tallystick.records set payload = null'), /permission denied/)
    await assert.rejects(login.query('delete from tallystick.erasures'), /permission denied/)
  }
})

test('metrics count pending and refused erasures', async (t) => {
  const app = await lendApp(t)
  const eraser = openEraser(t, app)
  const metrics = new Metrics()
  watchErasures(metrics, eraser.pool, eraser.refused)
  const read = async () => {
    const text = await metrics.registry.metrics()
    return ['pending', 'refused'].map(
      (name) => text.match(new RegExp(`^tallystick_erasures_${name} (\\d+)$`, 'm'))?.[1],
    )
  }
  const [record, other] = [await app.notarize(), await app.notarize()]
  await erase(app, record.id)
  const server = await app.deps.signers.load()
  await appendAsApi(app, withEnvelope(entryOf(app, server, other), randomBytes(300)))
  assert.deepEqual(await read(), ['2', '0'])
  await eraser.run()
  assert.deepEqual(await read(), ['1', '1'])
})

async function erase(app: TestApp, id: string, ledger: NewLedger = app.ledger) {
  const url = `/v1/records/${id}/payload`
  const answer = await app.send('DELETE', url, { key: ledger.key.key, body: { code: 'expired' } })
  return expectStatus(202, answer).json().erasure as { entry: { seq: number } }
}

/** Signs an erasure as the API's route does. `said`: values that replace those of the route. */
function entryOf(
  app: TestApp,
  signer: Signer,
  record: Notarized,
  said: { author?: NewLedger; seq?: number; digest?: string } = {},
): EntryRow {
  const { id, digest, entry } = record
  return signErasure(app, signer, {
    row: { document: 'payload', subjectId: parseId('rec', id), documentSeq: entry.seq },
    signed: { subject: id, digest: said.digest ?? digest, seq: said.seq ?? entry.seq },
    ...(said.author && { author: said.author }),
  })
}

/** Signs an erasure whose row names the entry before the record's entry. */
function atEntryBefore(
  app: TestApp,
  signer: Signer,
  { id, digest, entry }: Notarized,
  seq: number,
): EntryRow {
  return signErasure(app, signer, {
    row: { document: 'payload', subjectId: parseId('rec', id), documentSeq: entry.seq - 1 },
    signed: { subject: id, digest, seq },
  })
}

function flipped({ envelope }: EntryRow): Buffer {
  const bytes = Buffer.from(envelope)
  const at = bytes.indexOf('expired')
  bytes.write('expires', at)
  return bytes
}

async function storedOf(app: TestApp, ids: readonly string[]): Promise<unknown[]> {
  const wanted = ids.map((id) => parseId('rec', id))
  const rows = await app.sql(
    'select record_id from tallystick.records where payload is not null and record_id = any ($1)',
    [wanted],
  )
  const items = await listStoredRecords({ sql: app.sql })
  return [...rows, ...items.filter(({ recordId, payload }) => payload !== null && wanted.includes(recordId))]
}

async function pendingOf(app: TestApp): Promise<number> {
  const rows = await app.sql('select from tallystick.erasures where erased_at is null')
  return rows.length
}
