import type pg from 'pg'
import type { SignedLine } from '../../proof/entry/verify-entry.ts'
import { NIL_UUID, type Uuid } from '../../proof/ids.ts'
import { indexOfRecordId, isOfBatch } from '../../proof/statement/batch-ids.ts'
import type { DocumentKind } from '../../proof/statement/document-subjects.ts'
import { type SignedColumns, toSignedLine } from '../chain/signed-entries.ts'
import { CHUNK_RECORDS, type ChunkRecord, decodeChunk } from '../chunks/chunk-content.ts'
import { chunkKey, referencesOf } from '../chunks/chunk-keys.ts'
import {
  CHUNK_CONTENT,
  chunkIdOf,
  digestOf,
  encodeStored,
  findArchivedChunks,
  readContent,
  referencesDigestOf,
  type StoredChunk,
  storedDigest,
} from '../chunks/read-chunks.ts'
import type { Db } from '../connect/client.ts'
import { PACKED_TYPES } from '../connect/packed-bytes.ts'

/**
 * An erasure that has not been carried out, with the entry that must have ordered it. The caller must verify that
 * entry.
 */
export type PendingErasure = {
  readonly ledgerId: Uuid
  readonly subjectId: Uuid
  readonly document: DocumentKind
  /** Seq of the entry that must contain the document's digest. */
  readonly documentSeq: number
  readonly seq: number
  readonly entry: SignedLine
  /**
   * Digest of the document to erase. null if the document does not exist, and for the payload of a batch record, whose
   * digest comes from readErasedChunks.
   */
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

/**
 * SQL condition over erasures `e`. It is false if the ledger was moved or is being moved to another database. That
 * database then carries out the erasure.
 */
const IS_HERE = `not exists (
  select from tallystick.chain_heads h where h.ledger_id = e.ledger_id and h.closed in ('moving', 'moved'))`

const BEFORE_ALL = { ledgerId: NIL_UUID, seq: -1 }

/** Lists pending erasures of all ledgers in the order of ledger and seq. Begins after the erasure `after`. */
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

/** A position in the list of records that have a data subject's label, but no payload any more. */
export type LabelPosition = Pick<PendingErasure, 'ledgerId'> & { readonly recordId: Uuid }

/**
 * Removes the data subjects' labels of gated records that have ended and have no document left. Visits at most `limit`
 * records after the position `after`. Returns the position at which the next call continues, or null if all records
 * were visited.
 */
export async function forgetLabels(
  pool: pg.Pool,
  after: LabelPosition | null,
  limit: number,
): Promise<LabelPosition | null> {
  const { ledgerId, recordId } = after ?? { ledgerId: NIL_UUID, recordId: NIL_UUID }
  const { rows } = await pool.query<{ lastLedger: Uuid | null; lastRecord: Uuid }>({
    name: 'forget_labels',
    text: 'select last_ledger, last_record from tallystick.forget_labels($1, $2, $3)',
    values: [ledgerId, recordId, limit],
  })
  const [{ lastLedger, lastRecord }] = rows as [(typeof rows)[number]]
  return lastLedger && { ledgerId: lastLedger, recordId: lastRecord }
}

export async function countPendingErasures(pool: pg.Pool): Promise<number> {
  const { rows } = await pool.query<{ count: number }>(
    `select count(*) from tallystick.erasures e where e.erased_at is null and ${IS_HERE}`,
  )
  return rows[0]!.count
}

export function isOfItem({ document, subjectId }: Pick<PendingErasure, 'document' | 'subjectId'>): boolean {
  return document === 'payload' && isOfBatch(subjectId)
}

/** A chunk as it was before the erasures of its records. */
export type ErasedChunk = {
  readonly seq: number
  readonly chunk: number
  readonly stored: Uint8Array
  readonly encode: (records: readonly ChunkRecord[]) => Uint8Array
  readonly records: readonly ChunkRecord[]
}

/**
 * Reads the chunks that contain records of these erasures. Returns a map from the id of a chunk's first record to the
 * chunk. Throws ProofError `chunk_syntax`.
 */
export async function readErasedChunks(
  pool: pg.Pool,
  ledgerId: Uuid,
  erasures: readonly PendingErasure[],
): Promise<Map<Uuid, ErasedChunk>> {
  const ids = new Set(erasures.filter(isOfItem).map(({ subjectId }) => chunkIdOf(subjectId)))
  if (ids.size === 0) return new Map()
  const { rows } = await pool.query<StoredChunk & { erasedSeq: number | null }>({
    name: 'read_erased_chunks',
    text: `select ${CHUNK_CONTENT}, c.erased_seq
      from unnest($2::uuid[]) i (first_record_id)
      cross join lateral (
        select * from tallystick.batch_chunks x
        where x.ledger_id = $1 and x.first_record_id = i.first_record_id offset 0
      ) c`,
    values: [ledgerId, [...ids]],
    types: PACKED_TYPES,
  })
  const chunks = new Map<Uuid, ErasedChunk>()
  for (const row of rows) {
    const { seq, chunk, firstRecordId, count } = row
    chunks.set(firstRecordId, {
      ...{ seq, chunk },
      stored: storedDigest(row),
      encode: (records) => encodeStored(row, records),
      records: decodeChunk(await readContent(pool, row), count),
    })
  }
  return chunks
}

/**
 * Returns the erasures whose documents are in the archive. While the archive is unreachable, these erasures must wait.
 */
export async function listWaitingForArchive(
  pool: pg.Pool,
  ledgerId: Uuid,
  erasures: readonly PendingErasure[],
): Promise<ReadonlySet<PendingErasure>> {
  const ofItems = erasures.filter(isOfItem)
  const ids = new Set(ofItems.map(({ subjectId }) => chunkIdOf(subjectId)))
  const archived = await findArchivedChunks(pool, ledgerId, ids)
  return new Set(ofItems.filter(({ subjectId }) => archived.has(chunkIdOf(subjectId))))
}

/** Returns the digest of the payload to erase in a batch, or null if the batch has no such record. */
export function digestOfItem(
  chunks: ReadonlyMap<Uuid, ErasedChunk>,
  { subjectId, documentSeq }: PendingErasure,
): Uint8Array | null {
  const chunk = chunks.get(chunkIdOf(subjectId))
  const record = chunk?.records[indexOfRecordId(subjectId) % CHUNK_RECORDS]
  return record && chunk.seq === documentSeq ? digestOf(record) : null
}

/**
 * Removes the erased documents in one transaction, and rewrites each chunk once. Returns how many of the documents
 * still existed.
 *
 * Only the worker calls this function. The worker MUST have verified the entries. Throws with code 40001 if a chunk has
 * changed since the worker read it.
 */
export async function eraseDocuments(
  pool: Db,
  ledgerId: Uuid,
  erasures: readonly PendingErasure[],
  chunks: ReadonlyMap<Uuid, ErasedChunk>,
): Promise<number> {
  const rewritten = rewriteChunks(erasures, chunks)
  const gone = rewritten.flatMap(({ keysGone }, i) => keysGone.map((key) => ({ chunk: i + 1, key })))
  const { rows } = await pool.query<{ erased: number }>({
    name: 'erase_documents',
    text: `select tallystick.erase_documents($1, $2::int8[], $3::int8[], $4::int4[], $5::bytea[], $6::bytea[], $7::int4[], $8::bytea[]) as erased`,
    values: [
      ledgerId,
      erasures.map(({ seq }) => seq),
      rewritten.map(({ seq }) => seq),
      rewritten.map(({ chunk }) => chunk),
      rewritten.map(({ before }) => before),
      rewritten.map(({ after }) => after),
      gone.map(({ chunk }) => chunk),
      gone.map(({ key }) => key),
    ],
  })
  return rows[0]!.erased
}

/** Returns whether the error means that another worker has rewritten a chunk since it was read. */
export function isConcurrentChange(error: unknown): boolean {
  return (error as pg.DatabaseError).code === SERIALIZATION_FAILURE
}

const SERIALIZATION_FAILURE = '40001'

/** Rewrites the chunks of erased records. Replaces an erased payload with its digest. All other content stays. */
function rewriteChunks(erasures: readonly PendingErasure[], chunks: ReadonlyMap<Uuid, ErasedChunk>) {
  const seqs = new Map<Uuid, Map<number, number>>()
  for (const erasure of erasures.filter(isOfItem)) {
    const id = chunkIdOf(erasure.subjectId)
    const ofChunk = seqs.get(id) ?? new Map<number, number>()
    seqs.set(id, ofChunk.set(indexOfRecordId(erasure.subjectId) % CHUNK_RECORDS, erasure.seq))
  }
  return Array.from(seqs, ([id, ofChunk]) => rewriteChunk(chunks.get(id)!, ofChunk))
}

/**
 * Returns the chunk before and after the erasures, and the reference keys that no remaining record of the chunk has.
 * `erased` maps a record's index in the chunk to the seq of its erasure.
 */
function rewriteChunk(
  { seq, chunk, stored, encode, records }: ErasedChunk,
  erased: ReadonlyMap<number, number>,
) {
  const left = referencesOf(records.filter((_, i) => !erased.has(i)))
  const gone = [...referencesOf(records.filter((_, i) => erased.has(i)))].filter((one) => !left.has(one))
  const after = records.map((record, i): ChunkRecord => {
    const erasedSeq = erased.get(i)
    if (erasedSeq === undefined) return record
    const document = { digest: digestOf(record), referencesDigest: referencesDigestOf(record), erasedSeq }
    return { ...record, document }
  })
  return {
    ...{ seq, chunk },
    before: stored,
    after: encode(after),
    keysGone: gone.map(chunkKey.reference),
  }
}
