import { setImmediate } from 'node:timers/promises'
import { ProofError } from '../../proof/error.ts'
import type { Uuid } from '../../proof/ids.ts'
import { indexOfRecordId, isOfBatch, recordIdAt } from '../../proof/statement/batch-ids.ts'
import { sha256 } from '../../signing/sha256.ts'
import { archiveOf, type ChunkInArchive, type PieceInArchive, type ReadsArchive } from '../connect/archive.ts'
import type { Db } from '../connect/client.ts'
import { asBase64, PACKED_TYPES } from '../connect/packed-bytes.ts'
import {
  CHUNK_RECORDS,
  type ChunkRecord,
  decodeChunk,
  decodePlain,
  decompressChunk,
  encodeChunk,
} from './chunk-content.ts'
import { decodeMetadata, encodeMetadata } from './chunk-metadata.ts'
import { payloadDigest, referencesDigest } from './item.ts'

/*
 * Reads records of batches. No other file reads them.
 *
 * The content of a chunk is in its row, or in the archive after it has left Postgres
 * (docs/operate/backup-and-archive.md#content-that-leaves-postgres). readContent reads it from either place.
 */

/** SQL that selects the erasures of records of chunk `c`, as `[[record, seq], …]`. */
const ERASURES_OF_CHUNK = `select json_agg(json_build_array(d.subject_id, d.seq)) as erasures from tallystick.erasures d
    where d.ledger_id = c.ledger_id and d.document = 'payload' and d.document_seq = c.seq
      and d.subject_id between c.first_record_id
        and (left(c.first_record_id::text, 33) || lpad(to_hex(64 * c.chunk + c.count - 1), 3, '0'))::uuid`

/**
 * SQL for the columns of chunk `c` that readContent needs. A query with these columns MUST use PACKED_TYPES.
 *
 * The columns about the archive are in a `case`, because a join would search the pieces of all chunks.
 */
export const CHUNK_CONTENT = `c.seq, c.chunk, c.first_record_id, c.count, ${asBase64('c.content')} as content, case when c.content is null then (
    select json_build_object('ledgerId', p.ledger_id, 'from', p.from_seq, 'lines', encode(p.lines_digest, 'hex'),
      'linesBytes', p.lines_bytes, 'documents', encode(p.documents_digest, 'hex'), 'documentsBytes', p.documents_bytes, 'keys', (
        select encode(k.sealed, 'base64') from tallystick.archive_keys k where k.ledger_id = p.ledger_id and k.from_seq = p.from_seq
      ), 'metadata', encode(c.metadata, 'base64'), 'erasures', (${ERASURES_OF_CHUNK}))
    from tallystick.archive_pieces p
    where p.ledger_id = c.ledger_id and p.from_seq <= c.seq order by p.from_seq desc limit 1
  ) end as archived`

/**
 * SQL for the columns of CHUNK_CONTENT, and for the erasures of the chunk's records. Includes erasures that are already
 * in the chain, but that the worker has not carried out yet.
 */
export const CHUNK_COLUMNS = `${CHUNK_CONTENT}, d.erasures`

/**
 * SQL for the length of the content of chunk `n`. Postgres gets it without reading the content. For content that is
 * only in the archive, it is the length that the content had in Postgres.
 */
export const CHUNK_BYTES = 'coalesce(n.released_bytes, length(n.content))'

export const CHUNK_ERASURES = `left join lateral (${ERASURES_OF_CHUNK}) d on true`

/** A chunk with the columns of CHUNK_CONTENT. Only readContent uses `content` and `archived`. */
export type StoredChunk = Omit<ChunkInArchive, 'place' | 'erasures'> & {
  readonly content: Buffer | null
  readonly archived: ArchivedColumn | null
}

/**
 * The archive piece that contains the content, and the erasures of the chunk's records. Erasures and keys MUST be read
 * at the same moment, so they are in one column.
 */
type ArchivedColumn = PieceInArchive & {
  /** Metadata of the chunk's records in base64. null if no record has metadata. */
  readonly metadata: string | null
  readonly erasures: readonly [recordId: Uuid, seq: number][] | null
}

export type ChunkColumns = StoredChunk & {
  readonly erasures: readonly [recordId: Uuid, seq: number][] | null
}

export type ChunkInPostgres = ChunkColumns & { readonly content: Buffer }

/**
 * Returns the content (docs/formats/chunks.md), from Postgres or the archive. Throws ApiError `archive_unavailable`
 * and ProofError.
 */
export async function readContent(from: Db | ReadsArchive, row: StoredChunk): Promise<Buffer> {
  const { content, archived, seq, chunk, firstRecordId, count } = row
  if (content !== null) return content
  if (archived === null)
    throw new ProofError(
      'chunk_syntax',
      `the content of chunk ${chunk} of seq ${seq} is neither in Postgres nor in the archive`,
    )
  const { metadata: storedMetadata, erasures, ...piece } = archived
  const copy = await archiveOf(from).read({
    ...{ piece, seq, chunk, firstRecordId, count },
    erasures: new Map(erasures),
  })
  if (storedMetadata === null) return Buffer.from(copy)
  const metadata = decodeMetadata(Buffer.from(storedMetadata, 'base64'), count)
  return encodeChunk(decodeChunk(copy, count).map((record, i) => withMetadata(record, metadata[i]!)))
}

