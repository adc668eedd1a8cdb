import assert from 'node:assert/strict'
import { test } from 'node:test'
import type pg from 'pg'
import {
  findCheckpoint,
  findCheckpointCovering,
  listCheckpoints,
  readLeaves,
} from '../../src/db/chain/checkpoints.ts'
import { findEntry, findEntryOfRecord } from '../../src/db/chain/read-proven.ts'
import { readTileSlices } from '../../src/db/chain/tree-tiles.ts'
import { findChunk, listBatchRecords } from '../../src/db/chunks/read-chunks.ts'
import { firstRecordId } from '../../src/proof/statement/batch-ids.ts'
import { connect } from '../helpers/connect.ts'
import { createTestDatabase } from '../helpers/database.ts'
import { randomId } from '../helpers/test-ledger.ts'

const ID = randomId()
const SLICES = [{ level: 0, tile: 3, offset: 7, count: 9 }]

/** Queries of a proof, by the table that they read. Each of these tables may grow without limit. */
const READS: Record<string, (db: pg.Pool) => Promise<unknown>> = {
  'a tile': (db) => readTileSlices(db, ID, SLICES),
  leaves: (db) => readLeaves(db, ID, 0, 0),
  'an entry': (db) => findEntry(db, ID, 7),
  'a record’s first entry': (db) => findEntryOfRecord(db, ID, ID, null),
  'a record’s entry': (db) => findEntryOfRecord(db, ID, ID, 7),
  'a chunk of a batch': (db) => findChunk(db, ID, firstRecordId(ID)),
  'a batch’s items': (db) => listBatchRecords(db, ID, 7),
  'the newest checkpoint': (db) => findCheckpoint(db, ID, 7),
  'a checkpoint that covers a size': (db) => findCheckpointCovering(db, ID, 7),
  'a page of checkpoints': (db) => listCheckpoints(db, ID, 7, 50),
}

test('every read of a proof is by primary key or index, in a plan made on empty tables', async (t) => {
  const client = await connect(t, (await createTestDatabase(t)).apiUrl)
  await client.query('set plan_cache_mode = force_generic_plan')
  for (const [what, read] of Object.entries(READS)) {
    const plan = await planOf(client, read)
    assert.match(plan, /Index Cond/, `${what}:\n${plan}`)
    // A filter in a plan means that more rows are read than needed. The test allows two exceptions: sorting the
    // cosignatures of a checkpoint, because a checkpoint has few, and checking the record of an entry that was already
    // found.
    assert.doesNotMatch(
      plan,
      /Seq Scan|Sort Key: (?!\(\(s\.peer_id IS NOT NULL\)\), s\.cosigned_at)|Filter: (?!.*first_seq)/,
      `${what}:\n${plan}`,
    )
  }
})

/** Returns the generic plan that a session caches for any values. */
async function planOf(client: pg.Client, read: (db: pg.Pool) => Promise<unknown>): Promise<string> {
  let plan = ''
  const explaining = {
    async query(first: string | { text: string; values: unknown[] }, given: unknown[] = []) {
      const { text, values } = typeof first === 'string' ? { text: first, values: given } : first
      await client.query(`prepare of_proof as ${text}`)
      const literals = values.map((value) => literalOf(client, value)).join(', ')
      const { rows } = await client.query(`explain (costs off) execute of_proof (${literals})`)
      await client.query('deallocate of_proof')
      plan += rows.map((row) => row['QUERY PLAN']).join('\n')
      return client.query(text, values)
    },
  }
  await read(explaining as unknown as pg.Pool)
  return plan
}

function literalOf(client: pg.Client, value: unknown): string {
  if (value === null) return 'null'
  return client.escapeLiteral(Array.isArray(value) ? `{${value.join(',')}}` : String(value))
}
