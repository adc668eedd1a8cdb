import type pg from 'pg'
import { findRecord, listRecordsOfEntry, type RecordRowRead } from '../db/read-records.ts'
import { fromUuid, toUuid } from '../db/uuid.ts'
import { parseEnvelope } from '../proof/cose.ts'
import { ProofError } from '../proof/error.ts'
import { formatId, type IdPrefix } from '../proof/ids.ts'
import { parseStatement } from '../proof/statement.ts'
import { type EntryView, type ErasureView, renderBatch, renderRecord } from './render.ts'

/**
 * The record as JSON, or null where the ledger has none of that id. `ownAgent`: whose records alone may be seen, or null; of
 * others nobody hears that they are there.
 */
export async function findRecordJson(
  pool: pg.Pool,
  ledgerId: Uint8Array,
  recordId: Uint8Array,
  ownAgent: Uint8Array | null,
): Promise<string | null> {
  const row = await findRecord(pool, ledgerId, recordId)
  return row && isVisible(row, ownAgent) ? renderRow(ledgerId, row) : null
}

/** Whether a caller who sees the records of `ownAgent` only (null: all) sees this one. */
export function isVisible(
  row: Pick<RecordRowRead, 'actor_id' | 'on_behalf_of'>,
  ownAgent: Uint8Array | null,
): boolean {
  if (ownAgent === null) return true
  const own = toUuid(ownAgent)
  return row.actor_id === own || row.on_behalf_of === own
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

export function renderRow(ledgerId: Uint8Array, row: RecordRowRead): string {
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
    parent: row.parent_id && idOf('rec', row.parent_id),
    references: row.reference_list?.toString('utf8') ?? null,
    occurredAt: row.occurred_at?.toISOString() ?? null,
    recordedAt: row.recorded_at.toISOString(),
    entry: entryOf(row),
    batch: row.item_index === null ? null : idOf('bat', row.subject_id),
    metadata: row.metadata?.toString('utf8') ?? null,
    erasure: erasureOf(row),
  })
}

function erasureOf(row: RecordRowRead): ErasureView | null {
  if (row.erasure_seq === null) return null
  return {
    code: codeOf(row.erasure_envelope!),
    by: row.erasure_actor_id === null ? 'system' : idOf('agt', row.erasure_actor_id),
    recordedAt: row.erasure_recorded_at!.toISOString(),
    seq: Number(row.erasure_seq),
  }
}

/** Why something was erased: that stands in the signed statement only. null where it is none. */
function codeOf(envelope: Uint8Array): string | null {
  try {
    const { kind, predicate } = parseStatement(parseEnvelope(envelope).payload)
    return kind === 'payload-erased' ? (predicate['code'] as string) : null
  } catch (error) {
    if (error instanceof ProofError) return null
    throw error
  }
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
