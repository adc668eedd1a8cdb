import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type pg from 'pg'
import { appendEntries, type RecordRow } from '../../../src/db/chain/append-entries.ts'
import { openSearchPool } from '../../../src/db/connect/pools.ts'
import { searchRecords } from '../../../src/db/records/search-records.ts'
import type { RecordFilters } from '../../../src/db/records/search-streams.ts'
import { connect, testDatabase } from '../../helpers/connect.ts'
import { createTestDatabase } from '../../helpers/database.ts'
import {
  createTestLedger,
  makeEntry,
  makeRecord,
  outcomesOf,
  randomId,
  type TestEntry,
  type TestLedger,
} from '../../helpers/test-ledger.ts'
import { makeCreation, makeStep } from '../../helpers/test-steps.ts'

/*
 * Blocks of 8 KiB that a search reads if the planner has every reason to be wrong: it was told what the ledger
 * looked like when all of its records had the old values, and nobody told it of the 44,000 since that have none of them. A
 * walk along the chain that looks for such a value reads 5,000 blocks and more; one record at its own index, 20.
 */
const BLOCKS_OF_A_PAGE = 2_000
/** And the first 200 candidates of each: 6 blocks each where every record has an entry of its own. */
const BLOCKS_OF_TWO = 4_400
const BLOCKS_OF_NOTHING = 120
/** A filter without an index looks at SEARCH_CANDIDATES_MAX records, and no more. */
const BLOCKS_OF_A_BUDGET = 2_500
const BATCH = 1_000
const OLD_BATCHES = 10
const NEW_BATCHES = 40
/** Gated records, one entry each. */
const CREATED_EACH_CALL = 500
const OLD_CALLS = 4
const NEW_CALLS = 8
const SEARCHED = ['entries', 'records', 'gated_records', 'record_references']
const OLD_DAY_MS = Date.parse('2026-02-01T00:00:00Z')
const NEW_DAY_MS = Date.parse('2026-05-01T00:00:00Z')
const DAY_MS = 86_400_000

const OLD = {
  actor: randomId(),
  agent: randomId(),
  parent: randomId(),
  performer: randomId(),
  trace: 'aa'.repeat(16),
  type: 'old/1',
}
const NEW = {
  actor: randomId(),
  agent: randomId(),
  parent: randomId(),
  performer: randomId(),
  trace: 'bb'.repeat(16),
  type: 'new/1',
}

test('a search reads no more than its page needs, whatever the planner believes', async (t) => {
  const { owner, api, pool, ledger } = await open(t)
  // Statements that were planned while the tables were empty: none of them is kept.
  const old = oldFilters()
  for (const filters of Object.values(old)) await search(pool, ledger, filters)
  await load(api, ledger, OLD, OLD_DAY_MS, OLD_BATCHES)
  for (let n = 0; n < OLD_CALLS; n++) await cancel(api, ledger, await create(api, ledger, OLD, OLD_DAY_MS))
  await owner.query('analyze')
  await load(api, ledger, NEW, NEW_DAY_MS, NEW_BATCHES)
  for (let n = 0; n < NEW_CALLS; n++) await create(api, ledger, NEW, NEW_DAY_MS)

  const scans = await countScans(owner, pool)
  const single = Object.entries(old)
  const pairs = single.flatMap(([a, x], i) =>
    single.slice(i + 1).map(([b, y]) => [`${a}, ${b}`, { ...x, ...y }] as const),
  )
  for (const [name, filters] of [...single, ...pairs]) {
    const { blocks, found } = await measure(owner, pool, ledger, filters)
    const blocksMax = name in old ? BLOCKS_OF_A_PAGE : BLOCKS_OF_TWO
    assert.ok(blocks <= blocksMax, `${name}: ${blocks} blocks`)
    assert.equal(found, 50, name)
  }
  for (const [name, filters] of Object.entries(unknownFilters())) {
    const { blocks, found } = await measure(owner, pool, ledger, filters)
    assert.ok(blocks <= BLOCKS_OF_NOTHING, `${name}, of which there is none: ${blocks} blocks`)
    assert.equal(found, 0, name)
  }
  assert.deepEqual(await countScans(owner, pool), scans, 'tables were read from end to end')
})

test('what no index serves ends at the budget, with a place to go on from', async (t) => {
  const { owner, api, pool, ledger } = await open(t)
  await load(api, ledger, OLD, OLD_DAY_MS, OLD_BATCHES)
  await load(api, ledger, NEW, NEW_DAY_MS, NEW_BATCHES)
  // Both are common, and never met in one record.
  const filters = { type: OLD.type, actor: NEW.actor }
  const { blocks, found, next } = await measure(owner, pool, ledger, filters)
  assert.ok(blocks <= BLOCKS_OF_A_BUDGET, `${blocks} blocks`)
  assert.equal(found, 0)
  assert.ok(next, 'not the last page')
})

