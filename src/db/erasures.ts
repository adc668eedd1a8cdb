import type pg from 'pg'
import type { SignedLine } from '../proof/verify-entry.ts'
import { type SignedColumns, toSignedLine } from './signed-entries.ts'
import { fromUuid, toUuid } from './uuid.ts'

/*
 * What was erased. The signed entry comes first, and its row with it (append_entries); from then on no query of the API shows
 * the document (read-records.ts, read-entries.ts). The worker takes it away.
 */

/** Documents that can be erased: `erasures.document` takes these. */
export type ErasableDocument = 'payload'

/** What an erasure of a record's payload must name, and the entry that has erased it. */
export type ErasablePayload = {
  readonly digest: Buffer
  /** Of the entry that digests it. */
  readonly seq: number
  readonly erasedSeq: number | null
}

/** null: the ledger has no such record. */
export async function findErasablePayload(
  pool: pg.Pool,
  ledgerId: Uint8Array,
  recordId: Uint8Array,
): Promise<ErasablePayload | null> {
  const { rows } = await pool.query<{ digest: Buffer; first_seq: string; seq: string | null }>(
    `select r.digest, r.first_seq, x.seq from tallystick.records r
     left join tallystick.erasures x
       on x.ledger_id = r.ledger_id and x.subject_id = r.record_id and x.document = 'payload'
     where r.ledger_id = $1 and r.record_id = $2`,
    [toUuid(ledgerId), toUuid(recordId)],
  )
  const row = rows[0]
  if (!row) return null
  return {
    digest: row.digest,
    seq: Number(row.first_seq),
    erasedSeq: row.seq === null ? null : Number(row.seq),
  }
}

export type ErasureRow = {
  readonly reason: string | null
  readonly actorId: Uint8Array
  readonly keyId: Uint8Array
  readonly recordedAt: Date
  readonly leaf: Buffer
  readonly chain: Buffer
}

/** Of the erasure that an agent's entry at `seq` says. */
export async function getErasure(pool: pg.Pool, ledgerId: Uint8Array, seq: number): Promise<ErasureRow> {
  const { rows } = await pool.query<{
    reason: string | null
    actor_id: string
    key_id: string
    recorded_at: Date
    leaf: Buffer
    chain: Buffer
  }>(
    `select x.reason, e.actor_id, e.key_id, e.recorded_at, e.leaf, e.chain from tallystick.erasures x
     join tallystick.entries e on e.ledger_id = x.ledger_id and e.seq = x.seq
     where x.ledger_id = $1 and x.seq = $2`,
    [toUuid(ledgerId), seq],
  )
  const row = rows[0]
  if (!row) throw new Error(`entry ${seq} erased nothing`)
  const { reason, leaf, chain, recorded_at: recordedAt } = row
  return { reason, leaf, chain, recordedAt, actorId: fromUuid(row.actor_id), keyId: fromUuid(row.key_id) }
}

/** An erasure that was not carried out, with the entry that is said to order it and what that must name. */
export type PendingErasure = {
  readonly ledgerId: Uint8Array
  readonly subjectId: Uint8Array
  readonly document: ErasableDocument
  readonly seq: number
  readonly entry: SignedLine
  /** What is to be erased; null where there is no such document. */
  readonly erasable: { readonly digest: Buffer; readonly seq: number } | null
}

type PendingRow = SignedColumns & {
  ledger_id: string
  subject_id: string
  document: ErasableDocument
  seq: string
  digest: Buffer | null
  first_seq: string
}

const BEFORE_ALL = { ledgerId: new Uint8Array(16), seq: -1 }

/** Of all ledgers, along the index of what is pending; those after `after`. */
export async function listPendingErasures(
  pool: pg.Pool,
  after: Pick<PendingErasure, 'ledgerId' | 'seq'> | null,
  limit: number,
): Promise<PendingErasure[]> {
  const { ledgerId, seq } = after ?? BEFORE_ALL
  const { rows } = await pool.query<PendingRow>({
    name: 'list_pending_erasures',
    text: `select x.ledger_id, x.subject_id, x.document, x.seq, e.kind, e.recorded_at, e.leaf, e.envelope,
        r.digest, r.first_seq
      from (
        select * from tallystick.erasures
        where erased_at is null and (ledger_id, seq) > ($1::uuid, $2::int8) order by ledger_id, seq limit $3
      ) x
      join tallystick.entries e on e.ledger_id = x.ledger_id and e.seq = x.seq
      left join tallystick.records r
        on x.document = 'payload' and r.ledger_id = x.ledger_id and r.record_id = x.subject_id
      order by x.ledger_id, x.seq`,
    values: [toUuid(ledgerId), seq, limit],
  })
  return rows.map((row) => ({
    ledgerId: fromUuid(row.ledger_id),
    subjectId: fromUuid(row.subject_id),
    document: row.document,
    seq: Number(row.seq),
    entry: toSignedLine(row),
    erasable: row.digest && { digest: row.digest, seq: Number(row.first_seq) },
  }))
}

/** How many erasures were not carried out, of all ledgers. */
export async function countPendingErasures(pool: pg.Pool): Promise<number> {
  const { rows } = await pool.query<{ count: string }>(
    'select count(*) from tallystick.erasures where erased_at is null',
  )
  return Number(rows[0]!.count)
}

/** Takes away what the entry at `seq` erased; false where that was done before. Worker only: it MUST have verified the entry. */
export async function eraseDocument(pool: pg.Pool, ledgerId: Uint8Array, seq: number): Promise<boolean> {
  const { rows } = await pool.query<{ erased: boolean }>(
    'select tallystick.erase_document($1, $2) as erased',
    [toUuid(ledgerId), seq],
  )
  return rows[0]!.erased
}
