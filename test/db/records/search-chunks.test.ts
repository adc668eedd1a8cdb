import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import type pg from 'pg'
import { appendEntries, type EntryRow } from '../../../src/db/chain/append-entries.ts'
import type { ChunkDocument } from '../../../src/db/chunks/chunk-content.ts'
import { chunkKey } from '../../../src/db/chunks/chunk-keys.ts'
import { openSearchPool } from '../../../src/db/connect/pools.ts'
import { PAGE_BYTES_MAX, SEARCH_CHUNKS_MAX } from '../../../src/db/limits.ts'
import type { RecordSearch } from '../../../src/db/records/search.ts'
import { searchRecords } from '../../../src/db/records/search-records.ts'
import { Searches } from '../../../src/db/records/searches.ts'
import { connect, testDatabase } from '../../helpers/connect.ts'
import { createTestDatabase } from '../../helpers/database.ts'
import { createTestLedger, makeBatch, makeEntry, makeItem, randomId } from '../../helpers/test-ledger.ts'

/* Counts the chunks that a search reads. search-records.test.ts compares the results of searches with a model. */

test('a page reads a chunk only if one of its records is in a batch', async (t) => {
  const { api, pool, ledger } = await open(t)
  const chunks = countChunks(pool)
  const search = { filters: {}, order: 'desc', after: null, limit: 10 } as const
  await append(api, makeBatch(ledger, 100))
  for (let i = 0; i < 11; i++) await append(api, makeEntry(ledger))
  assert.equal((await searchRecords(new Searches(pool), ledger.id, search)).rows.length, 10)
  assert.deepEqual(chunks, [])
  await append(api, makeBatch(ledger, 192))
  assert.equal((await searchRecords(new Searches(pool), ledger.id, search)).rows.length, 10)
  assert.deepEqual(chunks.splice(0), [1])
  // The five chunks of these small batches are read by one query.
  for (let i = 0; i < 5; i++) await append(api, makeBatch(ledger, 2))
  const { rows, next } = await searchRecords(new Searches(pool), ledger.id, search)
  assert.equal(rows.length, 10)
  assert.deepEqual(chunks.splice(0), [5])
  const second = await searchRecords(new Searches(pool), ledger.id, { ...search, after: next })
  assert.equal(second.rows.length, 10)
  assert.deepEqual(chunks, [1])
})

test('a search without matches decompresses at most the allowed number of chunks', async (t) => {
  const { api, pool, ledger } = await open(t)
  const chunks = countChunks(pool)
  const both = { type: 'order/1', onBehalfOf: randomId() }
  const items = [makeItem({ type: both.type }), makeItem({ onBehalfOf: both.onBehalfOf })]
  await append(api, makeBatch(ledger, [makeItem(both)]))
  for (let i = 0; i < 100; i++) await append(api, makeBatch(ledger, items))
  const search: RecordSearch = { filters: both, order: 'desc', after: null, limit: 10 }
  const first = await searchRecords(new Searches(pool), ledger.id, search)
  assert.deepEqual(first.rows, [])
  assert.deepEqual(chunks.splice(0), [1, 4, 16, SEARCH_CHUNKS_MAX - 21])
  const second = await searchRecords(new Searches(pool), ledger.id, { ...search, after: first.next })
  assert.deepEqual([second.rows.length, second.next], [1, null])
})

test('a search reads at most the allowed bytes of chunks', async (t) => {
  const { api, pool, ledger } = await open(t)
  const chunks = countChunks(pool)
  const both = { type: 'order/1', onBehalfOf: randomId() }
  const large = { ...makeItem().document, payload: randomBytes(60_000) } as ChunkDocument
  const items = Array.from({ length: 64 }, (_, i) =>
    makeItem({ document: large, ...(i % 2 === 0 ? { type: both.type } : { onBehalfOf: both.onBehalfOf }) }),
  )
  for (let i = 0; i < 6; i++) await append(api, makeBatch(ledger, items))
  const search: RecordSearch = { filters: both, order: 'asc', after: null, limit: 10 }
  const first = await searchRecords(new Searches(pool), ledger.id, search)
  assert.deepEqual([first.rows, first.next?.seq], [[], 7])
  assert.equal(chunks.length, 2)
  const second = await searchRecords(new Searches(pool), ledger.id, { ...search, after: first.next })
  assert.deepEqual([second.rows, second.next], [[], null])
})

test('a page of large batch records ends early', async (t) => {
  const { api, pool, ledger } = await open(t)
  const payload = Buffer.from(`{"text":"${'x'.repeat(65_000)}"}`)
  const items = Array.from({ length: 100 }, () =>
    makeItem({ document: { ...makeItem().document, payload } as ChunkDocument }),
  )
  await append(api, makeBatch(ledger, items))
  const search: RecordSearch = { filters: {}, order: 'asc', after: null, limit: 200 }
  const first = await searchRecords(new Searches(pool), ledger.id, search)
  assert.equal(first.rows.length, Math.floor(PAGE_BYTES_MAX / payload.length))
  const second = await searchRecords(new Searches(pool), ledger.id, { ...search, after: first.next })
  assert.deepEqual([first.rows.length + second.rows.length, second.next], [100, null])
})

test('a corrupted chunk is an error, and a key without a chunk finds nothing', async (t) => {
  const { owner, api, pool, ledger } = await open(t)
  await append(api, makeBatch(ledger, 3))
  const search = { filters: { type: 'generic/1' }, order: 'desc', after: null, limit: 10 } as const
  await owner.query('set session_replication_role = replica')
  const key = chunkKey.type('generic/1')
  await owner.query('insert into tallystick.batch_keys values ($1, $2, 99, 0)', [ledger.id, key])
  assert.equal((await searchRecords(new Searches(pool), ledger.id, search)).rows.length, 3)
  await owner.query('update tallystick.batch_chunks set content = substr(content, 2)')
  await assert.rejects(searchRecords(new Searches(pool), ledger.id, search), { code: 'chunk_syntax' })
})

function countChunks(pool: pg.Pool): number[] {
  const counts: number[] = []
  const { query } = pool
  pool.query = ((asked: { name?: string; values: readonly (readonly unknown[])[] }, ...others: unknown[]) => {
    if (asked.name === 'read_chunks') counts.push(asked.values[1]!.length)
    return Reflect.apply(query, pool, [asked, ...others])
  }) as typeof query
  return counts
}

async function open(t: TestContext) {
  const database = await createTestDatabase(t)
  const owner = await connect(t, database.superuserUrl)
  const api = await connect(t, database.apiUrl)
  const pool = openSearchPool(testDatabase(database.apiUrl), { warn: () => {} })
  t.after(() => pool.end())
  return { owner, api, pool, ledger: await createTestLedger(api) }
}

async function append(client: pg.ClientBase, entry: EntryRow): Promise<void> {
  const [answer] = await appendEntries(client, [entry])
  assert.equal(answer!.outcome, 'appended')
}