function withMetadata(record: ChunkRecord, metadata: Uint8Array | null): ChunkRecord {
  const { document } = record
  if (metadata === null || document.erasedSeq !== undefined) return record
  return { ...record, document: { ...document, metadata } }
}

/** Yields each row with its content. Throws the errors of readContent. */
export async function* streamContent<T extends StoredChunk>(
  db: Db,
  rows: AsyncIterable<T>,
): AsyncGenerator<T & { readonly content: Buffer }> {
  for await (const row of rows) yield { ...row, content: await readContent(db, row) }
}

/**
 * Returns the SHA-256 that erase_documents compares to detect a concurrent change.
 *
 * While the content is in Postgres, this is the hash of the content. Afterwards it is the hash of the newest erasure's
 * seq and the remaining metadata. The seq is needed for records without metadata: otherwise two concurrent erasures of
 * such records would not detect each other.
 */
export function storedDigest({
  content,
  archived,
  erasedSeq,
}: StoredChunk & { readonly erasedSeq: number | null }): Uint8Array {
  if (content !== null) return sha256(content)
  const newest = Buffer.alloc(8)
  newest.writeBigInt64BE(BigInt(erasedSeq ?? NOT_ERASED))
  return sha256(Buffer.concat([newest, Buffer.from(archived?.metadata ?? '', 'base64')]))
}

const NOT_ERASED = -1

/**
 * Encodes these records in the form in which Postgres stores the chunk. This is the whole content, or only the metadata
 * if the content has left Postgres.
 */
export function encodeStored(row: StoredChunk, records: readonly ChunkRecord[]): Uint8Array {
  return row.content === null ? (encodeMetadata(records) ?? Buffer.alloc(0)) : encodeChunk(records)
}

/** Returns those of `chunkIds` whose content is only in the archive. A chunk's id is the id of its first record. */
export async function findArchivedChunks(
  db: Db,
  ledgerId: Uuid,
  chunkIds: ReadonlySet<Uuid>,
): Promise<ReadonlySet<Uuid>> {
  const { rows } = await db.query<{ firstRecordId: Uuid }>({
    name: 'find_archived_chunks',
    text: `select first_record_id from tallystick.batch_chunks
      where ledger_id = $1 and first_record_id = any ($2::uuid[]) and content is null`,
    values: [ledgerId, [...chunkIds]],
  })
  return new Set(rows.map(({ firstRecordId }) => firstRecordId))
}

/** A record of a batch. Members that contain bytes are canonical JSON. */
export type BatchRecord = Omit<ChunkRecord, 'document'> & {
  readonly recordId: Uuid
  readonly seq: number
  readonly index: number
  /**
   * `salt`, `payload`, `references` and `metadata` are null as soon as an entry erases them, even before the worker has
   * removed them.
   */
  readonly salt: Buffer | null
  readonly payload: Buffer | null
  readonly references: Buffer | null
  readonly metadata: Buffer | null
  readonly erasedSeq: number | null
  readonly document: ChunkRecord['document']
}

/** Returns the chunk that contains the record, or null if no batch of the ledger has the record. */
export async function findChunk(
  db: Db,
  ledgerId: Uuid,
  recordId: Uuid,
): Promise<(ChunkColumns & { actorId: Uuid }) | null> {
  if (!isOfBatch(recordId)) return null
  const { rows } = await db.query<ChunkColumns & { actorId: Uuid }>({
    name: 'find_chunk',
    text: `select ${CHUNK_COLUMNS}, e.actor_id from tallystick.batch_chunks c
      cross join lateral (
        select n.actor_id from tallystick.entries n where n.ledger_id = c.ledger_id and n.seq = c.seq offset 0
      ) e
      ${CHUNK_ERASURES}
      where c.ledger_id = $1 and c.first_record_id = $2`,
    values: [ledgerId, chunkIdOf(recordId)],
    types: PACKED_TYPES,
  })
  const [row] = rows
  return row && hasRecord(row, recordId) ? row : null
}

/**
 * Returns a record of a batch and the agent that notarized the batch. Returns null if no batch of the ledger has the
 * record.
 */
export async function findBatchRecord(
  db: Db,
  ledgerId: Uuid,
  recordId: Uuid,
): Promise<(BatchRecord & { readonly actorId: Uuid }) | null> {
  const chunk = await findChunk(db, ledgerId, recordId)
  return chunk && { ...(await recordOfChunk(db, chunk, recordId)), actorId: chunk.actorId }
}

