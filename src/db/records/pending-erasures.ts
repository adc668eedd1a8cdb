import type pg from 'pg'
import type { SignedLine } from '../../proof/entry/verify-entry.ts'
import { NIL_UUID, type Uuid } from '../../proof/ids.ts'
import type { DocumentKind } from '../../proof/statement/document-subjects.ts'
import { type SignedColumns, toSignedLine } from '../chain/signed-entries.ts'

/** An erasure that was not carried out, with the entry that is said to order it and what that must name. */
export type PendingErasure = {
  readonly ledgerId: Uuid
  readonly subjectId: Uuid
  readonly document: DocumentKind
  /** Seq of the entry that is said to digest it. */
  readonly documentSeq: number
  readonly seq: number
  readonly entry: SignedLine
  /** Digest of the document to erase; null if there is none. */
  readonly digest: Buffer | null
}

type PendingRow = SignedColumns & {
  ledgerId: Uuid
  subjectId: Uuid
  document: DocumentKind
  documentSeq: number
  seq: number
  digest: Buffer | null
}

const BEFORE_ALL = { ledgerId: NIL_UUID, seq: -1 }

/** Pending erasures of all ledgers after `after`, along their index. */
export async function listPendingErasures(
  pool: pg.Pool,
  after: Pick<PendingErasure, 'ledgerId' | 'seq'> | null,
  limit: number,
): Promise<PendingErasure[]> {
  const { ledgerId, seq } = after ?? BEFORE_ALL
  const { rows } = await pool.query<PendingRow>({
    name: 'list_pending_erasures',
    text: `select x.ledger_id, x.subject_id, x.document, x.document_seq, x.seq, e.kind, e.recorded_at, e.leaf, e.envelope,
        coalesce(r.digest, d.digest) as digest
      from (
        select * from tallystick.erasures
        where erased_at is null and (ledger_id, seq) > ($1::uuid, $2::int8) order by ledger_id, seq limit $3
      ) x
      join tallystick.entries e on e.ledger_id = x.ledger_id and e.seq = x.seq
      left join tallystick.records r
        on x.document = 'payload' and r.ledger_id = x.ledger_id and r.record_id = x.subject_id and r.first_seq = x.document_seq
      left join tallystick.documents d
        on d.document = x.document and d.ledger_id = x.ledger_id and d.seq = x.document_seq and d.subject_id = x.subject_id
      order by x.ledger_id, x.seq`,
    values: [ledgerId, seq, limit],
  })
  return rows.map((row) => ({
    ledgerId: row.ledgerId,
    subjectId: row.subjectId,
    document: row.document,
    documentSeq: row.documentSeq,
    seq: row.seq,
    entry: toSignedLine(row),
    digest: row.digest,
  }))
}

/** How many erasures were not carried out, of all ledgers. */
export async function countPendingErasures(pool: pg.Pool): Promise<number> {
  const { rows } = await pool.query<{ count: number }>(
    'select count(*) from tallystick.erasures where erased_at is null',
  )
  return rows[0]!.count
}

/** Takes away what the entry at `seq` erased; false where that was done before. Worker only: it MUST have verified the entry. */
export async function eraseDocument(pool: pg.Pool, ledgerId: Uuid, seq: number): Promise<boolean> {
  const { rows } = await pool.query<{ erased: boolean }>(
    'select tallystick.erase_document($1, $2) as erased',
    [ledgerId, seq],
  )
  return rows[0]!.erased
}