/** Each finds the records of before, and none of those since. */
function oldFilters(): Record<string, RecordFilters> {
  return {
    type: { type: OLD.type },
    actor: { actor: OLD.actor },
    onBehalfOf: { onBehalfOf: OLD.agent },
    performer: { performer: OLD.performer },
    principal: { principal: OLD.agent },
    ownAgent: { ownAgent: OLD.actor },
    'ownAgent that performs': { ownAgent: OLD.performer },
    state: { state: 'CANCELLED' },
    traceId: { traceId: OLD.trace },
    occurred: { occurred: { fromMs: OLD_DAY_MS, beforeMs: OLD_DAY_MS + DAY_MS } },
  }
}

function unknownFilters(): Record<string, RecordFilters> {
  const id = randomId()
  return {
    type: { type: 'unknown/1' },
    actor: { actor: id },
    onBehalfOf: { onBehalfOf: id },
    performer: { performer: id },
    principal: { principal: id },
    ownAgent: { ownAgent: id },
    parent: { parent: id },
    reference: { reference: 'unknown' },
    traceId: { traceId: 'cc'.repeat(16) },
    digest: { digest: Buffer.alloc(32) },
    state: { state: 'ACTIVE' },
    occurred: { occurred: { fromMs: 0, beforeMs: DAY_MS } },
    recorded: { recorded: { fromMs: 0, beforeMs: DAY_MS } },
  }
}

async function open(t: TestContext) {
  const database = await createTestDatabase(t)
  const owner = await connect(t, database.superuserUrl)
  for (const table of SEARCHED)
    await owner.query(`alter table tallystick.${table} set (autovacuum_enabled = off)`)
  const api = await connect(t, database.apiUrl)
  const pool = openSearchPool(testDatabase(database.apiUrl), { warn: () => {} })
  t.after(() => pool.end())
  return { owner, api, pool, ledger: await createTestLedger(api) }
}

async function load(
  api: pg.ClientBase,
  ledger: TestLedger,
  values: typeof OLD,
  dayMs: number,
  batches: number,
): Promise<void> {
  for (let n = 0; n < batches; n++) {
    const records = Array.from({ length: BATCH }, (_, index) =>
      makeRecord(randomId(), { ...propertiesOf(values, dayMs + index), index }),
    )
    const entry = makeEntry(ledger, { kind: 'batch-notarized', actorId: values.actor, records })
    assert.equal((await appendEntries(api, [entry]))[0]!.outcome, 'appended')
  }
}

/** Gated records with the same properties. */
async function create(
  api: pg.ClientBase,
  ledger: TestLedger,
  values: typeof OLD,
  dayMs: number,
): Promise<TestEntry[]> {
  const entries = Array.from({ length: CREATED_EACH_CALL }, (_, index) => {
    const subjectId = randomId()
    const records = [makeRecord(subjectId, propertiesOf(values, dayMs + index))]
    const by = { actorId: values.actor, partyId: values.agent }
    return makeCreation(ledger, { performerId: values.performer }, { subjectId, ...by, records })
  })
  await appendAll(api, entries)
  return entries
}

async function cancel(api: pg.ClientBase, ledger: TestLedger, created: readonly TestEntry[]): Promise<void> {
  const by = { actorId: OLD.actor, partyId: OLD.agent }
  await appendAll(
    api,
    created.map((entry) => makeStep(ledger, entry, 'record-cancelled', by)),
  )
}

async function appendAll(api: pg.ClientBase, entries: readonly TestEntry[]): Promise<void> {
  const answers = await appendEntries(api, entries)
  assert.deepEqual(new Set(outcomesOf(answers)), new Set(['appended']))
}

function propertiesOf(values: typeof OLD, occurredAtMs: number): Partial<RecordRow> {
  return {
    type: values.type,
    onBehalfOf: values.agent,
    traceparent: `00-${values.trace}-00f067aa0ba902b7-01`,
    occurredAtMs,
    payload: `{"text":"${'x'.repeat(300)}"}`,
  }
}

function search(pool: pg.Pool, ledger: TestLedger, filters: RecordFilters) {
  return searchRecords(pool, ledger.id, { filters, order: 'desc', after: null, limit: 50 })
}

/** Blocks that the search read, wherever from. The second time: the first one reads the catalogue. */
async function measure(owner: pg.ClientBase, pool: pg.Pool, ledger: TestLedger, filters: RecordFilters) {
  await search(pool, ledger, filters)
  const before = await countBlocks(owner, pool)
  const { rows, next } = await search(pool, ledger, filters)
  return { blocks: (await countBlocks(owner, pool)) - before, found: rows.length, next }
}

async function countBlocks(owner: pg.ClientBase, pool: pg.Pool): Promise<number> {
  await pool.query('select pg_stat_force_next_flush()')
  const { rows } = await owner.query<{ blocks: string }>(
    `select sum(heap_blks_hit + heap_blks_read + idx_blks_hit + idx_blks_read) as blocks
     from pg_statio_user_tables where schemaname = 'tallystick'`,
  )
  return Number(rows[0]!.blocks)
}

async function countScans(owner: pg.ClientBase, pool: pg.Pool): Promise<unknown> {
  await pool.query('select pg_stat_force_next_flush()')
  const { rows } = await owner.query(
    `select relname, seq_scan from pg_stat_user_tables
     where schemaname = 'tallystick' and relname = any ($1) order by 1`,
    [SEARCHED],
  )
  return rows
}
