import type pg from 'pg'
import {
  type DueRelease,
  type LeavingChunk,
  type LeavingEntry,
  listChunksOfPiece,
  listDueReleases,
  listEnvelopesOfPiece,
  type Released,
  takeContentOut,
} from '../../db/chain/archive-releases.ts'
import { bundlesOf } from '../../db/chain/envelopes.ts'
import { type ChunkRecord, decodeChunk, encodePlain } from '../../db/chunks/chunk-content.ts'
import { encodeMetadata } from '../../db/chunks/chunk-metadata.ts'
import type { ChunkInPostgres } from '../../db/chunks/read-chunks.ts'
import type { ArchiveContent } from '../../db/connect/archive.ts'
import { equalBytes } from '../../proof/bytes.ts'
import { formatId } from '../../proof/ids.ts'
import { nativeProviders } from '../../signing/native.ts'
import type { PausedLedgers } from '../checkpoints/faulty-ledgers.ts'
import {
  RELEASE_CHUNKS_PER_CALL,
  RELEASE_ENTRIES_PER_PAGE,
  RELEASE_ENVELOPES_AT_A_TIME,
  RELEASE_PASSES,
  RELEASE_PIECE_MS_MIN,
  RELEASE_PIECES_PER_LEDGER,
  RELEASE_PIECES_PER_ROUND,
  RELEASE_ROUND_MS,
} from '../limits.ts'
import type { ArchiveDeps } from './archive-ledgers.ts'

export type ReleaseDeps = Pick<ArchiveDeps, 'stopping' | 'log'> & {
  readonly pool: pg.Pool
  /** Age in days at which an entry's content is removed from Postgres. */
  readonly retentionDays: number
  /**
   * Opens a reader with an empty cache. So each piece is read from the archive again before its content is removed from
   * Postgres.
   */
  readonly openContent: () => ArchiveContent
  /** Ledgers with a piece that is missing in the archive, or that differs from Postgres. */
  readonly unreleased: PausedLedgers
  /** Called after each removal of content. `bytes`: number of bytes that were compared with the archive. */
  readonly observeRelease?: (released: Released, bytes: number) => void
}

type PieceTime = {
  readonly isOver: () => boolean
  /**
   * Must be called when the piece has been downloaded. For at least RELEASE_PIECE_MS_MIN from then, `isOver` returns
   * false unless the worker is stopping.
   */
  readonly fetched: () => void
}

/**
 * Removes the content of archived pieces of all ledgers from Postgres
 * (docs/operate/backup-and-archive.md#content-that-leaves-postgres). Returns true if the caller should call again at
 * once.
 *
 * A fault of a ledger is logged and does not stop the other ledgers. *Crash at any time: removed content stays removed,
 * and the next round continues the piece.*
 */
export async function releaseContent(deps: ReleaseDeps): Promise<boolean> {
  const due = await listDueReleases(deps.pool, {
    days: deps.retentionDays,
    piecesOfLedger: RELEASE_PIECES_PER_LEDGER,
    limit: RELEASE_PIECES_PER_ROUND,
  })
  const endsAtMs = performance.now() + RELEASE_ROUND_MS
  let released = 0
  for (const piece of due) {
    const ledger = formatId('led', piece.ledgerId)
    if (deps.stopping.aborted) return false
    if (performance.now() >= endsAtMs) break
    if (deps.unreleased.isPaused(ledger)) continue
    try {
      const { chunks, envelopes } = await releasePiece(deps, piece, endsAtMs)
      deps.unreleased.resume(ledger)
      released++
      if (chunks + envelopes > 0)
        deps.log.info(
          { ledger, from: piece.from, end: piece.end, chunks, envelopes },
          'content left Postgres for the archive',
        )
    } catch (error) {
      deps.unreleased.pause(ledger)
      deps.log.error(
        { err: error, ledger, from: piece.from },
        'content could not leave Postgres for the archive',
      )
    }
  }
  return released > 0
}

/**
 * Removes the content of one piece. Throws if the content in the archive differs from the content in Postgres. Stops at
 * `roundEndsAtMs`. The next round then removes the rest.
 */
