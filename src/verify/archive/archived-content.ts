import { encodeChunk } from '../../db/chunks/chunk-content.ts'
import type {
  ArchiveContent,
  ChunkInArchive,
  EnvelopesInArchive,
  PieceInArchive,
} from '../../db/connect/archive.ts'
import { ArchiveFault, archiveUnavailable } from '../../db/connect/archive.ts'
import { formatId, type Uuid } from '../../proof/ids.ts'
import type { DocumentKeys } from '../../signing/document-keys.ts'
import { sha256Hex } from '../../signing/sha256.ts'
import { ArchivedBundle } from './archived-bundle.ts'
import { ArchivedPiece } from './archived-piece.ts'
import { FetchSlots } from './fetch-slots.ts'
import {
  ARCHIVE_AWAY_PAUSE_MS,
  ARCHIVE_BUNDLE_BYTES_MAX,
  ARCHIVE_CACHE_BYTES_MAX,
  ARCHIVE_CHECKPOINT_BYTES_MAX,
  ARCHIVE_FETCH_WAITS_MAX,
  ARCHIVE_PIECE_MS_MAX,
} from './limits.ts'
import { BodyTooLong } from './read-body.ts'
import { type ArchiveObject, CHECKPOINT_OBJECT, pieceObjectName, tileName } from './seal.ts'
import { type ArchiveReader, ArchiveStoreError } from './store.ts'

/**
 * Outcomes of a read.
 *
 * - `cached`: the object was in memory.
 * - `shared`: another read was already fetching the object.
 * - `refused`: too many reads are waiting, or the archive failed just before.
 */
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
  /** Returns the keys of a piece's documents. Returns null if the keys are unavailable. */
  readonly openKeys: (piece: PieceInArchive) => DocumentKeys | null
  readonly observe?: (outcome: ArchiveReadOutcome, seconds: number) => void
  readonly bytesMax?: number
  readonly msMax?: number
  readonly now?: () => number
}

/**
 * A piece or bundle to read. `name` is unique among the pieces and bundles of all ledgers. `fetch` reads the object
 * from the store.
 */
type ObjectRequest<T extends CachedObject> = {
  readonly ledgerId: Uuid
  readonly name: string
  readonly fetch: (store: ArchiveReader, signal: AbortSignal) => Promise<T>
}

type CachedObject = { readonly bytes: number }

type RunningFetch<T extends CachedObject> = {
  /** Fulfilled when the fetch gets its slot and starts. */
  readonly begun: Promise<void>
  readonly object: Promise<T>
}

/**
 * Reads content that is no longer in Postgres, but in the archive.
 *
 * An object must have the SHA-256 that Postgres stores, a document must have its item's digest, and an envelope must
 * have its leaf.
 *
 * Pieces and bundles are cached in the form in which the archive stores them. Documents in them are encrypted, so that
 * no erased document stays in memory. Concurrent reads of one object share one fetch.
 */
export class ArchivedContent implements ArchiveContent {
  readonly #deps: ArchivedContentDeps
  readonly #bytesMax: number
  readonly #msMax: number
  readonly #now: () => number
  /** Maps the name of an object to the cached object, least recently used first. */
  readonly #cache = new Map<string, CachedObject>()
  readonly #fetches = new Map<string, RunningFetch<CachedObject>>()
  readonly #slots = new FetchSlots()
  #bytes = 0
  /** Name of the object whose fetch failed last; null if a later fetch has succeeded. */
  #failing: string | null = null
  #awayUntilMs = Number.NEGATIVE_INFINITY

  constructor(deps: ArchivedContentDeps) {
    this.#deps = deps
    this.#bytesMax = deps.bytesMax ?? ARCHIVE_CACHE_BYTES_MAX
    this.#msMax = deps.msMax ?? ARCHIVE_PIECE_MS_MAX
    this.#now = deps.now ?? (() => performance.now())
  }

  read(chunk: ChunkInArchive): Promise<Uint8Array> {
    return this.#use(pieceOf(chunk.piece), async (piece) =>
      encodeChunk(await piece.readChunk(chunk, this.#deps.openKeys(chunk.piece))),
    )
  }

  async readEnvelopes(wanted: EnvelopesInArchive): Promise<Uint8Array[]> {
    const bundle = bundleOf(wanted)
    try {
      return await this.#use(bundle, async (found) => found.read(wanted.entries))
    } catch (error) {
      // A changed bundle is noticed only here, because Postgres has no digest of a bundle. The bundle is removed from
      // the cache, so that it is fetched again after a repair.
      if (error instanceof ArchiveFault) this.#forget(bundle.name)
      throw error
    }
  }

  async #use<T extends CachedObject, R>(
    wanted: ObjectRequest<T>,
    use: (object: T) => Promise<R>,
  ): Promise<R> {
    const beganAtMs = this.#now()
    let outcome: ArchiveReadOutcome = 'faulty'
    try {
      const found = this.#find(wanted)
      outcome = found.outcome
      return await use(await found.object)
    } catch (error) {
      if (outcome !== 'refused') outcome = error instanceof ArchiveFault ? 'faulty' : 'unavailable'
      throw error
    } finally {
      this.#deps.observe?.(outcome, (this.#now() - beganAtMs) / 1_000)
    }
  }

