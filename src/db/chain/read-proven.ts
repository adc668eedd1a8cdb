import type { Uuid } from '../../proof/ids.ts'
import { isOfBatch } from '../../proof/statement/batch-ids.ts'
import { findChunk, recordOfChunk } from '../chunks/read-chunks.ts'
import type { Db } from '../connect/client.ts'
import { queryEntries } from './envelopes.ts'
import { type EntryRowRead, signerOf } from './read-entries.ts'

export async function findEntry(pool: Db, ledgerId: Uuid, seq: number): Promise<EntryRowRead | null> {
  const [entry] = await queryEntries<EntryRowRead>(pool, ledgerId, {
    name: 'find_entry',
    text: `select e.seq, e.kind, e.recorded_at, e.leaf, e.chain, e.envelope, ${signerOf('e')} as signer
      from tallystick.entries e where e.ledger_id = $1 and e.seq = $2`,
    values: [ledgerId, seq],
  })
  return entry ?? null
}

type RecordEntryRow = EntryRowRead & {
  readonly firstSeq: number
  readonly actorId: Uuid
  readonly onBehalfOf: Uuid | null
  readonly performerId: Uuid | null
}

/**
 * Returns the record's entry at `seq`. If `seq` is null, returns the record's first entry, which contains the payload's
 * digest. Returns null if the record has no such entry.
 */
export async function findEntryOfRecord(
  pool: Db,
  ledgerId: Uuid,
  recordId: Uuid,
  seq: number | null,
): Promise<RecordEntryRow | null> {
  if (isOfBatch(recordId)) return findEntryOfItem(pool, ledgerId, recordId, seq)
  const [entry] = await queryEntries<RecordEntryRow>(pool, ledgerId, {
    name: 'find_entry_of_record',
    text: `select r.first_seq, r.actor_id, r.on_behalf_of, g.performer_id,
        e.seq, e.kind, e.recorded_at, e.leaf, e.chain, e.envelope, ${signerOf('e')} as signer
      from tallystick.records r
      left join lateral (
        select * from tallystick.gated_records n where n.ledger_id = r.ledger_id and n.record_id = r.record_id offset 0
      ) g on true
      cross join lateral (
        select * from tallystick.entries e
        where e.ledger_id = r.ledger_id and e.seq = coalesce($3, r.first_seq)
          and (e.seq = r.first_seq or e.subject_id = r.record_id)
        offset 0
      ) e
      where r.ledger_id = $1 and r.record_id = $2`,
    values: [ledgerId, recordId, seq],
  })
  return entry ?? null
}

async function findEntryOfItem(
  pool: Db,
  ledgerId: Uuid,
  recordId: Uuid,
  seq: number | null,
): Promise<RecordEntryRow | null> {
  const chunk = await findChunk(pool, ledgerId, recordId)
  if (chunk === null) return null
  const [entry] = await queryEntries<EntryRowRead>(pool, ledgerId, {
    name: 'find_entry_of_item',
    text: `select e.seq, e.kind, e.recorded_at, e.leaf, e.chain, e.envelope, ${signerOf('e')} as signer
      from tallystick.entries e
      where e.ledger_id = $1 and e.seq = coalesce($3::int8, $2::int8) and (e.seq = $2::int8 or e.subject_id = $4)`,
    values: [ledgerId, chunk.seq, seq, recordId],
  })
  if (!entry) return null
  const { onBehalfOf } = await recordOfChunk(pool, chunk, recordId)
  return {
    ...entry,
    actorId: chunk.actorId,
    firstSeq: chunk.seq,
    onBehalfOf,
    performerId: null,
  }
}
