import assert from 'node:assert/strict'
import { test } from 'node:test'
import pg from 'pg'
import { readEntries } from '../../src/db/chain/read-entries.ts'
import { findEntryOfRecord } from '../../src/db/chain/read-proven.ts'
import { openReadPool, openSearchPool } from '../../src/db/connect/pools.ts'
import { findSharedRecords, listSharedRecords } from '../../src/db/peers/offers.ts'
import {
  findReceivedType,
  findRemoteClaims,
  listNewestRemoteSteps,
  listRemoteEntries,
} from '../../src/db/peers/remote-records.ts'
import { listChosenSalts, listSharePeers } from '../../src/db/peers/shares.ts'
import { findErasable, listErasable } from '../../src/db/records/erasures.ts'
import { listPendingErasures } from '../../src/db/records/pending-erasures.ts'
import { readChunks } from '../../src/db/records/read-chunk-keys.ts'
import { listAncestors, listEntriesOfRecord } from '../../src/db/records/read-lineage.ts'
import { findRecords, listRecordsOfEntry } from '../../src/db/records/read-records.ts'
import { listDayKeys } from '../../src/db/records/search-choice.ts'
import { searchRecords } from '../../src/db/records/search-records.ts'
import type { RecordFilters } from '../../src/db/records/search-streams.ts'
import { Searches } from '../../src/db/records/searches.ts'
import type { Uuid } from '../../src/proof/ids.ts'
import { testDatabase } from '../helpers/connect.ts'
import { createTestDatabase } from '../helpers/database.ts'
import { createTestLedger, randomId } from '../helpers/test-ledger.ts'

/*
 * A session caches plans, and may have made them when its tables were empty and all plans seemed to cost the same. Such
 * plans must be efficient too: each reads every table by an index, and uses all columns of the index for which the
 * query has values.
 */

test('reads of records, entries and erasures use indexes, whenever planned', async (t) => {
  const database = await createTestDatabase(t)
  const pool = openReadPool(testDatabase(database.superuserUrl), { warn: () => {} })
  t.after(() => pool.end())
  await checkPlans(pool, await askedQueries(pool))
})

test('searches use indexes, whenever planned', async (t) => {
  const database = await createTestDatabase(t)
  const pool = openSearchPool(testDatabase(database.superuserUrl), { warn: () => {} })
  t.after(() => pool.end())
  const searches = new Searches(pool)
  const id = randomId()
  const asked = await listAsked(pool, async () => {
    for (const filters of FILTERS) {
      for (const after of [null, { seq: 1, index: 1 }])
        await searchRecords(searches, id, { filters, order: 'desc', after, limit: 10 })
    }
  })
  // The number is the sum of two queries for each filter that batch records can match, one query for each other filter,
  // and two queries that list days.
  assert.equal(new Set(asked.map(({ text }) => text)).size, 23)
  await checkPlans(pool, asked)
})

const FILTERS: readonly RecordFilters[] = [
  {},
  { type: 'order/1' },
  { actor: randomId() },
  { onBehalfOf: randomId() },
  { traceId: 'aa'.repeat(16) },
  { parent: randomId() },
  { reference: 'order 1' },
  { performer: randomId() },
  { principal: randomId() },
  { ownAgent: randomId() },
  { state: 'ACTIVE' },
  { state: 'RECORDED' },
  { occurred: { fromMs: 0, beforeMs: 1 } },
]

async function checkPlans(pool: pg.Pool, asked: readonly Asked[]): Promise<void> {
  const client = await pool.connect()
  try {
    await checkEach(client, asked)
  } finally {
    client.release()
  }
}

async function checkEach(client: pg.ClientBase, asked: readonly Asked[]): Promise<void> {
  const columnsOf = await readIndexes(client)
  for (const [i, { text, values }] of asked.entries()) {
    await client.query(`prepare q${i} as ${text}`)
    const literals = values.map(literalOf)
    const { rows } = await client.query(`explain (costs off) execute q${i} (${literals.join(', ')})`)
    const plan = rows.map((row) => row['QUERY PLAN']).join('\n')
    assert.doesNotMatch(plan, /Seq Scan|Bitmap|Merge Join|Hash Join/, `${text}\n${plan}`)
    for (const [, index, condition] of plan.matchAll(/ using (\S+) on .*\n *Index Cond: (.*)/g)) {
      // An index condition that has only the ledger's column would read all rows of the ledger. So it must contain the
      // second column too.
      for (const column of columnsOf.get(index!)!.slice(0, 2))
        assert.match(condition!, new RegExp(`(?<![.\\w])${column}\\b`), `${text}\n${plan}`)
    }
  }
}

