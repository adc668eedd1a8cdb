import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type pg from 'pg'
import { appendEntries } from '../../../src/db/chain/append-entries.ts'
import { openSearchPool } from '../../../src/db/connect/pools.ts'
import { searchRecords } from '../../../src/db/records/search-records.ts'
import type { RecordFilters } from '../../../src/db/records/search-streams.ts'
import { Searches } from '../../../src/db/records/searches.ts'
import { firstRecordId } from '../../../src/proof/statement/batch-ids.ts'
import { connect, testDatabase } from '../../helpers/connect.ts'
import { createTestDatabase } from '../../helpers/database.ts'
import {
  createTestLedger,
  makeBatch,
  makeChunks,
  makeItem,
  makeRecord,
  outcomesOf,
  randomId,
  type TestEntry,
  type TestLedger,
} from '../../helpers/test-ledger.ts'
import { makeCreation, makeStep } from '../../helpers/test-steps.ts'

/*
 * Maximum number of 8 KiB blocks per search. The statistics mislead the planner: when they were made, all records had
 * the values of OLD. Since then 44,000 records with other values were added. A search for a value of OLD reads 5,000
 * blocks and more if it walks along the chain. With the value's own index it reads 20 blocks.
 */
const BLOCKS_OF_A_PAGE = 2_000
/**
 * Maximum number of blocks for a search with two filters. Such a search also reads the first 200 candidates of each
 * filter. A candidate costs 6 blocks if it has its own entry.
 */
const BLOCKS_OF_TWO = 4_400
const BLOCKS_OF_NOTHING = 120
/**
 * Maximum numbers of blocks for records of batches. These records are in one or two chunks. A search with two filters
 * reads 200 keys of each filter.
 */
const BLOCKS_OF_CHUNKS = 100
const BLOCKS_OF_TWO_KEYS = 500
const CANDIDATES_MAX = 100
/**
 * Maximum number of blocks for a search that uses up its budget. It includes reading the first 200 candidates of each
 * filter. All candidates together are 2,500 blocks.
 */
const BLOCKS_OF_A_BUDGET = 1_000
const BATCH = 1_000
const OLD_BATCHES = 10
const NEW_BATCHES = 40
const CREATED_EACH_CALL = 500
const OLD_CALLS = 4
const NEW_CALLS = 8
const SEARCHED = ['entries', 'records', 'gated_records', 'record_references', 'batch_chunks', 'batch_keys']
const BATCHED_DAY_MS = Date.parse('2026-01-01T00:00:00Z')
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
const BATCHED = {
  actor: randomId(),
  agent: randomId(),
  parent: randomId(),
  performer: randomId(),
  trace: 'dd'.repeat(16),
  type: 'batched/1',
}
const NEW = {
  actor: randomId(),
  agent: randomId(),
  parent: randomId(),
  performer: randomId(),
  trace: 'bb'.repeat(16),
  type: 'new/1',
}

test('a search reads no more blocks than its page needs, whatever the planner assumes', async (t) => {
  const { owner, api, pool, ledger } = await open(t)
  const old = oldFilters()
  const batched = batchedFilters()
  for (const filters of [{}, ...Object.values({ ...old, ...batched })]) await search(pool, ledger, filters)
  await load(api, ledger, BATCHED, BATCHED_DAY_MS, OLD_BATCHES)
  await load(api, ledger, OLD, OLD_DAY_MS, OLD_BATCHES)
  for (let n = 0; n < OLD_CALLS; n++) await cancel(api, ledger, await create(api, ledger, OLD, OLD_DAY_MS))
  await owner.query('analyze')
  await load(api, ledger, NEW, NEW_DAY_MS, NEW_BATCHES)
  for (let n = 0; n < NEW_CALLS; n++) await create(api, ledger, NEW, NEW_DAY_MS)
  await reportBlocks(owner, api)

  const scans = await countScans(owner, pool)
  const pages = [
    [old, BLOCKS_OF_A_PAGE, BLOCKS_OF_TWO],
    [batched, BLOCKS_OF_CHUNKS, BLOCKS_OF_TWO_KEYS],
  ] as const
  for (const [single, blocksOfOne, blocksOfTwo] of pages) {
    for (const [name, filters] of [...Object.entries(single), ...pairsOf(single)]) {
      const { blocks, found } = await measure(owner, pool, ledger, filters)
      const blocksMax = name in single ? blocksOfOne : blocksOfTwo
      assert.ok(blocks <= blocksMax, `${name}: ${blocks} blocks`)
      assert.equal(found, 50, name)
    }
  }
  for (const [name, filters] of Object.entries(unknownFilters())) {
    const { blocks, found } = await measure(owner, pool, ledger, filters)
    assert.ok(blocks <= BLOCKS_OF_NOTHING, `${name}, of which there is none: ${blocks} blocks`)
    assert.equal(found, 0, name)
  }
  assert.deepEqual(await countScans(owner, pool), scans, 'tables were read from end to end')
})

test('a search that no index serves ends at its budget, with a cursor to continue', async (t) => {
  const { owner, api, pool, ledger } = await open(t)
  await load(api, ledger, OLD, OLD_DAY_MS, OLD_BATCHES)
  await load(api, ledger, NEW, NEW_DAY_MS, NEW_BATCHES)
  for (const values of [OLD, NEW]) await create(api, ledger, values, OLD_DAY_MS)
  await reportBlocks(owner, api)
  for (const filters of [
    // Both values are common, but no record has both.
    { type: OLD.type, actor: NEW.actor },
    // Open records form one range of an index, whatever their state is.
    { state: 'ACTIVE' },
  ]) {
    const { blocks, found, next } = await measure(owner, pool, ledger, filters, CANDIDATES_MAX)
    assert.ok(blocks <= BLOCKS_OF_A_BUDGET, `${JSON.stringify(filters)}: ${blocks} blocks`)
    assert.equal(found, 0)
    assert.ok(next, 'not the last page')
  }
})

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