  #find<T extends CachedObject>(
    wanted: ObjectRequest<T>,
  ): { outcome: ArchiveReadOutcome; object: T | Promise<T> } {
    const { name } = wanted
    const cached = this.#cache.get(name) as T | undefined
    if (cached) {
      this.#cache.delete(name)
      this.#cache.set(name, cached)
      return { outcome: 'cached', object: cached }
    }
    const running = this.#fetches.get(name) as RunningFetch<T> | undefined
    if (running) return { outcome: 'shared', object: this.#within(name, running) }
    const refusal = this.#refusal(wanted.ledgerId)
    if (refusal !== null) return { outcome: 'refused', object: Promise.reject(archiveUnavailable(refusal)) }
    return { outcome: 'fetched', object: this.#within(name, this.#begin(wanted)) }
  }

  #refusal(ledgerId: Uuid): string | null {
    if (this.#now() < this.#awayUntilMs) return 'the archive did not answer the last request'
    if (!this.#slots.admits(ledgerId)) return 'too many requests wait for pieces of the archive'
    return null
  }

  #begin<T extends CachedObject>({ ledgerId, name, fetch }: ObjectRequest<T>): RunningFetch<T> {
    let begin = () => {}
    const begun = new Promise<void>((resolve) => {
      begin = resolve
    })
    const store = this.#deps.stores.of(formatId('led', ledgerId))
    const object = this.#slots.run(ledgerId, this.#msMax, async () => {
      begin()
      try {
        const fetched = await within(ARCHIVE_FETCH_WAITS_MAX * this.#msMax, (signal) => fetch(store, signal))
        this.#failing = null
        this.#store(name, fetched)
        return fetched
      } catch (error) {
        const { cause } = error as Error
        // A missing or changed object does not count as a failure of the store.
        if (cause instanceof ArchiveStoreError) this.#fail(name, cause.isAway)
        throw error
      }
    })
    const running = { begun, object }
    this.#fetches.set(name, running)
    object.catch(() => {}).finally(() => this.#fetches.delete(name))
    return running
  }

  /** Waits for the object. Throws an error `#msMax` after the fetch has started. */
  async #within<T extends CachedObject>(name: string, { begun, object }: RunningFetch<T>): Promise<T> {
    await Promise.race([begun, object])
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#fail(name, false)
        reject(lateAfter(this.#msMax))
      }, this.#msMax)
      object.then(resolve, reject).finally(() => clearTimeout(timer))
    })
  }

  /**
   * Records a failure. After a failure of only one object, other objects may still be readable. After failures of two
   * objects, or if the whole store is unavailable, further fetches would probably fail too, so all fetches pause.
   */
  #fail(name: string, isAway: boolean): void {
    if (isAway || (this.#failing !== null && this.#failing !== name))
      this.#awayUntilMs = this.#now() + ARCHIVE_AWAY_PAUSE_MS
    this.#failing = name
  }

  #store(name: string, object: CachedObject): void {
    if (object.bytes > this.#bytesMax) return
    this.#cache.set(name, object)
    this.#bytes += object.bytes
    for (const oldest of this.#cache.keys()) {
      if (this.#bytes <= this.#bytesMax) return
      this.#forget(oldest)
    }
  }

  #forget(name: string): void {
    this.#bytes -= this.#cache.get(name)?.bytes ?? 0
    this.#cache.delete(name)
  }
}

function pieceOf(piece: PieceInArchive): ObjectRequest<ArchivedPiece> {
  const { ledgerId, from, lines, linesBytes, documents, documentsBytes } = piece
  return {
    ledgerId,
    name: lines,
    async fetch(store, signal) {
      const get = (kind: 'lines' | 'documents', sha256: string, bytes: number) =>
        getObject(store, { name: pieceObjectName(kind, from, sha256), sha256, bytes }, signal)
      const [text, sealed] = await Promise.all([
        get('lines', lines, linesBytes),
        documents === null ? null : get('documents', documents, documentsBytes!),
      ])
      return ArchivedPiece.read(text, sealed)
    },
  }
}

function bundleOf({ ledgerId, tile, width }: EnvelopesInArchive): ObjectRequest<ArchivedBundle> {
  const address = { level: 'entries', tile, width } as const
  const name = tileName(address)
  return {
    ledgerId,
    name: `${ledgerId} ${name}`,
    fetch: async (store, signal) =>
      new ArchivedBundle(
        address,
        await getObject(store, { name, sha256: null, bytes: ARCHIVE_BUNDLE_BYTES_MAX }, signal),
      ),
  }
}

/**
 * An object to fetch. `sha256` is null for a bundle: Postgres stores no digest of a bundle, but digests of its content.
 */
type RequestedObject = Omit<ArchiveObject, 'sha256'> & { readonly sha256: string | null }

/**
 * Fetches an object and reads at most `bytes`. Throws ArchiveFault if the object is missing or has another digest.
 * Throws ApiError if the store fails.
 */
async function getObject(
  store: ArchiveReader,
  { name, sha256, bytes }: RequestedObject,
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
    if (sha256 !== null && sha256Hex(found) !== sha256) throw anotherOne(name)
    return found
  }
  // If the object `checkpoint` is missing too, the volume is not mounted or the prefix is wrong. The requested object
  // is then not lost.
  if ((await read(CHECKPOINT_OBJECT, ARCHIVE_CHECKPOINT_BYTES_MAX)) === null)
    throw archiveUnavailable(
      `the archive has nothing of this ledger, not even its ${CHECKPOINT_OBJECT}: check that TALLYSTICK_ARCHIVE is the right place, and mounted`,
    )
  throw new ArchiveFault(`the archive's ${name} is missing`)
}

function anotherOne(name: string): ArchiveFault {
  return new ArchiveFault(`the archive's ${name} differs from what was written`)
}

/**
 * Runs `work`. Throws after `msMax`, even if `work` ignores the signal. So a store that does not answer cannot occupy a
 * slot for longer.
 */
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
