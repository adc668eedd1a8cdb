import type pg from 'pg'
import type { Uuid } from '../../proof/ids.ts'
import type { DocumentName } from '../chain/append-entries.ts'
import type { EntryRowRead } from '../chain/read-entries.ts'
import { PARENT_DEPTH_MAX } from '../limits.ts'
import { RECORD_COLUMNS, RECORD_TABLES, type RecordRowRead } from './read-records.ts'

/** How deep a record lies below the first of its ancestors: 1 without a parent. null: the ledger has no such record. */
export async function findDepth(pool: pg.Pool, ledgerId: Uuid, recordId: Uuid): Promise<number | null> {
  const { rows } = await pool.query<{ depth: number | null }>({
    name: 'find_depth',
    text: `${UPWARD} select max(depth) as depth from upward`,
    values: [ledgerId, recordId],
  })
  return rows[0]!.depth
}

/** The ancestors of a record, its parent first. */
export async function listAncestors(pool: pg.Pool, ledgerId: Uuid, recordId: Uuid): Promise<RecordRowRead[]> {
  const { rows } = await pool.query<RecordRowRead>({
    name: 'list_ancestors',
    text: `${UPWARD} select w.* from upward u cross join lateral (
        select ${RECORD_COLUMNS} from ${RECORD_TABLES}
        where r.ledger_id = $1 and r.record_id = u.record_id offset 0
      ) w
      where u.depth > 1 order by u.depth`,
    values: [ledgerId, recordId],
  })
  return rows
}

/** A writer of the table could have made a circle: the walk is no longer than a tree may be deep. */
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

/** One of a record's own entries, with the document that it digests beside the payload. */
export type RecordStepRow = EntryRowRead & {
  readonly version: number
  readonly document: DocumentName | null
  readonly subjectId: Uuid | null
  readonly digest: Buffer | null
  /** Null once the entry at `erased_seq` says that it is erased. */
  readonly salt: Buffer | null
  readonly content: Buffer | null
  readonly erasedSeq: number | null
}

/**
 * The entries of one record after `afterVersion`, oldest first: as many as `bytesMax` bytes of envelopes and documents hold, at
 * most `limit`, and one at least. Along the index entries_by_record; lengths are known without reading what is stored out of
 * line.
 */
export async function listEntriesOfRecord(
  pool: pg.Pool,
  ledgerId: Uuid,
  recordId: Uuid,
  page: { afterVersion: number; limit: number; bytesMax: number },
): Promise<RecordStepRow[]> {
  const { rows } = await pool.query<RecordStepRow>({
    name: 'list_entries_of_record',
    text: `with place as (
        select r.first_seq as seq, 1 as version from tallystick.records r
        where r.ledger_id = $1 and r.record_id = $2 and $3 < 1
        union all (
          select s.seq, s.version from tallystick.entries s
          where s.ledger_id = $1 and s.subject_id = $2 and s.version > 1 and s.version > $3
          order by s.version limit $4
        )
      ), sized as (
        select p.version, e.seq, e.kind, e.recorded_at, e.leaf, e.chain, e.envelope,
          d.document, d.subject_id, d.digest, d.salt, d.content,
          sum(length(e.envelope) + coalesce(length(d.content), 0)) over w as bytes, row_number() over w as nth
        from place p
        cross join lateral (
          select * from tallystick.entries e where e.ledger_id = $1 and e.seq = p.seq offset 0
        ) e
        left join lateral (
          select * from tallystick.documents d where d.ledger_id = $1 and d.seq = p.seq offset 0
        ) d on true
        window w as (order by p.version)
      )
      select z.version, z.seq, z.kind, z.recorded_at, z.leaf, z.chain, z.envelope, z.document, z.subject_id, z.digest,
        case when x.seq is null then z.salt end as salt, case when x.seq is null then z.content end as content,
        x.seq as erased_seq
      from sized z
      left join lateral (
        select x.seq from tallystick.erasures x
        where x.ledger_id = $1 and x.subject_id = z.subject_id and x.document = z.document and x.document_seq = z.seq
        offset 0
      ) x on true
      where z.nth <= $4 and (z.bytes <= $5 or z.nth = 1)
      order by z.version`,
    values: [ledgerId, recordId, page.afterVersion, page.limit, page.bytesMax],
  })
  return rows
}
