import assert from 'node:assert/strict'
import { test } from 'node:test'
import type pg from 'pg'
import { appendEntries } from '../../../src/db/chain/append-entries.ts'
import { readEntries } from '../../../src/db/chain/read-entries.ts'
import { STREAM_BYTES_PER_QUERY } from '../../../src/db/limits.ts'
import { connect, openTestPool } from '../../helpers/connect.ts'
import { createTestDatabase } from '../../helpers/database.ts'
import { createTestLedger, makeEntry } from '../../helpers/test-ledger.ts'

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

/** How many documents each query brings. */
function countDocuments(pool: pg.Pool): number[] {
  const pages: number[] = []
  const { query } = pool
  pool.query = (async (...parameters: Parameters<typeof query>) => {
    const result = (await Reflect.apply(query, pool, parameters)) as unknown as pg.QueryResult
    if ((parameters[0] as { name?: string }).name === 'read_entry_documents') pages.push(result.rows.length)
    return result
  }) as unknown as typeof query
  return pages
}
