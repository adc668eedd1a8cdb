import { ApiError } from '../../errors.ts'
import { ProofError } from '../../proof/error.ts'
import type { Uuid } from '../../proof/ids.ts'
import { nativeProviders } from '../../signing/native.ts'
import type { Db } from '../connect/client.ts'
import type { ChunkInArchive, PlaceInArchive } from '../connect/released-content.ts'
import { ARCHIVE_RETRY_AFTER_MS } from '../limits.ts'
import { type ChunkRecord, decodeChunk, encodeChunk } from './chunk-content.ts'
import { decodeMetadata } from './chunk-metadata.ts'

/* Chunks whose content has left Postgres for the archive (docs/archive.md#content-that-leaves-postgres). */

/** An object of the archive is missing, or is not the one whose digest Postgres has. To clients it is as if the archive were away. */
export class ReleasedFault extends ApiError {
  constructor(detail: string) {
    super('archive_unavailable', detail, { retryable: true, retryAfterMs: ARCHIVE_RETRY_AFTER_MS })
    this.name = 'ReleasedFault'
  }
}

/** Whether `error` says that nobody knows what the archive holds, and not that it has lost something. */
export function isAway(error: unknown): boolean {
  return isUnreadable(error) && !(error instanceof ReleasedFault)
}

/** Whether `error` says that the archive did not give what lies there. */
export function isUnreadable(error: unknown): boolean {
  return error instanceof ApiError && error.code === 'archive_unavailable'
}

/** Detail of an error: the process has no archive to read. */
export const ARCHIVE_UNTOLD =
  'the content lies in the archive, which this process was not told of: TALLYSTICK_ARCHIVE, or --archive and --archive-key of verify'

export function archiveUnavailable(detail: string, cause?: Error): ApiError {
  return new ApiError('archive_unavailable', detail, {
    retryable: true,
    retryAfterMs: ARCHIVE_RETRY_AFTER_MS,
    ...(cause && { cause }),
  })
}

/** As the database says it: with erasures, because they and the keys MUST be of one moment. */
export type ReleasedColumn = PlaceInArchive & {
  /** Base64. */
  readonly metadata: string | null
  readonly erasures: readonly [recordId: Uuid, seq: number][] | null
}

/** Columns of a chunk as it was read. `content` is null of one that has left, until fillReleased has been there. */
type ChunkRow = Omit<ChunkInArchive, 'place' | 'erasures'> & {
  content: Buffer
  released: ReleasedColumn | null
}

/** SQL: erasures of records of a chunk `c`, as `[[record, seq], …]`. */
export const ERASURES_OF_CHUNK = `select json_agg(json_build_array(d.subject_id, d.seq)) as erasures from tallystick.erasures d
    where d.ledger_id = c.ledger_id and d.document = 'payload' and d.document_seq = c.seq
      and d.subject_id between c.first_record_id
        and (left(c.first_record_id::text, 33) || lpad(to_hex(64 * c.chunk + c.count - 1), 3, '0'))::uuid`

/**
 * SQL: where the content of a chunk `c` lies that has left; null of all others. In a `case`, and no join, because that would look for the
 * pieces of all others too.
 */
export const RELEASED = `case when c.content is null then (
    select json_build_object('ledgerId', p.ledger_id, 'from', p.from_seq, 'lines', encode(p.lines_digest, 'hex'),
      'linesBytes', p.lines_bytes, 'documents', encode(p.documents_digest, 'hex'), 'documentsBytes', p.documents_bytes, 'keys', (
        select encode(k.sealed, 'base64') from tallystick.archive_keys k where k.ledger_id = p.ledger_id and k.from_seq = p.from_seq
      ), 'metadata', encode(c.metadata, 'base64'), 'erasures', (${ERASURES_OF_CHUNK}))
    from tallystick.archive_pieces p
    where p.ledger_id = c.ledger_id and p.from_seq <= c.seq order by p.from_seq desc limit 1
  ) end as released`

/**
 * Puts the content into each row that lacks it because it has left. MUST be called before anybody looks into the rows. Throws ApiError
 * `archive_unavailable`, ProofError.
 */
export async function fillReleased<T extends ChunkRow>(db: Db, rows: readonly T[]): Promise<void> {
  for (const row of rows) {
    if (row.content !== null) continue
    row.content = await readReleased(db, row)
  }
}

async function readReleased(db: Db, row: ChunkRow): Promise<Buffer> {
  const { released, seq, chunk, firstRecordId, count } = row
  if (released === null)
    throw new ProofError('chunk_syntax', `the content of chunk ${chunk} of seq ${seq} is nowhere`)
  if (!db.released) throw archiveUnavailable(ARCHIVE_UNTOLD)
  const { metadata: kept, erasures, ...place } = released
  const content = await db.released.read({
    ...{ place, seq, chunk, firstRecordId, count },
    erasures: new Map(erasures),
  })
  if (kept === null) return Buffer.from(content)
  const metadata = decodeMetadata(Buffer.from(kept, 'base64'), count)
  return encodeChunk(decodeChunk(content, count).map((record, i) => withMetadata(record, metadata[i]!)))
}

function withMetadata(record: ChunkRecord, metadata: Uint8Array | null): ChunkRecord {
  const { document } = record
  if (metadata === null || document.erasedSeq !== undefined) return record
  return { ...record, document: { ...document, metadata } }
}

/**
 * SHA-256 that erase_documents compares: of the content; of one that has left, of the seq of its newest erasure and the metadata that stays
 * here. Without that seq two erasures of records without metadata would not hear of each other.
 */
export function storedDigest({
  content,
  released,
  erasedSeq,
}: Pick<ChunkRow, 'content' | 'released'> & { readonly erasedSeq: number | null }): Uint8Array {
  if (released === null) return nativeProviders.sha256(content)
  const newest = Buffer.alloc(8)
  newest.writeBigInt64BE(BigInt(erasedSeq ?? NOT_ERASED))
  return nativeProviders.sha256(Buffer.concat([newest, Buffer.from(released.metadata ?? '', 'base64')]))
}

const NOT_ERASED = -1
