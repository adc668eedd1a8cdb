import type pg from 'pg'
import { PARENT_DEPTH_MAX } from '../limits.ts'
import type { EntryRowRead } from './read-entries.ts'
import { RECORD_COLUMNS, RECORD_TABLES, type RecordRowRead } from './read-records.ts'
import { toUuid } from './uuid.ts'

/** How deep a record lies below the first of its ancestors: 1 without a parent. null: the ledger has no such record. */
export async function findDepth(
  pool: pg.Pool,
  ledgerId: Uint8Array,
  recordId: Uint8Array,
): Promise<number | null> {
  const { rows } = await pool.query<{ depth: number | null }>({
    name: 'find_depth',
    text: `${UPWARD} select max(depth) as depth from upward`,
    values: [toUuid(ledgerId), toUuid(recordId)],
  })
  return rows[0]!.depth
}

/** The ancestors of a record, its parent first. */
export async function listAncestors(
  pool: pg.Pool,
  ledgerId: Uint8Array,
  recordId: Uint8Array,
): Promise<RecordRowRead[]> {
  const { rows } = await pool.query<RecordRowRead>({
    name: 'list_ancestors',
    text: `${UPWARD} select w.* from upward u cross join lateral (
        select ${RECORD_COLUMNS} from ${RECORD_TABLES}
        where r.ledger_id = $1 and r.record_id = u.record_id offset 0
      ) w
      where u.depth > 1 order by u.depth`,
    values: [toUuid(ledgerId), toUuid(recordId)],
  })
  return rows
}

/** Whoever wrote to the table could have made a circle: it is walked no longer than a tree may be deep. */
const UPWARD = `with recursive upward (record_id, parent_id, depth) as (
    select r.record_id, r.parent_id, 1 from tallystick.records r where r.ledger_id = $1 and r.record_id = $2
    union all
    select p.record_id, p.parent_id, u.depth + 1 from upward u
    cross join lateral (
      select r.record_id, r.parent_id from tallystick.records r
      where r.ledger_id = $1 and r.record_id = u.parent_id offset 0
    ) p
    where u.depth <= ${PARENT_DEPTH_MAX}
  )`

/**
 * Entries of one record's own chain after `afterSeq`, oldest first: as many as `bytesMax` bytes of envelopes hold, at most
 * `limit`, and one at least. Found from the record's newest entry backwards, by primary key.
 */
export async function listEntriesOfRecord(
  pool: pg.Pool,
  ledgerId: Uint8Array,
  recordId: Uint8Array,
  page: { afterSeq: number; limit: number; bytesMax: number },
): Promise<EntryRowRead[]> {
  const { rows } = await pool.query<EntryRowRead>({
    name: 'list_entries_of_record',
    text: `with recursive backward (seq, prev_seq, bytes) as (
        select e.seq, e.prev_seq, length(e.envelope)::int8 from tallystick.records r
        cross join lateral (
          select * from tallystick.entries x where x.ledger_id = $1 and x.seq = r.last_seq offset 0
        ) e
        where r.ledger_id = $1 and r.record_id = $2
        union all
        select e.seq, e.prev_seq, length(e.envelope) from backward b
        cross join lateral (
          select * from tallystick.entries x where x.ledger_id = $1 and x.seq = b.prev_seq offset 0
        ) e
        where e.seq > $3
      ), forward as (
        select seq, sum(bytes) over (order by seq) as bytes, row_number() over (order by seq) as place
        from backward where seq > $3
      )
      select e.seq, e.kind, e.recorded_at, e.leaf, e.chain, e.envelope from forward w
      cross join lateral (
        select * from tallystick.entries x where x.ledger_id = $1 and x.seq = w.seq offset 0
      ) e
      where w.place <= $4 and (w.bytes <= $5 or w.place = 1)
      order by e.seq`,
    values: [toUuid(ledgerId), toUuid(recordId), page.afterSeq, page.limit, page.bytesMax],
  })
  return rows
}
