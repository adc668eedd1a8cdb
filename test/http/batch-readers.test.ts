import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { parseEntryProof } from '../../src/proof/offline/entry-proof.ts'
import { verifyProof } from '../../src/proof/offline/verify-proof.ts'
import { verifyRecord } from '../../src/proof/offline/verify-record.ts'
import { nativeProviders } from '../../src/signing/native.ts'
import { database } from '../../src/verify/database.ts'
import { formatReport } from '../../src/verify/report.ts'
import { verifyLedger } from '../../src/verify/verify-ledger.ts'
import { expectStatus, type TestApp } from '../helpers/app.ts'
import { makePublish } from '../helpers/checkpoints.ts'
import { openEraser, takenAway } from '../helpers/eraser.ts'
import { allEvents } from '../helpers/event-ledger.ts'
import { addAgent } from '../helpers/more-keys.ts'
import { runs } from '../helpers/runs.ts'
import { shareApp } from '../helpers/shared-app.ts'

/*
 * Compares random batches, as every reader shows them, with what was sent. Two workers erase some records concurrently.
 * After that no reader may show the erased content, and the ledger must verify.
 */

/** The test uses a separate application, because it publishes checkpoints of all the application's ledgers. */
const publishedApp = shareApp()

type Sent = {
  readonly type: string
  readonly payload: object
  readonly metadata?: object
  readonly occurredAt?: string
  readonly onBehalfOf?: string
  readonly parent?: string | number
  readonly references?: string[]
  readonly traceparent?: string
}

// biome-ignore lint/suspicious/noExplicitAny: the shape is what the test asserts
type Shown = any

const traceOf = (n: number) => `${n}`.repeat(32)

function arbitraryBatch(agent: string, parent: string): fc.Arbitrary<Sent[]> {
  const item = fc.record(
    {
      type: fc.constantFrom('generic/1', 'generic/1'),
      payload: fc.dictionary(fc.stringMatching(/^[a-zé]{1,8}$/), fc.jsonValue({ maxDepth: 1 }), {
        maxKeys: 4,
      }),
      metadata: fc.constant({ run: 7 }),
      occurredAt: fc.constantFrom('2026-11-20T12:00:00.000Z', '1969-12-31T23:59:59.999Z'),
      onBehalfOf: fc.constant(agent),
      parent: fc.constantFrom<string | number>(parent, 0),
      references: fc.subarray(['erp:1', 'erp:2', 'ü'], { minLength: 1 }),
      traceparent: fc.nat(2).map((n) => `00-${traceOf(n + 1)}-${'cd'.repeat(8)}-01`),
    },
    { requiredKeys: ['type', 'payload'] },
  )
  return fc
    .array(item, { minLength: 1, maxLength: 150 })
    .map(([first, ...items]) => [{ ...first!, ...(first!.parent === 0 && { parent }) }, ...items])
}

test('every reader shows the records of a batch', async (t) => {
  const app = await publishedApp()
  const publish = await makePublish(t, app)
  const agent = await addAgent(app, 'somebody')
  const parent = (await app.notarize()).id
  const { keys } = (await app.send('GET', '/.well-known/tallystick-keys.json')).json()
  const { noteVerifierKey } = (await app.send('GET', '/v1/ledger')).json()
  const trust = { kids: [keys[0].kid], noteKey: noteVerifierKey, storedCheckpoints: [], consistency: null }
  let key = 0

  await fc.assert(
    fc.asyncProperty(arbitraryBatch(agent, parent), fc.infiniteStream(fc.nat()), async (sent, numbers) => {
      const post = { body: { records: sent }, headers: { 'idempotency-key': `batch-${key++}` } }
      const answer = expectStatus(201, await app.send('POST', '/v1/records/batch', post))
      const { records, entry, batch } = answer.json()
      const ids: string[] = records.map(({ id }: Shown) => id)
      const expected = sent.map((one, i) => modelOf(one, ids, i, batch))
      await publish()

      const one = numbers.next().value! % sent.length
      const shown = expectStatus(200, await app.send('GET', `/v1/records/${ids[one]}`))
      assert.deepEqual(pick(shown.json()), expected[one])
      const proof = expectStatus(200, await app.send('GET', `/v1/records/${ids[one]}/proof`)).body
      const verified = verifyProof(parseEntryProof(proof), trust, nativeProviders)
      verifyRecord(shown.body, verified, nativeProviders)

      const listed = await listAll(app, 'order=asc&limit=200')
      assert.deepEqual(listed.filter((r) => r.batch === batch).map(pick), expected)
      const byReference = await listAll(app, 'order=asc&limit=7&reference=erp:1')
      const matching = expected.filter((r) => r.references?.includes('erp:1'))
      assert.deepEqual(byReference.filter((r) => r.batch === batch).map(pick), matching)
      const byTrace = await listAll(app, `order=asc&limit=200&traceId=${traceOf(1)}`)
      const traced = ids.filter((_, i) => sent[i]!.traceparent?.includes(traceOf(1)))
      assert.deepEqual(
        byTrace.filter((r) => r.batch === batch).map(({ id }) => id),
        traced,
      )

      const [line] = await app.entries(`?after=${entry.seq - 1}&limit=1`)
      assert.deepEqual(
        line.documents.map((d: Shown) => d.document),
        expected.map(({ payload }) => payload),
      )
      assert.deepEqual(
        line.items.map(({ record }: Shown) => record),
        ids,
      )
      assert.deepEqual(
        line.documents.map((d: Shown) => d.references ?? null),
        expected.map((r) => r.references),
      )
      const told = (await allEvents(app)).find(({ data }: Shown) => data.entry?.seq === entry.seq)
      assert.deepEqual(told.data.batch.types, { 'generic/1': sent.length })
      const replayed = await app.send('POST', '/v1/records/batch', post)
      assert.deepEqual([replayed.statusCode, replayed.json()], [201, answer.json()])
    }),
    { numRuns: runs(25), endOnFailure: true },
  )
  const report = await verifyLedger(database(app.database.ownerUrl, app.ledger.ledger.id), { threads: 0 })
  assert.ok(report.ok, formatReport(report))
})

