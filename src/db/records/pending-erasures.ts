import type pg from 'pg'
import type { SignedLine } from '../../proof/entry/verify-entry.ts'
import { NIL_UUID, type Uuid } from '../../proof/ids.ts'
import { indexOfRecordId, isOfBatch } from '../../proof/statement/batch-ids.ts'
import type { DocumentKind } from '../../proof/statement/document-subjects.ts'
import { nativeProviders } from '../../signing/native.ts'
import { type SignedColumns, toSignedLine } from '../chain/signed-entries.ts'
import { CHUNK_RECORDS, decodeChunk, encodeChunk } from '../chunks/chunk-content.ts'
import { chunkKey, referencesOf } from '../chunks/chunk-keys.ts'
import { digestOf, findBatchRecord, findChunk, referencesDigestOf } from '../chunks/read-chunks.ts'
import { ERASURE_ATTEMPTS_MAX } from '../limits.ts'

/** An erasure that was not carried out, with the entry that is said to order it and what that must name. */
export type PendingErasure = {
  readonly ledgerId: Uuid
  readonly subjectId: Uuid
  readonly document: DocumentKind
  /** Seq of the entry that is said to digest it. */
  readonly documentSeq: number
  readonly seq: number
  readonly entry: SignedLine
  /** Digest of the document to erase; null if there is none, or it is the payload of a record of a batch: findErasedItem. */
  readonly digest: Uint8Array | null
}

type PendingRow = SignedColumns & {
  ledgerId: Uuid
  subjectId: Uuid
  document: DocumentKind
  documentSeq: number
  seq: number
  digest: Buffer | null
}

/** SQL over erasures `e`: where its ledger lives now, an erasure is carried out. */
const IS_HERE = `not exists (
  select from tallystick.chain_heads h where h.ledger_id = e.ledger_id and h.closed in ('moving', 'moved'))`

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
        select e.* from tallystick.erasures e
        where e.erased_at is null and (e.ledger_id, e.seq) > ($1::uuid, $2::int8) and ${IS_HERE} order by e.ledger_id, e.seq limit $3
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
    `select count(*) from tallystick.erasures e where e.erased_at is null and ${IS_HERE}`,
  )
  return rows[0]!.count
}

/** The erasure with the digest of the payload that it erases, if that is in a batch. Throws ProofError `chunk_syntax`. */
export async function findErasedItem(pool: pg.Pool, erasure: PendingErasure): Promise<PendingErasure> {
  if (!isOfItem(erasure)) return erasure
  const record = await findBatchRecord(pool, erasure.ledgerId, erasure.subjectId)
  return record?.seq === erasure.documentSeq ? { ...erasure, digest: digestOf(record) } : erasure
}

function isOfItem({ document, subjectId }: PendingErasure): boolean {
  return document === 'payload' && isOfBatch(subjectId)
}

/** Takes away what the entry at `seq` erased; false where that was done before. Worker only: it MUST have verified the entry. */
export async function eraseDocument(pool: pg.Pool, erasure: PendingErasure): Promise<boolean> {
  for (let attempt = 1; ; attempt++) {
    const rewritten = isOfItem(erasure) ? await rewriteChunk(pool, erasure) : null
    try {
      const { rows } = await pool.query<{ erased: boolean }>(
        'select tallystick.erase_document($1, $2, $3, $4, $5::bytea[]) as erased',
        [erasure.ledgerId, erasure.seq, rewritten?.before, rewritten?.after, rewritten?.keysGone],
      )
      return rows[0]!.erased
    } catch (error) {
      // Another record of the chunk was erased meanwhile.
      const isLate = (error as pg.DatabaseError).code === SERIALIZATION_FAILURE
      if (!isLate || attempt === ERASURE_ATTEMPTS_MAX) throw error
    }
  }
}

const SERIALIZATION_FAILURE = '40001'

/** The chunk of the erased record as it was read, and without the payload and all that lies with it. */
async function rewriteChunk(pool: pg.Pool, { ledgerId, subjectId, seq }: PendingErasure) {
  const chunk = await findChunk(pool, ledgerId, subjectId)
  if (chunk === null) throw new Error('the record of an erasure that was verified is not there')
  const records = decodeChunk(chunk.content, chunk.count)
  const i = indexOfRecordId(subjectId) % CHUNK_RECORDS
  const record = records[i]!
  const others = records.toSpliced(i, 1)
  const left = referencesOf(others)
  const gone = [...referencesOf([record])].filter((reference) => !left.has(reference))
  const document = { digest: digestOf(record), referencesDigest: referencesDigestOf(record), erasedSeq: seq }
  return {
    before: nativeProviders.sha256(chunk.content),
    after: encodeChunk(records.with(i, { ...record, document })),
    keysGone: gone.map(chunkKey.reference),
  }
}