/** Returns the records of the batch at `seq`, in order. Lets other work of the event loop run after each chunk. */
export async function listBatchRecords(db: Db, ledgerId: Uuid, seq: number): Promise<BatchRecord[]> {
  const { rows } = await db.query<ChunkColumns>({
    name: 'list_chunks',
    text: `select ${CHUNK_COLUMNS} from tallystick.batch_chunks c ${CHUNK_ERASURES}
      where c.ledger_id = $1 and c.seq = $2 order by c.chunk`,
    values: [ledgerId, seq],
    types: PACKED_TYPES,
  })
  const records: BatchRecord[] = []
  for (const [i, row] of rows.entries()) {
    if (i > 0) await setImmediate()
    records.push(...(await recordsOfChunk(db, row)))
  }
  return records
}

/** Returns the chunk's records in order. Throws ProofError `chunk_syntax` and the errors of readContent. */
export async function recordsOfChunk(from: Db | ReadsArchive, row: ChunkColumns): Promise<BatchRecord[]> {
  return recordsOfPlain(row, decompressChunk(await readContent(from, row)))
}

/**
 * Returns the records of a decompressed chunk, in order. `isWanted` selects records by their index in the batch. Throws
 * ProofError `chunk_syntax`.
 */
export function recordsOfPlain(
  row: ChunkColumns,
  plain: Buffer,
  isWanted: (index: number) => boolean = () => true,
): BatchRecord[] {
  const erasures = new Map(row.erasures)
  const first = row.chunk * CHUNK_RECORDS
  const records: BatchRecord[] = []
  for (const [i, record] of decodePlain(plain, row.count, (index) => isWanted(first + index)).entries())
    if (record !== null) records.push(batchRecord(row, erasures, record, i))
  return records
}

/**
 * Returns the record with the id `recordId`, which MUST be in the chunk. The result does not keep the bytes of other
 * records in memory.
 */
export async function recordOfChunk(db: Db, row: ChunkColumns, recordId: Uuid): Promise<BatchRecord> {
  const i = indexOfRecordId(recordId) % CHUNK_RECORDS
  const record = decodeChunk(await readContent(db, row), row.count)[i]!
  return copyOf(batchRecord(row, new Map(row.erasures), record, i))
}

/**
 * Returns the record with copies of its buffers. The buffers of decodeChunk share one large buffer, which may have
 * megabytes and would stay in memory.
 */
export function copyOf(record: BatchRecord): BatchRecord {
  const { salt, payload, references, metadata } = record
  const own = (bytes: Buffer | null) => bytes && Buffer.from(bytes)
  return {
    ...record,
    salt: own(salt),
    payload: own(payload),
    references: own(references),
    metadata: own(metadata),
  }
}

function batchRecord(
  row: ChunkColumns,
  erasures: ReadonlyMap<Uuid, number>,
  record: ChunkRecord,
  i: number,
): BatchRecord {
  const { document } = record
  const index = row.chunk * CHUNK_RECORDS + i
  const recordId = recordIdAt(row.firstRecordId, index)
  const erasedSeq = erasures.get(recordId) ?? document.erasedSeq ?? null
  const shown = document.erasedSeq === undefined && erasedSeq === null ? document : null
  return {
    ...record,
    recordId,
    seq: row.seq,
    index,
    salt: shown && (shown.salt as Buffer),
    payload: shown && (shown.payload as Buffer),
    references: shown && (shown.references as Buffer | null),
    metadata: shown && (shown.metadata as Buffer | null),
    erasedSeq,
  }
}

export function digestOf(record: Pick<ChunkRecord, 'document'>): Uint8Array {
  return payloadDigest(sha256, record)
}

/** Returns the digest of the references, or null if the record has no references. */
export function referencesDigestOf(record: Pick<ChunkRecord, 'document'>): Uint8Array | null {
  return referencesDigest(sha256, record)
}

/** Returns the first record id of the chunk that would contain this record. */
export function chunkIdOf(recordId: Uuid): Uuid {
  const index = indexOfRecordId(recordId)
  return recordIdAt(recordId, index - (index % CHUNK_RECORDS))
}

/** Returns whether the chunk has the record. The last chunk of a batch may have fewer than 64 records. */
export function hasRecord({ count }: Pick<ChunkColumns, 'count'>, recordId: Uuid): boolean {
  return indexOfRecordId(recordId) % CHUNK_RECORDS < count
}

type ChunkRange = {
  readonly seq: number
  readonly chunk: number
  readonly end: number
  readonly limit: number
}

/**
 * Lists chunks whose content is in Postgres, in order. Begins after the chunk at position (`seq`, `chunk`), and ends
 * before the entry `end`.
 */
export async function listChunksInPostgres(
  db: Db,
  ledgerId: Uuid,
  { seq, chunk, end, limit }: ChunkRange,
): Promise<ChunkInPostgres[]> {
  const { rows } = await db.query<ChunkInPostgres>({
    name: 'list_chunks_in_postgres',
    text: `select ${CHUNK_COLUMNS} from tallystick.batch_chunks c ${CHUNK_ERASURES}
      where c.ledger_id = $1 and (c.seq, c.chunk) > ($2::int8, $3::int4) and c.seq < $4 and c.content is not null
      order by c.seq, c.chunk limit $5`,
    values: [ledgerId, seq, chunk, end, limit],
    types: PACKED_TYPES,
  })
  return rows
}
