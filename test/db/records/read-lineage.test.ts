import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type pg from 'pg'
import { appendEntries, type DocumentRow } from '../../../src/db/chain/append-entries.ts'
import { PARENT_DEPTH_MAX } from '../../../src/db/limits.ts'
import { Depths, listAncestors, listEntriesOfRecord } from '../../../src/db/records/read-lineage.ts'
import type { Uuid } from '../../../src/proof/ids.ts'
import { firstRecordId, recordIdAt } from '../../../src/proof/statement/batch-ids.ts'
import { connect, openTestPool } from '../../helpers/connect.ts'
import { createTestDatabase } from '../../helpers/database.ts'
import {
  createTestLedger,
  makeBatch,
  makeChunks,
  makeEntry,
  makeItem,
  makeRecord,
  outcomesOf,
  randomId,
  type TestEntry,
  type TestLedger,
} from '../../helpers/test-ledger.ts'
import { makeCreation, makeDocument, makeStep } from '../../helpers/test-steps.ts'

const ROUNDS = 40
const PAGE_BYTES = 4 * 1024 * 1024
/** Size in bytes of one round's evidence, compared values and envelopes. A page has space for 32 rounds. */
const ROUND_BYTES = 2 * 65_000
const ROUND_KINDS = ['completion-submitted', 'completion-verified', 'revision-requested'] as const

test('pages of a record’s entries hold as many as fit, each once and in order', async (t) => {
  const { pool, ledger, entries } = await open(t)
  const read = async (limit: number) => {
    const pages: number[][] = []
    for (let afterVersion = 0; ; afterVersion = pages.at(-1)!.at(-1)!) {
      const page = { afterVersion, limit, bytesMax: PAGE_BYTES }
      const rows = await listEntriesOfRecord(pool, ledger.id, entries[0]!.subjectId, page)
      if (rows.length === 0) return pages
      for (const { version, leaf, content } of rows) {
        const entry = entries[version - 1]!
        assert.deepEqual([leaf, content?.toString() ?? null], [entry.leaf, entry.document?.content ?? null])
      }
      pages.push(rows.map(({ version }) => version))
    }
  }
  const versions = entries.map(({ version }) => version)
  const small = await read(50)
  assert.deepEqual(small.flat(), versions)
  assert.ok(small.every(({ length }, i) => length === 50 || i === small.length - 1))
  const large = await read(200)
  assert.deepEqual(large.flat(), versions)
  const rounds = Math.floor(PAGE_BYTES / ROUND_BYTES)
  assert.ok(
    large[0]!.length >= 3 * rounds && large[0]!.length <= 3 * rounds + 4,
    `${large[0]!.length} entries`,
  )
})

test('an entry that is larger than a page is a page of its own', async (t) => {
  const { pool, ledger, entries } = await open(t)
  const page = { afterVersion: 2, limit: 200, bytesMax: 1_000 }
  const rows = await listEntriesOfRecord(pool, ledger.id, entries[0]!.subjectId, page)
  assert.deepEqual(
    rows.map(({ version }) => version),
    [3],
  )
})

test('ancestors are found through records of their own, and through several batches and their chunks', async (t) => {
  const { pool, ledger, appendOwn, appendBatch } = await openLineage(t)
  const first = await appendOwn(null)
  const long = await appendBatch(first, [0, 1, 2, 63, 64, 65, 128])
  const own = await appendOwn(long[0]!)
  const short = await appendBatch(own, [3, 5])
  const last = await appendOwn(short[0]!)
  const above = [...short, own, ...long, first]
  assert.deepEqual(await ancestorsOf(pool, ledger, last), above)
  for (const [i, id] of [last, ...above].entries())
    assert.equal(await depthOf(pool, ledger, id), above.length + 1 - i)
  // Four chunks must be read: one of the short batch and three of the long batch. So with a limit of three chunks, the
  // depth is unknown.
  assert.equal(await depthOf(pool, ledger, last, 3), 'unknown')
  assert.equal(await depthOf(pool, ledger, last, 4), above.length + 1)
  for (const nowhere of [randomId(), firstRecordId(randomId()), recordIdAt(long[0]!, 130)])
    assert.equal(await depthOf(pool, ledger, nowhere), null)
})

