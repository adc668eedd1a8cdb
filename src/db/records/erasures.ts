import type pg from 'pg'
import type { Uuid } from '../../proof/ids.ts'
import { isOfBatch } from '../../proof/statement/batch-ids.ts'
import type { DocumentKind } from '../../proof/statement/document-subjects.ts'
import { digestOf, findBatchRecord } from '../chunks/read-chunks.ts'

/*
 * Reads documents that can be erased, and erasures. An erasure has two steps:
 *
 * 1. `append_entries` writes the signed entry and its row. From then on, no API query returns the document
 *    (read-records.ts, read-chunks.ts, read-steps.ts, read-entries.ts).
 * 2. The worker removes the document later (pending-erasures.ts).
 */

/**
 * A document that can be erased. `erasedSeq` is the seq of the entry that has erased it, or null if it was not erased.
 */
export type ErasableRow = {
  readonly document: DocumentKind
  /** Id of the completion. For a payload or a reason, it is the id of the record. */
  readonly subjectId: Uuid
  readonly digest: Uint8Array
  /** Seq of the entry that contains the document's digest. */
  readonly seq: number
  readonly erasedSeq: number | null
  readonly needed: ErasureBlock | null
  /**
   * Type and agents of a record in a batch. Holds on the record are found by them, because the record has no row of its
   * own. For other records, `type` is null and `agents` is empty.
   */
  readonly type: string | null
  readonly agents: readonly Uuid[]
}

/**
 * Reason why evidence that was offered to another ledger cannot be erased yet.
 *
 * - `by the decision`: the home ledger has not decided about the offer yet.
 * - `by the home`: the home ledger has accepted the step and sent the evidence back. Our copy stays until the home
 *   ledger erases the evidence.
 */
type ErasureBlock = 'by the decision' | 'by the home'

type ErasableColumns = {
  document: DocumentKind
  subjectId: Uuid
  digest: Buffer
  seq: number
  erasedSeq: number | null
  needed: ErasureBlock | null
}

/**
 * SQL that selects the documents of record $2 of ledger $1: the payload and the documents of its steps. If the record
 * belongs to another ledger, it selects the offered evidence.
 *
 * Steps are found by the index entries_by_record. Each document is found by the primary key of its table.
 */
const DOCUMENTS = `
  select d.document, d.subject_id, d.digest, d.seq, d.needed, x.seq as erased_seq
  from (
    select 'payload' as document, r.record_id as subject_id, r.digest, r.first_seq as seq, null as needed
    from tallystick.records r where r.ledger_id = $1 and r.record_id = $2
    union all
    select n.document, n.subject_id, n.digest, n.seq, null
    from tallystick.entries e
    cross join lateral (
      select * from tallystick.documents d where d.ledger_id = $1 and d.seq = e.seq offset 0
    ) n
    where e.ledger_id = $1 and e.subject_id = $2 and e.version > 1
    union all
    select n.document, n.subject_id, n.digest, n.seq, case
        when o.state = 'pending' then 'by the decision'
        when o.state = 'taken' and exists (
          select from tallystick.received_entries s
          cross join lateral (
            select r.erased_seq from tallystick.received_documents r where r.ledger_id = $1 and r.seq = s.seq offset 0
          ) r
          where s.ledger_id = $1 and s.peer_id = o.peer_id and s.record_id = $2 and s.version = o.version
            and r.erased_seq is null) then 'by the home' end
    from tallystick.offers o
    cross join lateral (
      select * from tallystick.documents d where d.ledger_id = $1 and d.seq = o.seq offset 0
    ) n
    where o.ledger_id = $1 and o.record_id = $2
  ) d
  left join lateral (
    select x.seq from tallystick.erasures x
    where x.ledger_id = $1 and x.subject_id = d.subject_id and x.document = d.document and x.document_seq = d.seq offset 0
  ) x on true`

/**
 * Returns the document, or null if the document or its record does not exist. `seq` is the entry that contains the
 * document's digest. If `seq` is null, the digest may be in any entry.
 */
