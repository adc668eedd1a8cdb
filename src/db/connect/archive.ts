import type pg from 'pg'
import { ApiError } from '../../errors.ts'
import type { Uuid } from '../../proof/ids.ts'
import { ARCHIVE_RETRY_AFTER_MS } from '../limits.ts'

/*
 * The archive as a database connection uses it.
 *
 * Readers of chunks and envelopes (src/db/chunks/read-chunks.ts, src/db/chain/envelopes.ts) read archived content
 * through it. Their callers get the content, or one of the errors below.
 */

/** The archive piece that contains a chunk, and the present keys of the piece's documents. */
export type PieceInArchive = {
  readonly ledgerId: Uuid
  readonly from: number
  /** SHA-256 of the piece's objects in hex, and their lengths. `documents` is null if the piece has no documents. */
  readonly lines: string
  readonly linesBytes: number
  readonly documents: string | null
  readonly documentsBytes: number | null
  /** Sealed secrets of the piece in base64; null: the piece has no secrets. */
  readonly keys: string | null
}

export type ChunkInArchive = {
  readonly piece: PieceInArchive
  readonly seq: number
  readonly chunk: number
  readonly firstRecordId: Uuid
  readonly count: number
  /** Maps each erased record of the chunk to the seq of the erasing entry. */
  readonly erasures: ReadonlyMap<Uuid, number>
}

/** Envelopes to read from the archive, all in one bundle (docs/formats/archive.md#objects). */
export type EnvelopesInArchive = {
  readonly ledgerId: Uuid
  readonly tile: number
  readonly width: number
  readonly entries: readonly { readonly seq: number; readonly leaf: Uint8Array }[]
}

export type ArchiveContent = {
  /**
   * Returns the chunk's content (docs/formats/chunks.md) without metadata.
   *
   * Throws ApiError `archive_unavailable` while the archive cannot be reached, and ArchiveFault if the archive has
   * lost or changed the content.
   */
  read(chunk: ChunkInArchive): Promise<Uint8Array>
  /** Returns the envelopes in the order of `entries`, each checked against its leaf. Throws as `read` does. */
  readEnvelopes(wanted: EnvelopesInArchive): Promise<Uint8Array[]>
}

/** A connection or pool with the archive that it reads from. `archive` null: the process has no archive. */
export type ReadsArchive = { readonly archive?: ArchiveContent | null }

/** A database without an archive: reads of archived content throw `archive_unavailable` at once. */
export const NO_ARCHIVE: ReadsArchive = { archive: null }

/** Returns the archive of `db`. Throws ApiError `archive_unavailable` if the process has no archive. */
export function archiveOf({ archive }: ReadsArchive): ArchiveContent {
  if (!archive) throw archiveUnavailable(NO_ARCHIVE_DETAIL)
  return archive
}

/** Wraps one read of the archive. `chunk` is null for reads of envelopes. */
type ReadWrapper = <T>(read: () => Promise<T>, chunk: ChunkInArchive | null) => Promise<T>

/** Returns the same database, with `around` called for each read of its archive. */
export function wrapArchiveReads<D extends Pick<pg.Pool, 'query'> & ReadsArchive>(
  db: D,
  around: ReadWrapper,
): Pick<D, 'query'> & ReadsArchive {
  const { archive } = db
  if (!archive) return db
  return {
    query: db.query.bind(db) as D['query'],
    archive: {
      read: (chunk) => around(() => archive.read(chunk), chunk),
      readEnvelopes: (wanted) => around(() => archive.readEnvelopes(wanted), null),
    },
  }
}

/**
 * Thrown if an archive object is missing, or if its digest differs from the digest in Postgres. Clients get the same
 * answer as when the archive cannot be reached.
 */
export class ArchiveFault extends ApiError {
  constructor(detail: string) {
    super('archive_unavailable', detail, { retryable: true, retryAfterMs: ARCHIVE_RETRY_AFTER_MS })
    this.name = 'ArchiveFault'
  }
}

/** Whether the archive could not be read: it is unreachable, or it has a fault. */
export function isUnreadable(error: unknown): boolean {
  return error instanceof ApiError && error.code === 'archive_unavailable'
}

/** Whether the archive is unreachable. False if the archive answers but has a fault. */
export function isAway(error: unknown): boolean {
  return isUnreadable(error) && !(error instanceof ArchiveFault)
}

export function archiveUnavailable(detail: string, cause?: Error): ApiError {
  return new ApiError('archive_unavailable', detail, {
    retryable: true,
    retryAfterMs: ARCHIVE_RETRY_AFTER_MS,
    ...(cause && { cause }),
  })
}

export const NO_ARCHIVE_DETAIL =
  'the content is in the archive, and this process does not know the archive: set TALLYSTICK_ARCHIVE, or give verify --archive and --archive-key'
