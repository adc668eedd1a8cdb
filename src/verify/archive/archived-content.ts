import { encodeChunk } from '../../db/chunks/chunk-content.ts'
import { archiveUnavailable, ReleasedFault } from '../../db/chunks/released-chunks.ts'
import type { ChunkInArchive, PlaceInArchive, ReleasedContent } from '../../db/connect/released-content.ts'
import { formatId } from '../../proof/ids.ts'
import type { DocumentKeys } from '../../signing/document-keys.ts'
import { ArchivedPiece } from './archived-piece.ts'
import { FetchTurns } from './fetch-turns.ts'
import {
  ARCHIVE_AWAY_PAUSE_MS,
  ARCHIVE_CACHE_BYTES_MAX,
  ARCHIVE_CHECKPOINT_BYTES_MAX,
  ARCHIVE_FETCH_WAITS_MAX,
  ARCHIVE_PIECE_MS_MAX,
} from './limits.ts'
import { BodyTooLong } from './read-body.ts'
import { sha256Hex } from './read-objects.ts'
import { type ArchiveObject, CHECKPOINT_OBJECT, pieceObjectName } from './seal.ts'
import { type ArchiveReader, ArchiveStoreError } from './store.ts'

/** `cached`: the piece was here; `shared`: it was on its way; `refused`: too many wait, or the archive was away just before. */
export const ARCHIVE_READ_OUTCOMES = [
  'cached',
  'shared',
  'fetched',
  'unavailable',
  'faulty',
  'refused',
] as const
export type ArchiveReadOutcome = (typeof ARCHIVE_READ_OUTCOMES)[number]

export type ArchivedContentDeps = {
  readonly stores: { of(ledger: string): ArchiveReader }
  /** null: nobody has its keys. */
  readonly openKeys: (place: PlaceInArchive) => DocumentKeys | null
  readonly observe?: (outcome: ArchiveReadOutcome, seconds: number) => void
  readonly bytesMax?: number
  readonly msMax?: number
  readonly now?: () => number
}

/** A piece on its way. */
type Coming = {
  /** Fulfilled when its turn begins. */
  readonly begun: Promise<void>
  readonly piece: Promise<ArchivedPiece>
}

/**
 * Reads what has left Postgres for the archive. An object is believed if it has the SHA-256 that Postgres has of it, a document if it has the
 * digest of its item. Pieces that were read are kept, as they lie in the archive: encrypted, so that an erased document is in nobody's
 * memory. Readers of one piece share the way to it.
 */
export class ArchivedContent implements ReleasedContent {
  readonly #deps: ArchivedContentDeps
  readonly #bytesMax: number
  readonly #msMax: number
  readonly #now: () => number
  /** By the digest of its lines; the one that was not asked for longest comes first. */
  readonly #kept = new Map<string, ArchivedPiece>()
  readonly #coming = new Map<string, Coming>()
  readonly #turns: FetchTurns
  #bytes = 0
  /** The piece that the store failed with last, unless another one came since. */
  #failing: string | null = null
  #awayUntilMs = Number.NEGATIVE_INFINITY

  constructor(deps: ArchivedContentDeps) {
    this.#deps = deps
    this.#bytesMax = deps.bytesMax ?? ARCHIVE_CACHE_BYTES_MAX
    this.#msMax = deps.msMax ?? ARCHIVE_PIECE_MS_MAX
    this.#now = deps.now ?? (() => performance.now())
    this.#turns = new FetchTurns(this.#now)
  }

