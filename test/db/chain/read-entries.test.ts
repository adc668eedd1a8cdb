import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import type pg from 'pg'
import { appendEntries } from '../../../src/db/chain/append-entries.ts'
import { readEntries } from '../../../src/db/chain/read-entries.ts'
import type { ChunkDocument, ChunkRecord } from '../../../src/db/chunks/chunk-content.ts'
import { STREAM_BYTES_PER_QUERY } from '../../../src/db/limits.ts'
import { recordIdAt } from '../../../src/proof/statement/batch-ids.ts'
import { connect, openTestPool } from '../../helpers/connect.ts'
import { createTestDatabase } from '../../helpers/database.ts'
import { createTestLedger, makeBatch, makeEntry, makeItem, outcomesOf } from '../../helpers/test-ledger.ts'

const CONTENT_BYTES = 60_000
const ENTRIES = 225

test('documents come with their entries, and no query brings more of them than a page', async (t) => {
  const database = await createTestDatabase(t)
  const api = await connect(t, database.apiUrl)
  const ledger = await createTestLedger(api)
  await appendEntries(
    api,
    Array.from({ length: ENTRIES }, () => makeEntry(ledger)),
  )
  // Beside two of three entries, as if those were steps: only where a document lies matters here.
  const owner = await connect(t, database.superuserUrl)
  await owner.query('set session_replication_role = replica')
  await owner.query(
    `insert into tallystick.documents (ledger_id, seq, document, subject_id, digest, salt, content)
     select ledger_id, seq, 'reason', subject_id, leaf, substr(leaf, 1, 16), convert_to('"' || repeat('x', $2) || '"', 'UTF8')
     from tallystick.entries where ledger_id = $1 and seq > 2 and seq % 3 > 0`,
    [ledger.id, CONTENT_BYTES],
  )
  const pool = openTestPool(database.apiUrl, { max: 1 })
  t.after(() => pool.end())
  const pages = listPages(pool, 'read_entry_documents')
  const end = 3 + ENTRIES
  for (const from of [0, 4, 101, end - 1]) {
    const seqs: number[] = []
    for await (const { entry, records, documents } of readEntries(pool, ledger.id, from, end)) {
      seqs.push(entry.seq)
      assert.equal(records.length, entry.seq > 2 ? 1 : 0)
      assert.deepEqual(
        documents.map(({ seq }) => seq),
        entry.seq > 2 && entry.seq % 3 > 0 ? [entry.seq] : [],
      )
    }
    assert.deepEqual(
      seqs,
      Array.from({ length: end - from }, (_, i) => from + i),
    )
  }
  const perPage = Math.floor(STREAM_BYTES_PER_QUERY / (CONTENT_BYTES + 2))
  assert.equal(Math.max(...pages.map((rows) => rows.length)), perPage)
})

test('records of batches come in their order, and no query brings more of their chunks than a page', async (t) => {
  const database = await createTestDatabase(t)
  const api = await connect(t, database.apiUrl)
  const ledger = await createTestLedger(api)
  // One chunk is longer than a page.
  const batches = [
    [300, 2_000],
    [64, 10_000],
    [1, 10],
    [130, 10],
  ].map(([count, bytes]) => Array.from({ length: count! }, (_, i) => makeRandomItem(i, bytes!)))
  const entries = batches.flatMap((items) => [makeBatch(ledger, items), makeEntry(ledger)])
  for (const entry of entries) assert.deepEqual(outcomesOf(await appendEntries(api, [entry])), ['appended'])
  const pool = openTestPool(database.apiUrl, { max: 1 })
  t.after(() => pool.end())
  const pages = listPages(pool, 'read_entry_chunks')
  const end = FIRST_SEQ + entries.length
  for (const from of [0, FIRST_SEQ, FIRST_SEQ + 1, FIRST_SEQ + 4, end - 1]) {
    for await (const { entry, items } of readEntries(pool, ledger.id, from, end)) {
      const made = entries[entry.seq - FIRST_SEQ]
      assert.equal(items === null, made === undefined || made.itemCount === null)
      if (items === null) continue
      const read = (await Array.fromAsync(items)).flat()
      const expected = batches[(entry.seq - FIRST_SEQ) / 2]!
      assert.deepEqual(
        read.map(({ recordId, seq, index, payload }) => ({ recordId, seq, index, payload })),
        expected.map(({ document }, index) => ({
          recordId: recordIdAt(made!.chunks[0]!.firstRecordId, index),
          seq: entry.seq,
          index,
          payload: (document as ChunkDocument).payload,
        })),
      )
    }
  }
  const bytesOf = (rows: pg.QueryResultRow[]) => rows.reduce((sum, { content }) => sum + content.length, 0)
  assert.ok(pages.every((rows) => rows.length <= 1 || bytesOf(rows) <= STREAM_BYTES_PER_QUERY))
  assert.ok(pages.some((rows) => bytesOf(rows) > STREAM_BYTES_PER_QUERY))
  assert.ok(pages.some((rows) => rows.length > 2))
})

/** First entry behind those that a ledger begins with. */
const FIRST_SEQ = 3

function makeRandomItem(i: number, bytes: number): ChunkRecord {
  const payload = Buffer.from(`{"i":${i},"text":"${randomBytes(bytes).toString('base64url')}"}`)
  return makeItem({ document: { salt: randomBytes(16), payload, references: null, metadata: null } })
}

/** Rows that each query of that name brings. */
function listPages(pool: pg.Pool, name: string): pg.QueryResultRow[][] {
  const pages: pg.QueryResultRow[][] = []
  const { query } = pool
  pool.query = (async (...parameters: Parameters<typeof query>) => {
    const result = (await Reflect.apply(query, pool, parameters)) as unknown as pg.QueryResult
    if ((parameters[0] as { name?: string }).name === name) pages.push(result.rows)
    return result
  }) as unknown as typeof query
  return pages
}
