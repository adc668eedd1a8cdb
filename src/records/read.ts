import type pg from 'pg'
import { findRecord, listRecordsOfEntry, type RecordRowRead } from '../db/read-records.ts'
import { fromUuid } from '../db/uuid.ts'
import { formatId, type IdPrefix } from '../proof/ids.ts'
import { type EntryView, renderBatch, renderRecord } from './render.ts'

/** The record as JSON, or null where the ledger has none of that id. */
export async function findRecordJson(
  pool: pg.Pool,
  ledgerId: Uint8Array,
  recordId: Uint8Array,
): Promise<string | null> {
  const row = await findRecord(pool, ledgerId, recordId)
  return row && renderRow(ledgerId, row)
}

/** What the request that wrote the entry at `seq` was answered: for replays. */
export async function getAnswerOfEntry(pool: pg.Pool, ledgerId: Uint8Array, seq: number): Promise<string> {
  const rows = await listRecordsOfEntry(pool, ledgerId, seq)
  const [first] = rows
  if (!first) throw new Error(`entry ${seq} made no record`)
  if (first.kind !== 'batch-notarized') return renderRow(ledgerId, first)
  return renderBatch({
    batch: idOf('bat', first.subject_id),
    entry: entryOf(first),
    records: rows.map((row) => ({
      id: idOf('rec', row.record_id),
      digest: row.digest.toString('hex'),
      salt: row.salt?.toString('base64url') ?? null,
    })),
  })
}

function renderRow(ledgerId: Uint8Array, row: RecordRowRead): string {
  return renderRecord({
    id: idOf('rec', row.record_id),
    ledger: formatId('led', ledgerId),
    type: row.type,
    state: row.state,
    version: row.version,
    nextEvents: [],
    payload: row.payload?.toString('utf8') ?? null,
    salt: row.salt?.toString('base64url') ?? null,
    digest: row.digest.toString('hex'),
    actor: idOf('agt', row.actor_id),
    key: idOf('key', row.key_id),
    onBehalfOf: row.on_behalf_of && idOf('agt', row.on_behalf_of),
    occurredAt: row.occurred_at?.toISOString() ?? null,
    recordedAt: row.recorded_at.toISOString(),
    entry: entryOf(row),
    batch: row.item_index === null ? null : idOf('bat', row.subject_id),
    metadata: row.metadata?.toString('utf8') ?? null,
  })
}

function entryOf(row: RecordRowRead): EntryView {
  return {
    seq: Number(row.seq),
    kind: row.kind,
    leaf: row.leaf.toString('hex'),
    chain: row.chain.toString('hex'),
  }
}

function idOf(prefix: IdPrefix, uuid: string): string {
  return formatId(prefix, fromUuid(uuid))
}
