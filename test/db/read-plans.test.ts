import assert from 'node:assert/strict'
import { test } from 'node:test'
import type pg from 'pg'
import { readEntries } from '../../src/db/chain/read-entries.ts'
import { findEntryOfRecord } from '../../src/db/chain/read-proven.ts'
import { findSharedRecords, listSharedRecords } from '../../src/db/peers/offers.ts'
import {
  findReceivedType,
  findRemoteClaim,
  listNewestRemoteSteps,
  listRemoteEntries,
} from '../../src/db/peers/remote-records.ts'
import { listChosenSalts, listSharePeers } from '../../src/db/peers/shares.ts'
import { findErasable, listErasable } from '../../src/db/records/erasures.ts'
import { listPendingErasures } from '../../src/db/records/pending-erasures.ts'
import { listAncestors, listEntriesOfRecord } from '../../src/db/records/read-lineage.ts'
import { findRecords, listRecordsOfEntry } from '../../src/db/records/read-records.ts'
import { listDayKeys } from '../../src/db/records/search-choice.ts'
import { readChunks } from '../../src/db/records/search-chunks.ts'
import { openTestPool } from '../helpers/connect.ts'
import { createTestDatabase } from '../helpers/database.ts'
import { createTestLedger } from '../helpers/test-ledger.ts'

/*
 * A session keeps the plans that it made when its tables were empty, where every plan seems to cost the same. Each of these must
 * be one that stays good: every table by an index, and by all of the key that is given.
 */

test('what reads records, entries and erasures goes by keys, whenever it was planned', async (t) => {
  const database = await createTestDatabase(t)
  const pool = openTestPool(database.superuserUrl, { max: 1 })
  t.after(() => pool.end())
  const asked = await askedQueries(pool)
  await pool.query('set plan_cache_mode = force_generic_plan')
  for (const [i, { text, values }] of asked.entries()) {
    await pool.query(`prepare q${i} as ${text}`)
    const literals = values.map(literalOf)
    const { rows } = await pool.query(`explain (costs off) execute q${i} (${literals.join(', ')})`)
    const plan = rows.map((row) => row['QUERY PLAN']).join('\n')
    assert.doesNotMatch(plan, /Seq Scan|Bitmap|Merge Join|Hash Join/, `${text}\n${plan}`)
    for (const [, condition] of plan.matchAll(/_pkey on .*\n *Index Cond: (.*)/g))
      assert.match(condition!, / AND /, `${text}\n${plan}`)
  }
})

function literalOf(value: unknown): string {
  if (value === null) return 'null'
  if (Buffer.isBuffer(value)) return `'\\x${value.toString('hex')}'`
  return Array.isArray(value) ? `'{${value}}'` : `'${value}'`
}

type Asked = { readonly text: string; readonly values: readonly unknown[] }

/** Queries that the functions make of a ledger that has just begun. */
async function askedQueries(pool: pg.Pool): Promise<Asked[]> {
  const client = await pool.connect()
  const { id } = await createTestLedger(client)
  client.release()
  const asked: Asked[] = []
  const { query } = pool
  pool.query = ((...parameters: [Asked] | [string, unknown[]]) => {
    const [asks, values] = parameters
    asked.push(typeof asks === 'string' ? { text: asks, values: values! } : asks)
    return Reflect.apply(query, pool, parameters)
  }) as typeof query
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
  await findRemoteClaim(pool, id, { recordId: id, peerId: id, agentId: id })
  await listNewestRemoteSteps(pool, id, remote)
  await listRemoteEntries(pool, id, remote, { afterVersion: 0, limit: 1, bytesMax: 1 })
  await findReceivedType(pool, id, id, '00')
  await listSharedRecords(pool, id, id, { after: { recordId: id, role: 'home' }, limit: 1 })
  await findSharedRecords(pool, id, id, id)
  await listSharePeers(pool, id, [id])
  await listChosenSalts(pool, id, id)
  await readChunks(pool, id, [{ seq: 0, chunk: 0, before: 0 }], 1)
  await listDayKeys(pool, id, { fromMs: 0, beforeMs: 1 })
  pool.query = query
  assert.equal(asked.length, 23)
  return asked
}
