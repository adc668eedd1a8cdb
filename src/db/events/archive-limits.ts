import { archiveUnavailable, isAway, type PieceInArchive, wrapArchiveReads } from '../connect/archive.ts'
import type { Db } from '../connect/client.ts'
import { EVENT_ARCHIVE_MS_MAX } from '../limits.ts'

/* Wraps databases, so that their archive reads are recorded or limited. */

/** Returns the wrapped database, and the set of archive pieces that are read through it. */
export function recordPieces(db: Db): {
  readonly recording: Db
  readonly pieces: ReadonlySet<PieceInArchive['from']>
} {
  const pieces = new Set<PieceInArchive['from']>()
  const noting = wrapArchiveReads(db, (read, chunk) => {
    if (chunk) pieces.add(chunk.piece.from)
    return read()
  })
  return { recording: noting, pieces }
}

/**
 * Returns the wrapped database, for readers that must not wait long.
 *
 * An archive read that takes longer than `archiveMsMax` fails as if the archive were unreachable. After the first such
 * failure, all further archive reads fail at once.
 */
export function boundArchive(db: Db, archiveMsMax = EVENT_ARCHIVE_MS_MAX): Db {
  let away = false
  return wrapArchiveReads(db, async (read) => {
    if (away) throw archiveUnavailable('the archive did not answer the last request')
    try {
      return await within(archiveMsMax, read())
    } catch (error) {
      away ||= isAway(error)
      throw error
    }
  })
}

/** Returns the result of `read`. Throws ApiError `archive_unavailable` if `read` takes longer than `ms`. */
async function within<T>(ms: number, read: Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(
    () => late.reject(archiveUnavailable(`the archive did not answer within ${ms / 1_000} s`)),
    ms,
  )
  return Promise.race([read, late.promise]).finally(() => clearTimeout(timer))
}