export async function findErasable(
  pool: pg.Pool,
  ledgerId: Uuid,
  recordId: Uuid,
  { document, subjectId, seq }: Pick<ErasableRow, 'document' | 'subjectId'> & { readonly seq: number | null },
): Promise<ErasableRow | null> {
  if (document === 'payload' && isOfBatch(recordId)) return findPayloadOfBatch(pool, ledgerId, recordId)
  const { rows } = await pool.query<ErasableColumns>({
    name: 'find_erasable',
    text: `${DOCUMENTS}
      where d.document = $3 and d.subject_id = $4 and ($5::int8 is null or d.seq = $5)
      order by d.seq limit 1`,
    values: [ledgerId, recordId, document, subjectId, seq],
  })
  return rows[0] ? toErasable(rows[0]) : null
}

/**
 * Lists the record's documents from entries before `before`, oldest first. Leaves out documents that an entry up to
 * `before` has erased.
 */
export async function listErasable(
  pool: pg.Pool,
  ledgerId: Uuid,
  recordId: Uuid,
  { before = Number.MAX_SAFE_INTEGER, limit }: { readonly before?: number; readonly limit: number },
): Promise<ErasableRow[]> {
  // If no payload is found, the record belongs to another ledger. The id of such a record may look like the id of a
  // record in a batch.
  const payload = isOfBatch(recordId) ? await findPayloadOfBatch(pool, ledgerId, recordId) : null
  if (payload !== null)
    return payload.seq < before && (payload.erasedSeq ?? before + 1) > before ? [payload] : []
  const { rows } = await pool.query<ErasableColumns>({
    name: 'list_erasable',
    text: `${DOCUMENTS}
      where d.seq < $3 and (x.seq is null or x.seq > $3)
      order by d.seq limit $4`,
    values: [ledgerId, recordId, before, limit],
  })
  return rows.map(toErasable)
}

/**
 * Returns the payload of a record in a batch, which is its only document. Returns null if the record does not exist.
 */
async function findPayloadOfBatch(
  pool: pg.Pool,
  ledgerId: Uuid,
  recordId: Uuid,
): Promise<ErasableRow | null> {
  const record = await findBatchRecord(pool, ledgerId, recordId)
  if (record === null) return null
  const { seq, erasedSeq, type, actorId, onBehalfOf } = record
  const agents = onBehalfOf === null ? [actorId] : [actorId, onBehalfOf]
  const digest = digestOf(record)
  return { document: 'payload', subjectId: recordId, digest, seq, erasedSeq, needed: null, type, agents }
}

function toErasable({ document, subjectId, digest, seq, erasedSeq, needed }: ErasableColumns): ErasableRow {
  return {
    document,
    subjectId,
    digest,
    seq,
    erasedSeq,
    needed,
    type: null,
    agents: [],
  }
}

export type ErasureRow = {
  readonly documentSeq: number
  readonly reason: string | null
  readonly actorId: Uuid
  readonly keyId: Uuid
  readonly recordedAt: Date
  readonly leaf: Buffer
  readonly chain: Buffer
}

/** Returns the erasure that the entry at `seq` ordered. Throws if the entry ordered no erasure. */
export async function getErasure(pool: pg.Pool, ledgerId: Uuid, seq: number): Promise<ErasureRow> {
  const { rows } = await pool.query<{
    documentSeq: number
    reason: string | null
    actorId: Uuid
    keyId: Uuid
    recordedAt: Date
    leaf: Buffer
    chain: Buffer
  }>(
    `select x.document_seq, x.reason, e.actor_id, e.key_id, e.recorded_at, e.leaf, e.chain from tallystick.erasures x
     join tallystick.entries e on e.ledger_id = x.ledger_id and e.seq = x.seq
     where x.ledger_id = $1 and x.seq = $2`,
    [ledgerId, seq],
  )
  const row = rows[0]
  if (!row) throw new Error(`entry ${seq} erased nothing`)
  const { reason, leaf, chain, recordedAt } = row
  return {
    documentSeq: row.documentSeq,
    reason,
    leaf,
    chain,
    recordedAt,
    actorId: row.actorId,
    keyId: row.keyId,
  }
}