  async read(chunk: ChunkInArchive): Promise<Uint8Array> {
    const beganAtMs = this.#now()
    let outcome: ArchiveReadOutcome = 'faulty'
    try {
      const found = this.#find(chunk.place)
      outcome = found.outcome
      const piece = await found.piece
      return encodeChunk(await piece.readChunk(chunk, this.#deps.openKeys(chunk.place)))
    } catch (error) {
      if (outcome !== 'refused') outcome = error instanceof ReleasedFault ? 'faulty' : 'unavailable'
      throw error
    } finally {
      this.#deps.observe?.(outcome, (this.#now() - beganAtMs) / 1_000)
    }
  }

  #find(place: PlaceInArchive): {
    outcome: ArchiveReadOutcome
    piece: ArchivedPiece | Promise<ArchivedPiece>
  } {
    const kept = this.#kept.get(place.lines)
    if (kept) {
      this.#kept.delete(place.lines)
      this.#kept.set(place.lines, kept)
      return { outcome: 'cached', piece: kept }
    }
    const coming = this.#coming.get(place.lines)
    if (coming) return { outcome: 'shared', piece: this.#within(place, coming) }
    const refusal = this.#refusal(place)
    if (refusal !== null) return { outcome: 'refused', piece: Promise.reject(archiveUnavailable(refusal)) }
    return { outcome: 'fetched', piece: this.#within(place, this.#begin(place)) }
  }

  #refusal({ ledgerId }: PlaceInArchive): string | null {
    if (this.#now() < this.#awayUntilMs) return 'the archive did not answer just before'
    if (!this.#turns.admits(ledgerId)) return 'too many pieces of the archive are waited for'
    return null
  }

  #begin(place: PlaceInArchive): Coming {
    let begin = () => {}
    const begun = new Promise<void>((resolve) => {
      begin = resolve
    })
    const piece = this.#turns.run(place.ledgerId, this.#msMax, async () => {
      begin()
      try {
        const fetched = await within(ARCHIVE_FETCH_WAITS_MAX * this.#msMax, (signal) =>
          this.#fetch(place, signal),
        )
        this.#failing = null
        this.#keep(place.lines, fetched)
        return fetched
      } catch (error) {
        const { cause } = error as Error
        // One that is lost is nobody else's concern.
        if (cause instanceof ArchiveStoreError) this.#fail(place, cause.isAway)
        throw error
      }
    })
    const coming = { begun, piece }
    this.#coming.set(place.lines, coming)
    piece.catch(() => {}).finally(() => this.#coming.delete(place.lines))
    return coming
  }

  /** The piece, if it comes in time once its turn has begun. */
  async #within(place: PlaceInArchive, { begun, piece }: Coming): Promise<ArchivedPiece> {
    await Promise.race([begun, piece])
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#fail(place, false)
        reject(lateAfter(this.#msMax))
      }, this.#msMax)
      piece.then(resolve, reject).finally(() => clearTimeout(timer))
    })
  }

  /** One piece that fails may be the only one. After two, or where the store says that it is away, the next one would not come either. */
  #fail({ lines }: PlaceInArchive, isAway: boolean): void {
    if (isAway || (this.#failing !== null && this.#failing !== lines))
      this.#awayUntilMs = this.#now() + ARCHIVE_AWAY_PAUSE_MS
    this.#failing = lines
  }

  async #fetch(place: PlaceInArchive, signal: AbortSignal): Promise<ArchivedPiece> {
    const { ledgerId, from, lines, linesBytes, documents, documentsBytes } = place
    const store = this.#deps.stores.of(formatId('led', ledgerId))
    const get = (kind: 'lines' | 'documents', sha256: string, bytes: number) =>
      getObject(store, { name: pieceObjectName(kind, from, sha256), sha256, bytes }, signal)
    const [text, sealed] = await Promise.all([
      get('lines', lines, linesBytes),
      documents === null ? Buffer.alloc(0) : get('documents', documents, documentsBytes!),
    ])
    return ArchivedPiece.read(text, sealed)
  }

  #keep(name: string, piece: ArchivedPiece): void {
    if (piece.bytes > this.#bytesMax) return
    this.#kept.set(name, piece)
    this.#bytes += piece.bytes
    for (const [oldest, { bytes }] of this.#kept) {
      if (this.#bytes <= this.#bytesMax) return
      this.#kept.delete(oldest)
      this.#bytes -= bytes
    }
  }
}

/** Throws ReleasedFault unless it is that object, of which no more is held than its bytes; ApiError where nobody knows. */
async function getObject(
  store: ArchiveReader,
  { name, sha256, bytes }: ArchiveObject,
  signal: AbortSignal,
): Promise<Buffer> {
  const read = (object: string, bytesMax: number) =>
    store.get(object, bytesMax, signal).catch((error: Error) => {
      if (!(error instanceof ArchiveStoreError)) throw error
      if (error.cause instanceof BodyTooLong) throw anotherOne(object)
      throw archiveUnavailable('the archive cannot be read', error)
    })
  const found = await read(name, bytes)
  if (found !== null) {
    if (sha256Hex(found) !== sha256) throw anotherOne(name)
    return found
  }
  // A volume that is not mounted, or another prefix, has lost no object.
  if ((await read(CHECKPOINT_OBJECT, ARCHIVE_CHECKPOINT_BYTES_MAX)) === null)
    throw archiveUnavailable(
      `the archive has nothing of this ledger, not even its ${CHECKPOINT_OBJECT}: is TALLYSTICK_ARCHIVE the right place, and mounted?`,
    )
  throw new ReleasedFault(`the archive's ${name} is missing`)
}

function anotherOne(name: string): ReleasedFault {
  return new ReleasedFault(`the archive's ${name} is another one than was written`)
}

/** Ends the work after `msMax`, also where it does not hear of that: a store that answers nothing holds no turn for longer. */
async function within<T>(msMax: number, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const ending = new AbortController()
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(lateAfter(msMax)), msMax)
  })
  try {
    return await Promise.race([work(ending.signal), late])
  } finally {
    clearTimeout(timer)
    ending.abort()
  }
}

function lateAfter(ms: number): Error {
  return archiveUnavailable(`the archive did not answer within ${ms / 1_000} s`)
}