/** Returns the columns of each index. Expressions are reduced to their first word. */
async function readIndexes(client: pg.ClientBase): Promise<Map<string, string[]>> {
  const { rows } = await client.query<{ name: string; columns: string[] }>(
    `select c.relname as name, array_agg(substring(pg_get_indexdef(i.indexrelid, n, false) from '\\w+') order by n) as columns
     from pg_index i join pg_class c on c.oid = i.indexrelid cross join generate_series(1, i.indnkeyatts) n
     where c.relnamespace = 'tallystick'::regnamespace group by 1`,
  )
  return new Map(rows.map(({ name, columns }) => [name, columns]))
}

function literalOf(value: unknown): string {
  if (value === null) return 'null'
  if (Buffer.isBuffer(value)) return `'\\x${value.toString('hex')}'`
  return pg.escapeLiteral(Array.isArray(value) ? `{${value.map(elementOf)}}` : `${value}`)
}

function elementOf(value: unknown): string {
  if (value === null) return 'NULL'
  return JSON.stringify(Buffer.isBuffer(value) ? `\\x${value.toString('hex')}` : `${value}`)
}

type Asked = { readonly text: string; readonly values: readonly unknown[] }

/**
 * Calls the functions that read records, entries and erasures (`askAll`), for a new ledger. Returns the queries that
 * they send.
 */
async function askedQueries(pool: pg.Pool): Promise<Asked[]> {
  const client = await pool.connect()
  const { id } = await createTestLedger(client)
  client.release()
  const asked = await listAsked(pool, () => askAll(pool, id))
  assert.equal(asked.length, 23)
  return asked
}

async function listAsked(pool: pg.Pool, ask: () => Promise<void>): Promise<Asked[]> {
  const asked: Asked[] = []
  const { query } = pool
  pool.query = ((...parameters: [Asked] | [string, unknown[]]) => {
    const [asks, values] = parameters
    asked.push(typeof asks === 'string' ? { text: asks, values: values! } : asks)
    return Reflect.apply(query, pool, parameters)
  }) as typeof query
  await ask()
  pool.query = query
  return asked
}

async function askAll(pool: pg.Pool, id: Uuid): Promise<void> {
  for await (const { records } of readEntries(pool, id, 0, 3)) assert.deepEqual(records, [])
  await findRecords(pool, [{ ledgerId: id, recordId: id }])
  await listRecordsOfEntry(pool, id, 0)
  await findEntryOfRecord(pool, id, id, 1)
  await listAncestors(pool, id, id)
  await listEntriesOfRecord(pool, id, id, { afterVersion: 0, limit: 1, bytesMax: 1 })
  await findErasable(pool, id, id, { document: 'reason', subjectId: id, seq: 1 })
  await listErasable(pool, id, id, { before: 1, limit: 1 })
  await listPendingErasures(pool, null, 100)
  const remote = { recordId: id, peerId: id }
  await findRemoteClaims(pool, [{ ledgerId: id, recordId: id, peerId: id, agentId: id }])
  await listNewestRemoteSteps(pool, id, remote)
  await listRemoteEntries(pool, id, remote, { afterVersion: 0, limit: 1, bytesMax: 1 })
  await findReceivedType(pool, id, id, '00')
  await listSharedRecords(pool, id, id, { after: { recordId: id, role: 'home' }, limit: 1 })
  await findSharedRecords(pool, id, id, id)
  await listSharePeers(pool, id, [id])
  await listChosenSalts(pool, id, id)
  await readChunks(pool, [{ ledgerId: id, seq: 0, chunk: 0 }], 1)
  await listDayKeys(pool, id, { fromMs: 0, beforeMs: 1 })
}