async function releasePiece(deps: ReleaseDeps, piece: DueRelease, roundEndsAtMs: number): Promise<Released> {
  const content = deps.openContent()
  let endsAtMs = roundEndsAtMs
  const time: PieceTime = {
    isOver: () => deps.stopping.aborted || performance.now() >= endsAtMs,
    fetched() {
      endsAtMs = Math.max(endsAtMs, performance.now() + RELEASE_PIECE_MS_MIN)
    },
  }
  const chunks = await releaseChunks(deps, content, piece, time)
  const envelopes = await releaseEnvelopes(deps, content, piece, time)
  return { chunks, envelopes }
}

async function releaseChunks(
  { pool, observeRelease }: ReleaseDeps,
  content: ArchiveContent,
  piece: DueRelease,
  time: PieceTime,
): Promise<number> {
  let released = 0
  for (let after: ChunkInPostgres | null = null; !time.isOver(); ) {
    const rows = await listChunksOfPiece(pool, piece, after, RELEASE_CHUNKS_PER_CALL)
    if (rows.length === 0) break
    const leaving: LeavingChunk[] = []
    for (const row of rows) leaving.push(await compare(content, piece, row))
    const left = await takeContentOut(pool, piece, { chunks: leaving })
    if (after === null) time.fetched()
    released += left.chunks
    observeRelease?.(
      left,
      rows.reduce((sum, row) => sum + row.content.length, 0),
    )
    after = rows.at(-1)!
  }
  return released
}

/**
 * Removes the envelopes of a piece. Must be called after the chunks were removed. The last call of takeContentOut marks
 * the piece as done.
 */
async function releaseEnvelopes(
  { pool, observeRelease }: ReleaseDeps,
  content: ArchiveContent,
  piece: DueRelease,
  time: PieceTime,
): Promise<number> {
  let released = 0
  for (let after = piece.from - 1; !time.isOver(); ) {
    const rows = await listEnvelopesOfPiece(pool, piece, after, RELEASE_ENVELOPES_AT_A_TIME)
    await compareEnvelopes(content, piece, rows)
    const isLast = rows.length < RELEASE_ENVELOPES_AT_A_TIME
    let envelopes = 0
    for (const [i, places] of RELEASE_PASSES.entries()) {
      const entries = rows.filter((_, n) => places.includes(n % RELEASE_ENTRIES_PER_PAGE))
      const isLastCall = isLast && i === RELEASE_PASSES.length - 1
      if (entries.length === 0 && !isLastCall) continue
      envelopes += (await takeContentOut(pool, piece, { entries, isLast: isLastCall })).envelopes
    }
    released += envelopes
    observeRelease?.(
      { chunks: 0, envelopes },
      rows.reduce((sum, { envelope }) => sum + envelope.length, 0),
    )
    if (isLast) break
    after = rows.at(-1)!.seq
  }
  return released
}

/** Throws unless each envelope in the archive is byte for byte the envelope in Postgres. */
async function compareEnvelopes(
  content: ArchiveContent,
  { ledgerId, size }: DueRelease,
  rows: readonly LeavingEntry[],
): Promise<void> {
  for (const { rows: ofBundle, wanted } of bundlesOf(ledgerId, size, rows)) {
    const there = await content.readEnvelopes(wanted)
    for (const [i, { seq, envelope }] of ofBundle.entries())
      if (!equalBytes(there[i]!, envelope))
        throw new Error(`the archive has a different envelope of seq ${seq}`)
  }
}

/**
 * Compares a chunk with the archive's copy. Throws if a byte differs. The metadata are not compared, because they stay
 * in Postgres.
 */
async function compare(
  content: ArchiveContent,
  piece: DueRelease,
  row: ChunkInPostgres,
): Promise<LeavingChunk> {
  const { seq, chunk, firstRecordId, count, erasures } = row
  const here = decodeChunk(row.content, count)
  const copy = await content.read({
    ...{ piece, seq, chunk, firstRecordId, count },
    erasures: new Map(erasures),
  })
  const there = decodeChunk(copy, count)
  if (!equalBytes(encodePlain(here.map(withoutMetadata)), encodePlain(there)))
    throw new Error(`the archive has different records in chunk ${chunk} of seq ${seq}`)
  return {
    ...{ seq, chunk },
    before: nativeProviders.sha256(row.content),
    metadata: encodeMetadata(here),
  }
}

function withoutMetadata(record: ChunkRecord): ChunkRecord {
  const { document } = record
  return document.erasedSeq === undefined ? { ...record, document: { ...document, metadata: null } } : record
}
