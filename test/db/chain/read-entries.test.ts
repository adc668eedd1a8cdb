import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import type pg from 'pg'
import { appendEntries } from '../../../src/db/chain/append-entries.ts'
import { readEntries } from '../../../src/db/chain/read-entries.ts'
import { CHUNK_RECORDS } from '../../../src/db/chunks/chunk-content.ts'
import type { BatchRecord } from '../../../src/db/chunks/read-chunks.ts'
import { STREAM_BYTES_PER_QUERY } from '../../../src/db/limits.ts'
import { connect, openTestPool } from '../../helpers/connect.ts'
import { createTestDatabase } from '../../helpers/database.ts'
import { adminEntry, createTestLedger, makeBatch, makeEntry, makeItem } from '../../helpers/test-ledger.ts'

const CONTENT_BYTES = 60_000
const ENTRIES = 225

test('documents are read with their entries, and no query returns more than a page of them', async (t) => {
  const database = await createTestDatabase(t)
  const api = await connect(t, database.apiUrl)
  const ledger = await createTestLedger(api)
  await appendEntries(
    api,
    Array.from({ length: ENTRIES }, () => makeEntry(ledger)),
  )
  // Adds documents to two of three entries. These entries are not steps, but the test needs only the positions of
  // documents.
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
  const pages = countDocuments(pool)
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
  assert.equal(Math.max(...pages), perPage)
})

test('records of batches are read chunk by chunk, and no query returns more than a page of them', async (t) => {
  const database = await createTestDatabase(t)
  const api = await connect(t, database.apiUrl)
  const ledger = await createTestLedger(api)
  const counts = [130, 64, 1, 0, 65, 0]
  const long = (payload: string) => makeItem({ document: { ...DOCUMENT, payload: Buffer.from(payload) } })
  const entries = counts.map((count, n) =>
    count === 0
      ? makeEntry(ledger)
      : makeBatch(
          ledger,
          // The records of the first and the last batch are random, so that they do not compress. A full chunk of these
          // batches takes half a page.
          Array.from({ length: count }, (_, i) =>
            long(`"${n} ${i} ${randomBytes(n === 1 ? 10 : 1_900).toString('base64')}"`),
          ),
        ),
  )
  await appendEntries(api, entries)
  const first = entries[0]!.chunks[0]!.firstRecordId
  await appendEntries(api, [
    adminEntry(ledger, 'payload-erased', first, { document: 'payload', documentSeq: 3, reason: null }),
  ])
  const pool = openTestPool(database.apiUrl, { max: 1 })
  t.after(() => pool.end())
  const pages = countBytes(pool)
  const end = 3 + counts.length
  for (const from of [0, 3, 4, 7, end - 1]) {
    for await (const { entry, items, records } of readEntries(pool, ledger.id, from, end)) {
      const count = counts[entry.seq - 3] ?? 0
      assert.deepEqual([items === null, records.length], [count === 0, entry.seq > 2 && count === 0 ? 1 : 0])
      const read: BatchRecord[][] = []
      for await (const part of items ?? []) read.push(part)
      assert.ok(read.slice(0, -1).every((part) => part.length === CHUNK_RECORDS))
      assert.deepEqual(
        read
          .flat()
          .map(({ seq, index, payload, erasedSeq }) => [
            seq,
            index,
            payload?.toString().match(/^"(\d+ \d+) /)?.[1],
            erasedSeq,
          ]),
        Array.from({ length: count }, (_, i) =>
          entry.seq === 3 && i === 0 ? [3, 0, undefined, end] : [entry.seq, i, `${entry.seq - 3} ${i}`, null],
        ),
      )
    }
  }
  assert.ok(Math.max(...pages) > STREAM_BYTES_PER_QUERY / 2)
  assert.ok(Math.max(...pages) <= STREAM_BYTES_PER_QUERY)
  // A reader may skip the content of a batch and continue with the next entry.
  const seqs: number[] = []
  for await (const { entry } of readEntries(pool, ledger.id, 0, end)) seqs.push(entry.seq)
  assert.deepEqual(seqs, [...Array(end).keys()])
  await assert.rejects(Array.fromAsync(readEntries(pool, ledger.id, 0, end + 2)), /entry 10 is missing/)
})

const DOCUMENT = { salt: randomBytes(16), references: null, metadata: null }

function countDocuments(pool: pg.Pool): number[] {
  return observeQueries(pool, 'read_entry_documents', (rows) => rows.length)
}

function countBytes(pool: pg.Pool): number[] {
  const sum = (rows: { content: Buffer }[]) => rows.reduce((bytes, { content }) => bytes + content.length, 0)
  return observeQueries(pool, 'read_entry_chunks', sum)
}

function observeQueries<Row>(pool: pg.Pool, name: string, of: (rows: Row[]) => number): number[] {
  const pages: number[] = []
  const { query } = pool
  pool.query = (async (...parameters: Parameters<typeof query>) => {
    const result = (await Reflect.apply(query, pool, parameters)) as unknown as pg.QueryResult
    if ((parameters[0] as { name?: string }).name === name) pages.push(of(result.rows as Row[]))
    return result
  }) as unknown as typeof query
  return pages
}
