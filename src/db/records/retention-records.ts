import { setImmediate } from 'node:timers/promises'
import type pg from 'pg'
import type { Uuid } from '../../proof/ids.ts'
import {
  type BatchRecord,
  CHUNK_COLUMNS,
  CHUNK_ERASURES,
  type ChunkColumns,
  digestOf,
  recordsOfChunk,
} from '../chunks/read-chunks.ts'
import { PACKED_TYPES } from '../connect/packed-bytes.ts'
import {
  RETENTION_CHUNKS_PER_QUERY,
  RETENTION_ENTRIES_PER_PAGE,
  RETENTION_RECORDS_PER_PAGE,
} from '../limits.ts'

/*
 * Reads the members of records that decide about retention. Records of batches and records with rows of their own are
 * visited together, in chain order.
 */

export type RetentionRecord = {
  readonly recordId: Uuid
  readonly type: string
  readonly agents: readonly Uuid[]
  readonly madeSeq: number
  /** Time of the record's last change. null if the record is still open. */
  readonly since: Date | null
  readonly isGated: boolean
  /** True if the payload is stored and no entry has erased it. */
  readonly hasPayload: boolean
}

/**
 * Called for each record, in chain order. `digest` computes the payload's digest. It must not be called any more after
 * the visitor has returned.
 */
type Visit = (record: RetentionRecord, digest: () => Uint8Array) => void

/**
 * Visits one page of records that were made before `before`. The page begins at entry `from`.
 *
 * Returns the entry at which the next page begins, or null if all records that are old enough were visited. Lets other
 * work of the event loop run after each chunk.
 */
export async function readRetentionPage(
  pool: pg.Pool,
  ledgerId: Uuid,
  { from, before }: { readonly from: number; readonly before: Date },
  visit: Visit,
): Promise<number | null> {
  const { rows } = await pool.query<{
    seq: number
    version: number | null
    itemCount: number | null
    recordedAt: Date
  }>({
    name: 'read_kept_entries',
    text: `select seq, version, item_count, recorded_at from tallystick.entries
      where ledger_id = $1 and seq >= $2 order by seq limit $3`,
    values: [ledgerId, from, RETENTION_ENTRIES_PER_PAGE],
  })
  let end = from
  let count = 0
  let isLast = rows.length < RETENTION_ENTRIES_PER_PAGE
  const batches: number[] = []
  for (const { seq, version, itemCount, recordedAt } of rows) {
    isLast ||= version === 1 && recordedAt >= before
    if (version === 1 && recordedAt >= before) break
    if (count > 0 && count + (itemCount ?? 1) > RETENTION_RECORDS_PER_PAGE) {
      isLast = false
      break
    }
    if (itemCount !== null) batches.push(seq)
    count += itemCount ?? 1
    end = seq + 1
  }
  const singles = end > from ? await readRows(pool, ledgerId, from, end) : []
  for (const seq of batches) {
    while (singles[0] && singles[0].madeSeq < seq) visitRow(singles.shift()!, visit)
    await visitItems(pool, ledgerId, seq, visit)
  }
  for (const row of singles) visitRow(row, visit)
  return isLast ? null : end
}

type KeptRow = RetentionRecord & { readonly digest: Buffer }

function visitRow({ digest, ...record }: KeptRow, visit: Visit): void {
  visit(record, () => digest)
}

async function readRows(pool: pg.Pool, ledgerId: Uuid, from: number, end: number): Promise<KeptRow[]> {
  const { rows } = await pool.query<KeptRow>({
    name: 'read_kept_records',
    text: `select r.record_id, r.type, array_remove(array[r.actor_id, r.on_behalf_of, g.performer_id], null) as agents,
        r.first_seq as made_seq,
        case when g.state is null then e.recorded_at when g.ended_as <> '' then l.recorded_at end as since,
        g.state is not null as is_gated, r.digest, r.payload is not null and x.seq is null as has_payload
      from tallystick.records r
      join tallystick.entries e on e.ledger_id = r.ledger_id and e.seq = r.first_seq
      left join lateral (
        select g.state, g.ended_as, g.performer_id, g.last_seq from tallystick.gated_records g
        where g.ledger_id = r.ledger_id and g.record_id = r.record_id offset 0
      ) g on true
      left join lateral (
        select l.recorded_at from tallystick.entries l where l.ledger_id = r.ledger_id and l.seq = g.last_seq offset 0
      ) l on true
      left join lateral (
        select x.seq from tallystick.erasures x
        where x.ledger_id = r.ledger_id and x.subject_id = r.record_id and x.document = 'payload' and x.document_seq = r.first_seq
        offset 0
      ) x on true
      where r.ledger_id = $1 and r.first_seq >= $2 and r.first_seq < $3
      order by r.first_seq`,
    values: [ledgerId, from, end],
  })
  return rows
}

type ChunkOfBatch = ChunkColumns & { actorId: Uuid; recordedAt: Date }

async function visitItems(pool: pg.Pool, ledgerId: Uuid, seq: number, visit: Visit): Promise<void> {
  for (let after = -1; ; ) {
    const { rows } = await pool.query<ChunkOfBatch>({
      name: 'read_kept_chunks',
      text: `select ${CHUNK_COLUMNS}, e.actor_id, e.recorded_at from tallystick.batch_chunks c
        join tallystick.entries e on e.ledger_id = c.ledger_id and e.seq = c.seq
        ${CHUNK_ERASURES}
        where c.ledger_id = $1 and c.seq = $2 and c.chunk > $3
        order by c.chunk limit $4`,
      values: [ledgerId, seq, after, RETENTION_CHUNKS_PER_QUERY],
      types: PACKED_TYPES,
    })
    for (const row of rows) {
      visitChunk(row, await recordsOfChunk(pool, row), visit)
      await setImmediate()
    }
    if (rows.length < RETENTION_CHUNKS_PER_QUERY) return
    after = rows.at(-1)!.chunk
  }
}

function visitChunk(row: ChunkOfBatch, records: readonly BatchRecord[], visit: Visit): void {
  for (const record of records) {
    const retentionRecord = {
      recordId: record.recordId,
      type: record.type,
      agents: record.onBehalfOf === null ? [row.actorId] : [row.actorId, record.onBehalfOf],
      madeSeq: row.seq,
      since: row.recordedAt,
      isGated: false,
      hasPayload: record.erasedSeq === null,
    }
    visit(retentionRecord, () => digestOf(record))
  }
}
