import type pg from 'pg'
import { ApiError } from '../../errors.ts'
import type { Uuid } from '../../proof/ids.ts'
import { ARCHIVE_RETRY_AFTER_MS } from '../limits.ts'

/*
 * Gives a database connection access to the archive.
 *
 * Readers of chunks and envelopes (src/db/chunks/read-chunks.ts, src/db/chain/envelopes.ts) read archived content
 * through the connection. They get the content, or throw one of the errors in this file.
 */

/** The archive piece that contains a chunk, and the present keys of the piece's documents. */
export type PieceInArchive = {
  readonly ledgerId: Uuid
  readonly from: number
  /**
   * `lines` and `documents` are the SHA-256 of the piece's two objects in hex, with their lengths. `documents` is null
   * if the piece has no documents.
   */
  readonly lines: string
  readonly linesBytes: number
  readonly documents: string | null
  readonly documentsBytes: number | null
  /** Sealed secrets of the piece in base64. null if the piece has no secrets. */
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

/** Envelopes to read from the archive. All of them are in one bundle (docs/formats/archive.md#objects). */
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
  /**
   * Returns the envelopes in the order of `entries`. Each envelope is checked against its leaf. Throws the errors of
   * `read`.
   */
  readEnvelopes(wanted: EnvelopesInArchive): Promise<Uint8Array[]>
}

/** A connection or pool with the archive that it reads from. `archive` is null if the process has no archive. */
export type ReadsArchive = { readonly archive?: ArchiveContent | null }

/** A database without an archive. Reads of archived content throw `archive_unavailable` at once. */
export const NO_ARCHIVE: ReadsArchive = { archive: null }

/** Returns the archive of the connection. Throws ApiError `archive_unavailable` if the process has no archive. */
export function archiveOf({ archive }: ReadsArchive): ArchiveContent {
  if (!archive) throw archiveUnavailable(NO_ARCHIVE_DETAIL)
  return archive
}

/**
 * A function that calls `read`, one read of the archive, and returns its result. `chunk` is null for reads of
 * envelopes.
 */
type ReadWrapper = <T>(read: () => Promise<T>, chunk: ChunkInArchive | null) => Promise<T>

/** Returns the database with an archive whose every read goes through `around`. */
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
 * Thrown if an object of the archive is missing, or if its digest differs from the digest in Postgres. Clients get the
 * same answer as for an archive that cannot be reached.
 */
export class ArchiveFault extends ApiError {
  constructor(detail: string) {
    super('archive_unavailable', detail, { retryable: true, retryAfterMs: ARCHIVE_RETRY_AFTER_MS })
    this.name = 'ArchiveFault'
  }
}

/**
 * Returns whether the error means that the archive could not be read. The archive is unreachable, or it has a fault.
 */
export function isUnreadable(error: unknown): boolean {
  return error instanceof ApiError && error.code === 'archive_unavailable'
}

/**
 * Returns whether the error means that the archive is unreachable. Returns false if the archive answers but has a
 * fault.
 */
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
