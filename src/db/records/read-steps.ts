import type { Uuid } from '../../proof/ids.ts'
import type { DocumentName } from '../chain/append-entries.ts'
import type { Db } from '../connect/client.ts'
import { asBase64, PACKED_TYPES } from '../connect/packed-bytes.ts'

/** A step of a gated record: the step's entry, and the document whose digest the entry contains. */
export type StepRow = {
  recordId: Uuid
  seq: number
  kind: string
  version: number
  recordedAt: Date
  actorId: Uuid | null
  leaf: Buffer
  envelope: Buffer
  /** Number of the record's steps up to the requested version. It is counted from the record's entries. */
  steps: number
  revisions: number
  document: DocumentName | null
  subjectId: Uuid | null
  digest: Buffer | null
  /** Salt of the document. null as soon as the entry at `erasedSeq` erases the document. */
  salt: Buffer | null
  content: Buffer | null
  erasedSeq: number | null
}

export type StepLeaf = Omit<StepRow, 'envelope'>

/** A number larger than any version. It selects all steps of a record. */
export const EVERY_VERSION = 2 ** 31 - 1

/** A record, and the version up to which its steps are read. */
export type RecordVersion = { readonly ledgerId: Uuid; readonly recordId: Uuid; readonly version: number }

/**
 * Returns the newest step of each kind up to each record's version, in the order of `records`. A record has at most
 * eight such steps.
 *
 * Uses the index entries_by_record. For a record with hundreds of revisions it reads hundreds of index rows, but only
 * the envelopes that it returns.
 */
export function listNewestSteps(db: Db, records: readonly RecordVersion[]): Promise<StepRow[][]> {
  return listSteps(db, records, {
    name: 'list_newest_steps',
    envelope: `${asBase64('e.envelope')} as envelope,`,
  })
}

/**
 * Returns the same steps as listNewestSteps, but without the envelopes, which would be most of the transferred bytes.
 */
export function listNewestLeaves(db: Db, records: readonly RecordVersion[]): Promise<StepLeaf[][]> {
  return listSteps(db, records, { name: 'list_newest_leaves', envelope: '' })
}

async function listSteps<Row extends StepLeaf>(
  db: Db,
  records: readonly RecordVersion[],
  { name, envelope }: { readonly name: string; readonly envelope: string },
): Promise<Row[][]> {
  const { rows } = await db.query<Row & { ix: number }>({
    name,
    text: `select w.ix, w.record_id, e.seq, e.kind, e.version, e.recorded_at, e.actor_id, ${asBase64('e.leaf')} as leaf,
        ${envelope} n.steps, n.revisions, d.document, d.subject_id, ${asBase64('d.digest')} as digest,
        case when x.seq is null then ${asBase64('d.salt')} end as salt,
        case when x.seq is null then ${asBase64('d.content')} end as content, x.seq as erased_seq
      from unnest($1::uuid[], $2::uuid[], $3::int4[]) with ordinality w (ledger_id, record_id, version, ix)
      cross join lateral (
        select distinct on (s.kind) s.kind, s.seq, count(*) over () as steps,
          count(*) filter (where s.kind = 'revision-requested') over () as revisions
        from tallystick.entries s
        where s.ledger_id = w.ledger_id and s.subject_id = w.record_id and s.version > 1 and s.version <= w.version
        order by s.kind, s.version desc offset 0
      ) n
      cross join lateral (
        select * from tallystick.entries e where e.ledger_id = w.ledger_id and e.seq = n.seq offset 0
      ) e
      left join lateral (
        select * from tallystick.documents d where d.ledger_id = w.ledger_id and d.seq = n.seq offset 0
      ) d on true
      left join lateral (
        select x.seq from tallystick.erasures x
        where x.ledger_id = w.ledger_id and x.subject_id = d.subject_id and x.document = d.document and x.document_seq = d.seq
        offset 0
      ) x on true
      order by w.ix, e.seq`,
    values: [
      records.map(({ ledgerId }) => ledgerId),
      records.map(({ recordId }) => recordId),
      records.map(({ version }) => version),
    ],
    types: PACKED_TYPES,
  })
  const found: Row[][] = records.map(() => [])
  for (const row of rows) found[row.ix - 1]!.push(row)
  return found
}