/** Returns filters that match records of batches. These records are the oldest ones. */
function batchedFilters(): Record<string, RecordFilters> {
  return {
    'type in batches': { type: BATCHED.type },
    'actor of batches': { actor: BATCHED.actor },
    'onBehalfOf in batches': { onBehalfOf: BATCHED.agent },
    'ownAgent of batches': { ownAgent: BATCHED.actor },
    'traceId in batches': { traceId: BATCHED.trace },
    'occurred in batches': { occurred: { fromMs: BATCHED_DAY_MS, beforeMs: BATCHED_DAY_MS + DAY_MS } },
  }
}

function pairsOf(single: Record<string, RecordFilters>): [string, RecordFilters][] {
  return Object.entries(single).flatMap(([a, x], i, all) =>
    all.slice(i + 1).map(([b, y]): [string, RecordFilters] => [`${a}, ${b}`, { ...x, ...y }]),
  )
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
    state: { state: 'EXPIRED' },
    occurred: { occurred: { fromMs: 0, beforeMs: DAY_MS } },
    recorded: { recorded: { fromMs: 0, beforeMs: DAY_MS } },
  }
}

async function open(t: TestContext) {
  const database = await createTestDatabase(t)
  const owner = await connect(t, database.superuserUrl)
  // Autovacuum is off, because a vacuum of any table reads blocks too.
  await owner.query(`do $$ declare relation regclass; begin
    for relation in select oid from pg_class where relnamespace = 'tallystick'::regnamespace and relkind = 'r' loop
      execute format('alter table %s set (autovacuum_enabled = off)', relation);
    end loop; end $$`)
  const api = await connect(t, database.apiUrl)
  const pool = openSearchPool(testDatabase(database.apiUrl), { warn: () => {} })
  // The whole test uses one connection. A new connection would plan its statements on the current tables, and would
  // read blocks for that.
  Object.assign(pool.options, { max: 1, idleTimeoutMillis: 0 })
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
    const items = Array.from({ length: BATCH }, (_, index) => {
      const { payload, ...properties } = propertiesOf(values, dayMs + index)
      const { document } = makeItem()
      return makeItem({
        ...properties,
        document: { ...document, payload: Buffer.from(payload) } as typeof document,
      })
    })
    const chunks = makeChunks({ ...ledger, agentId: values.actor }, firstRecordId(randomId()), items)
    const entry = makeBatch(ledger, items, { actorId: values.actor, chunks })
    assert.equal((await appendEntries(api, [entry]))[0]!.outcome, 'appended')
  }
}

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

function propertiesOf(values: typeof OLD, occurredAtMs: number) {
  return {
    type: values.type,
    onBehalfOf: values.agent,
    traceparent: `00-${values.trace}-00f067aa0ba902b7-01`,
    occurredAtMs,
    payload: `{"text":"${'x'.repeat(300)}"}`,
  }
}

function search(pool: pg.Pool, ledger: TestLedger, filters: RecordFilters, candidatesMax?: number) {
  const page = { order: 'desc', after: null, limit: 50 } as const
  return searchRecords(new Searches(pool), ledger.id, {
    filters,
    ...page,
    ...(candidatesMax && { candidatesMax }),
  })
}

/**
 * Searches twice and returns the blocks that the second search read, cached or not. The first search also reads the
 * catalogue.
 */
async function measure(
  owner: pg.ClientBase,
  pool: pg.Pool,
  ledger: TestLedger,
  filters: RecordFilters,
  candidatesMax?: number,
) {
  await search(pool, ledger, filters)
  const before = await countBlocks(owner, pool)
  const { rows, next } = await search(pool, ledger, filters, candidatesMax)
  return { blocks: (await countBlocks(owner, pool)) - before, found: rows.length, next }
}

/**
 * Makes sessions report their block reads now. Otherwise Postgres reports them ten seconds after a session's last
 * statement. On a busy machine, 190,000 blocks that the loading sessions had read were once counted for a search.
 */
async function reportBlocks(...sessions: readonly (pg.ClientBase | pg.Pool)[]): Promise<void> {
  await Promise.all(sessions.map((session) => session.query('select pg_stat_force_next_flush()')))
}

async function countBlocks(owner: pg.ClientBase, pool: pg.Pool): Promise<number> {
  await reportBlocks(pool)
  const { rows } = await owner.query<{ blocks: string }>(
    `select sum(heap_blks_hit + heap_blks_read + idx_blks_hit + idx_blks_read + coalesce(toast_blks_hit + toast_blks_read, 0)) as blocks
     from pg_statio_user_tables where schemaname = 'tallystick'`,
  )
  return Number(rows[0]!.blocks)
}

async function countScans(owner: pg.ClientBase, pool: pg.Pool): Promise<unknown> {
  await reportBlocks(pool)
  const { rows } = await owner.query(
    `select relname, seq_scan from pg_stat_user_tables
     where schemaname = 'tallystick' and relname = any ($1) order by 1`,
    [SEARCHED],
  )
  return rows
}