test('after two workers erased records of one chunk at once, no reader shows them', async (t) => {
  const app = await publishedApp()
  const body = {
    records: Array.from({ length: 70 }, (_, i) => ({
      type: 'generic/1',
      payload: { secret: `s${i}` },
      metadata: { secret: i },
      references: ['shared', `own:${i}`],
    })),
  }
  const { records, entry } = (await app.send('POST', '/v1/records/batch', { body })).json()
  const ids: string[] = records.map(({ id }: Shown) => id)
  const erased = new Set(ids.filter((_, i) => i % 3 === 0))
  const exporting = app.send('GET', '/v1/export')
  await Promise.all(
    [...erased].map((id) => app.send('DELETE', `/v1/records/${id}/payload`, { body: { code: 'expired' } })),
  )
  const workers = [openEraser(t, app), openEraser(t, app)]
  await Promise.all(workers.map((worker) => worker.run()))
  const logged = workers.flatMap((worker) => worker.logged)
  assert.deepEqual(
    logged.filter(({ level }) => level === 'error'),
    [],
  )
  assert.equal(takenAway(logged), erased.size)
  assert.equal((await exporting).statusCode, 200)

  const [line] = await app.entries(`?after=${entry.seq - 1}&limit=1`)
  for (const [i, { document, salt, references = null, erasedBy }] of line.documents.entries()) {
    const isErased = erased.has(ids[i]!)
    assert.deepEqual(
      [document === null, salt === null, references === null, erasedBy !== null],
      Array(4).fill(isErased),
    )
  }
  const shared = await listAll(app, 'reference=shared&limit=200&order=asc')
  assert.deepEqual(
    shared.map(({ id }) => id),
    ids.filter((id) => !erased.has(id)),
  )
  assert.deepEqual(await listAll(app, 'reference=own:3'), [])
  assert.equal((await listAll(app, 'reference=own:4')).length, 1)
  const stored = await app.sql<{ key: string }>(
    "select convert_from(key, 'UTF8') as key from tallystick.batch_keys where ledger_id = $1 and get_byte(key, 0) = ascii('R') and seq = $2",
    [app.ledgerId, entry.seq],
  )
  assert.equal(stored.filter(({ key }) => key !== 'Rshared').length, 70 - erased.size)
  for (const id of [...erased].slice(0, 3)) {
    const { payload, salt, metadata, erasure } = (await app.send('GET', `/v1/records/${id}`)).json()
    assert.deepEqual([payload, salt, metadata, erasure.code], [null, null, null, 'expired'])
  }
  const report = await verifyLedger(database(app.database.ownerUrl, app.ledger.ledger.id), { threads: 0 })
  assert.ok(report.ok, formatReport(report))
})

function modelOf(one: Sent, ids: readonly string[], i: number, batch: string) {
  return {
    id: ids[i]!,
    type: one.type,
    state: 'RECORDED',
    batch,
    payload: JSON.parse(JSON.stringify(one.payload)),
    metadata: one.metadata ?? null,
    occurredAt: one.occurredAt ?? null,
    onBehalfOf: one.onBehalfOf ?? null,
    parent: typeof one.parent === 'number' ? ids[one.parent]! : (one.parent ?? null),
    references: one.references ?? null,
  }
}

function pick({
  id,
  type,
  state,
  batch,
  payload,
  metadata,
  occurredAt,
  onBehalfOf,
  parent,
  references,
}: Shown) {
  return { id, type, state, batch, payload, metadata, occurredAt, onBehalfOf, parent, references }
}

async function listAll(app: TestApp, query: string): Promise<Shown[]> {
  const found: Shown[] = []
  for (let cursor: string | null = ''; cursor !== null; ) {
    const page: Shown = expectStatus(
      200,
      await app.send('GET', `/v1/records?${query}${cursor && `&cursor=${cursor}`}`),
    ).json()
    found.push(...page.data)
    cursor = page.nextCursor
  }
  return found
}