test('a circle of parents, forged in the tables, ends at the maximum depth', async (t) => {
  const { pool, ledger, appendOwn, appendBatch, api, owner } = await openLineage(t)
  const own = await appendOwn(null)
  const batch = await appendBatch(own, [0, 1, 2, 3, 64])
  await owner.query('update tallystick.records set parent_id = $1 where record_id = $2', [batch[0], own])
  const circle = [...batch, own]
  const within = firstRecordId(randomId())
  const items = [recordIdAt(within, 1), within].map((parentId) => makeItem({ parentId }))
  await append(api, makeBatch(ledger, items, { chunks: makeChunks(ledger, within, items) }))
  for (const [id, ids] of [
    [own, circle],
    [within, [recordIdAt(within, 1), within]],
  ] as const) {
    const expected = Array.from({ length: PARENT_DEPTH_MAX }, (_, i) => ids[i % ids.length])
    assert.deepEqual(await ancestorsOf(pool, ledger, id), expected)
    assert.equal(await depthOf(pool, ledger, id), PARENT_DEPTH_MAX + 1)
  }
})

async function depthOf(pool: pg.Pool, ledger: TestLedger, recordId: Uuid, chunksMax = PARENT_DEPTH_MAX) {
  return new Depths(pool, ledger.id, chunksMax).find(recordId)
}

async function ancestorsOf(pool: pg.Pool, ledger: TestLedger, recordId: Uuid): Promise<Uuid[]> {
  return (await listAncestors(pool, ledger.id, recordId)).map((record) => record.recordId)
}

/** Opens a ledger. Returns functions that append records with a parent. */
async function openLineage(t: TestContext) {
  const database = await createTestDatabase(t)
  const api = await connect(t, database.apiUrl)
  const owner = await connect(t, database.superuserUrl)
  await owner.query('set session_replication_role = replica')
  const pool = openTestPool(database.apiUrl, { max: 1 })
  t.after(() => pool.end())
  const ledger = await createTestLedger(api)
  return {
    pool,
    ledger,
    api,
    owner,
    async appendOwn(parentId: Uuid | null): Promise<Uuid> {
      const recordId = randomId()
      await append(
        api,
        makeEntry(ledger, { subjectId: recordId, records: [makeRecord(recordId, { parentId })] }),
      )
      return recordId
    },
    /**
     * Appends a batch of 130 records. The records at `places` form one line of descent: the first is a child of
     * `parentId`, each later one is a child of the previous one. Returns the ids of this line, the lowest descendant
     * first.
     */
    async appendBatch(parentId: Uuid, places: readonly number[]): Promise<Uuid[]> {
      const first = firstRecordId(randomId())
      const ids = places.map((place) => recordIdAt(first, place))
      const parents = new Map(places.map((place, i) => [place, i === 0 ? parentId : ids[i - 1]!]))
      const items = Array.from({ length: 130 }, (_, i) => makeItem({ parentId: parents.get(i) ?? null }))
      await append(api, makeBatch(ledger, items, { chunks: makeChunks(ledger, first, items) }))
      return ids.reverse()
    },
  }
}

async function append(client: pg.ClientBase, entry: TestEntry): Promise<void> {
  assert.deepEqual(outcomesOf(await appendEntries(client, [entry])), ['appended'])
}

async function open(t: TestContext) {
  const database = await createTestDatabase(t)
  const worker = await connect(t, database.workerUrl)
  const pool = openTestPool(database.apiUrl, { max: 1 })
  t.after(() => pool.end())
  const ledger = await createTestLedger(worker)
  const entries: TestEntry[] = []
  const append = async (entry: TestEntry) => {
    assert.equal((await appendEntries(worker, [entry]))[0]!.outcome, 'appended')
    entries.push(entry)
  }
  await append(makeCreation(ledger, { maxRevisions: ROUNDS }))
  await append(makeStep(ledger, entries.at(-1)!, 'record-activated'))
  for (let round = 0; round < ROUNDS; round++) {
    for (const kind of ROUND_KINDS) {
      const document = kind === 'revision-requested' ? undefined : large(kind)
      await append(makeStep(ledger, entries.at(-1)!, kind, { document }))
    }
  }
  return { pool, ledger, entries }
}

function large(kind: 'completion-submitted' | 'completion-verified'): DocumentRow {
  const name = kind === 'completion-submitted' ? 'evidence' : 'values'
  return { ...makeDocument(name, randomId()), content: `{"text":"${'x'.repeat(64_989)}"}` }
}
