import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type pg from 'pg'
import { appendEntries, type EntryRow } from '../../../src/db/chain/append-entries.ts'
import { openSearchPool } from '../../../src/db/connect/pools.ts'
import { SEARCH_QUERIES_MAX } from '../../../src/db/limits.ts'
import type { RecordPosition, RecordSearch } from '../../../src/db/records/search.ts'
import { searchRecords } from '../../../src/db/records/search-records.ts'
import type { RecordFilters } from '../../../src/db/records/search-streams.ts'
import { Searches } from '../../../src/db/records/searches.ts'
import { connect, testDatabase } from '../../helpers/connect.ts'
import { createTestDatabase } from '../../helpers/database.ts'
import {
  createTestLedger,
  makeBatch,
  makeEntry,
  makeItem,
  makeRecord,
  randomId,
  type TestLedger,
} from '../../helpers/test-ledger.ts'

/*
 * Counts the statements of single and concurrent pages. search-records.test.ts checks the pages' contents against a
 * model.
 */

const TYPE = 'order/1'
const AGENT = randomId()

test('a page needs one statement, and a second one if its records are in batches', async (t) => {
  const { searches, statements, singles, batches } = await open(t)
  for (const filters of [{}, { type: TYPE }, { onBehalfOf: AGENT }]) {
    for (const after of [null, { seq: 15, index: 30 }]) {
      assert.equal((await searchRecords(searches, singles.id, pageOf(filters, after))).rows.length, 10)
      assert.equal(statements.splice(0).length, 1)
      assert.equal((await searchRecords(searches, batches.id, pageOf(filters, after))).rows.length, 10)
      assert.equal(statements.splice(0).length, 2)
    }
  }
})

test('concurrent pages share statements, and each equals the page read alone', async (t) => {
  const { searches, statements, singles, batches } = await open(t)
  const filters: RecordFilters[] = [{}, { type: TYPE }, { onBehalfOf: AGENT }]
  const asked = [singles, batches].flatMap(({ id }) =>
    filters.flatMap((one) =>
      [null, { seq: 15, index: 30 }, { seq: 14, index: 20 }].map((after) => ({
        id,
        page: pageOf(one, after),
      })),
    ),
  )
  const read = async ({ id, page }: (typeof asked)[number]) => {
    const { rows, next } = await searchRecords(searches, id, page)
    return { next, rows: rows.map((row) => ({ ...row, ix: null })) }
  }
  const alone: unknown[] = []
  for (const one of asked) alone.push(await read(one))
  statements.splice(0)
  const together = await Promise.all(asked.map(read))
  assert.deepEqual(together, alone)
  // Six statements read positions: three filters, each with and without a cursor. A further statement reads the chunks.
  const places = statements.filter((name) => name !== 'read_chunks')
  assert.ok(places.length <= 6 * SEARCH_QUERIES_MAX, `${places.length} statements for ${asked.length} pages`)
  const chunks = statements.length - places.length
  assert.ok(chunks <= 6, `${chunks} statements for 9 chunks`)
})

test('a search by state, which may scan many rows, shares no statement', async (t) => {
  const { searches, statements, singles } = await open(t)
  const search = () => searchRecords(searches, singles.id, pageOf({ state: 'RECORDED' }, null))
  await Promise.all([search(), search(), search()])
  assert.equal(statements.length, 3)
})

test('concurrent pages whose limits together exceed one page share no statement', async (t) => {
  const { searches, statements, singles } = await open(t)
  const page = { ...pageOf({}, null), limit: 150 }
  const pages = await Promise.all([page, page, page].map((one) => searchRecords(searches, singles.id, one)))
  assert.deepEqual(new Set(pages.map(({ rows }) => rows.length)), new Set([40]))
  assert.equal(statements.length, 3)
})

function pageOf(filters: RecordFilters, after: RecordPosition | null): RecordSearch {
  return { filters, order: 'desc', after, limit: 10 }
}

/** Makes a ledger of 40 single records, and a ledger of 40 batches with 40 records each. */
async function open(t: TestContext) {
  const database = await createTestDatabase(t)
  const api = await connect(t, database.apiUrl)
  const pool = openSearchPool(testDatabase(database.apiUrl), { warn: () => {} })
  t.after(() => pool.end())
  const [singles, batches] = [await createTestLedger(api), await createTestLedger(api)]
  const properties = { type: TYPE, onBehalfOf: AGENT }
  await append(
    api,
    Array.from({ length: 40 }, () => makeSingle(singles, properties)),
  )
  const items = Array.from({ length: 40 }, () => makeItem(properties))
  await append(
    api,
    Array.from({ length: 40 }, () => makeBatch(batches, items)),
  )
  return { searches: new Searches(pool), statements: watch(pool), singles, batches }
}

function makeSingle(ledger: TestLedger, properties: { type: string; onBehalfOf: typeof AGENT }): EntryRow {
  const subjectId = randomId()
  return makeEntry(ledger, { subjectId, records: [makeRecord(subjectId, properties)] })
}

async function append(client: pg.ClientBase, entries: EntryRow[]): Promise<void> {
  const answers = await appendEntries(client, entries)
  assert.deepEqual(new Set(answers.map(({ outcome }) => outcome)), new Set(['appended']))
}

function watch(pool: pg.Pool): string[] {
  const names: string[] = []
  const { query } = pool
  pool.query = ((asked: { name?: string }, ...others: unknown[]) => {
    names.push(asked.name ?? '')
    return Reflect.apply(query, pool, [asked, ...others])
  }) as typeof query
  return names
}
