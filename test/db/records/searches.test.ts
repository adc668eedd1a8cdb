import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type pg from 'pg'
import { appendEntries, type EntryRow, type RecordRow } from '../../../src/db/chain/append-entries.ts'
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

test('pages without filters use one statement for each order, with and without a cursor', async (t) => {
  const { searches, statements, pool, singles, batches } = await open(t)
  const used = new Set<string>()
  for (const { id } of [singles, batches, singles])
    for (const order of ['asc', 'desc'] as const)
      for (const after of [null, { seq: 15, index: 30 }, { seq: 4, index: 2 }]) {
        const search = { ...pageOf({}, after), order }
        const fresh = await searchRecords(new Searches(pool), id, search)
        statements.splice(0)
        assert.deepEqual(await searchRecords(searches, id, search), fresh)
        used.add(statements[0]!)
      }
  assert.equal(used.size, 4)
})

test('documents of a large page are read in pieces, by one statement of a ledger at a time', async (t) => {
  const { api, searches, statements, runningMax } = await open(t)
  const ledger = await createTestLedger(api)
  const payloads = Array.from(
    { length: 24 },
    (_, i) => `{"text":"${String(i).padStart(2, '0').repeat(32_000)}"}`,
  )
  for (const payload of payloads) await append(api, [makeSingle(ledger, { type: TYPE, payload })])
  statements.splice(0)
  const search = { ...pageOf({}, null), limit: 24 }
  const pages = await Promise.all([search, search].map((one) => searchRecords(searches, ledger.id, one)))
  for (const { rows, next } of pages) {
    assert.deepEqual(
      rows.map(({ payload }) => String(payload)),
      payloads.toReversed(),
    )
    assert.equal(next, null)
  }
  // Two documents of 64 KB come with the first statement. The others come in pieces of four.
  assert.equal(statements.filter((name) => name === 'read_large_records').length, 2 * Math.ceil(22 / 4))
  assert.equal(runningMax('read_large_records'), 1)
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
  return { api, pool, searches: new Searches(pool), ...watch(pool), singles, batches }
}

function makeSingle(ledger: TestLedger, properties: Partial<RecordRow>): EntryRow {
  const subjectId = randomId()
  return makeEntry(ledger, { subjectId, records: [makeRecord(subjectId, properties)] })
}

async function append(client: pg.ClientBase, entries: EntryRow[]): Promise<void> {
  const answers = await appendEntries(client, entries)
  assert.deepEqual(new Set(answers.map(({ outcome }) => outcome)), new Set(['appended']))
}

/** Lists the names of statements, and counts how many statements of a name ran at the same time. */
function watch(pool: pg.Pool) {
  const statements: string[] = []
  const running = new Map<string, { now: number; max: number }>()
  const { query } = pool
  pool.query = (async (asked: { name?: string }, ...others: unknown[]) => {
    const name = asked.name ?? ''
    statements.push(name)
    const count = running.get(name) ?? { now: 0, max: 0 }
    running.set(name, count)
    count.max = Math.max(count.max, ++count.now)
    try {
      return await Reflect.apply(query, pool, [asked, ...others])
    } finally {
      count.now--
    }
  }) as unknown as typeof query
  return { statements, runningMax: (name: string) => running.get(name)?.max ?? 0 }
}
