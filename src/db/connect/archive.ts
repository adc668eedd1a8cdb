import type pg from 'pg'
import { ApiError } from '../../errors.ts'
import type { Uuid } from '../../proof/ids.ts'
import { ARCHIVE_RETRY_AFTER_MS } from '../limits.ts'

/*
 * The archive as a connection sees it. Readers of chunks and envelopes (src/db/chunks/read-chunks.ts, src/db/chain/envelopes.ts) read from
 * it by themselves; their callers get the content, or an error of these.
 */

/** The piece of an archive that a chunk lies in, and the keys of its documents as they are now. */
export type PlaceInArchive = {
  readonly ledgerId: Uuid
  /** First entry of the piece. */
  readonly from: number
  /** SHA-256 of the piece's objects, in hex, and their lengths; `documents` null: it has none. */
  readonly lines: string
  readonly linesBytes: number
  readonly documents: string | null
  readonly documentsBytes: number | null
  /** Sealed secrets of the piece, base64; null: there are none. */
  readonly keys: string | null
}

/** A chunk to be read from the archive. */
export type ChunkInArchive = {
  readonly place: PlaceInArchive
  readonly seq: number
  readonly chunk: number
  readonly firstRecordId: Uuid
  readonly count: number
  /** Seqs of the entries that erase its payloads, by record. */
  readonly erasures: ReadonlyMap<Uuid, number>
}

/** Envelopes to be read from the archive, all of one bundle (docs/formats/archive.md#objects). */
export type EnvelopesInArchive = {
  readonly ledgerId: Uuid
  readonly tile: number
  /** Entries of the bundle. */
  readonly width: number
  readonly entries: readonly { readonly seq: number; readonly leaf: Uint8Array }[]
}

/** Reads content that has left Postgres. */
export type ArchiveContent = {
  /**
   * The chunk's content (docs/formats/chunks.md), without metadata. Throws ApiError `archive_unavailable`: nobody knows; ArchiveFault: the
   * archive has lost or changed it.
   */
  read(chunk: ChunkInArchive): Promise<Uint8Array>
  /** The envelopes in the order of the entries, each with its leaf. Throws as `read` does. */
  readEnvelopes(wanted: EnvelopesInArchive): Promise<Uint8Array[]>
}

/** A connection or pool, by which content is read; `archive` null: the process has none. */
export type ReadsArchive = { readonly archive?: ArchiveContent | null }

/** Reads with it throw `archive_unavailable` at once where content lies in the archive. */
export const NO_ARCHIVE: ReadsArchive = { archive: null }

/** The archive that `db` reads from. Throws ApiError `archive_unavailable` where the process has none. */
export function archiveOf({ archive }: ReadsArchive): ArchiveContent {
  if (!archive) throw archiveUnavailable(ARCHIVE_UNTOLD)
  return archive
}

/** One read of the archive; `chunk` null: it is of envelopes. */
type Around = <T>(read: () => Promise<T>, chunk: ChunkInArchive | null) => Promise<T>

/** The same database, with `around` called for each read of its archive. */
export function aroundArchive<D extends Pick<pg.Pool, 'query'> & ReadsArchive>(
  db: D,
  around: Around,
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

/** An object of the archive is missing, or has another digest than Postgres says. Clients get the same answer as if it were away. */
export class ArchiveFault extends ApiError {
  constructor(detail: string) {
    super('archive_unavailable', detail, { retryable: true, retryAfterMs: ARCHIVE_RETRY_AFTER_MS })
    this.name = 'ArchiveFault'
  }
}

/** Whether content could not be read from the archive: it is away, or has a fault. */
export function isUnreadable(error: unknown): boolean {
  return error instanceof ApiError && error.code === 'archive_unavailable'
}

/** Whether the archive is away. False for a fault. */
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

/** Detail of an error: the process has no archive to read. */
export const ARCHIVE_UNTOLD =
  'the content lies in the archive, which this process was not told of: TALLYSTICK_ARCHIVE, or --archive and --archive-key of verify'
