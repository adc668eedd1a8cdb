import type { FastifyContextConfig, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type pg from 'pg'
import { type LedgerEnd, type LedgerState, readLedgerEnds } from '../../db/chain/ledger-ends.ts'
import { isUnreadable } from '../../db/connect/archive.ts'
import type { Db } from '../../db/connect/client.ts'
import { Coalescer } from '../../db/connect/coalescer.ts'
import { REPLICA_REFUSALS, type Replica, ReplicaError } from '../../db/connect/replica.ts'
import { LOOKUP_QUERIES_MAX, LOOKUPS_PER_QUERY_MAX } from '../../db/limits.ts'
import type { PageSlices } from '../../db/records/searches.ts'
import { ApiError } from '../../errors.ts'
import { KEY_CACHE_AGE_MS_MAX } from '../../ledgers/limits.ts'
import { cacheDirectivesOf } from '../../proof/http-fields.ts'
import { parseId, type Uuid } from '../../proof/ids.ts'
import { KNOWN_SIZES_MAX } from '../limits.ts'
import { LEDGER_SIZE_HEADER } from '../plugins/answer-headers.ts'
import { SIZE_TEXT } from '../schemas/common.ts'
import {
  type ReadSources,
  ReplicaConnections,
  type ReplicaPool,
  type ReplicaRead,
} from './replica-connections.ts'

/**
 * The server from which a route reads. `replica`: the replica, through `Reads`. `nothing`: the route reads no data of a
 * ledger.
 */
export type ReadFrom = 'replica' | 'primary' | 'nothing'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Required in the config of every GET route. */
    reads?: ReadFrom
  }
}

/**
 * Refuses to register a GET route that does not declare from which server it reads. Adds the check of `If-Known-Size`
 * to routes that read a ledger only from the primary. For routes that may read from the replica, `Reads` makes this
 * check.
 */
export function requireReads(app: FastifyInstance, reads: Reads): void {
  app.addHook('onRoute', (route) => {
    if (route.method !== 'GET') return
    const { url, config } = route
    if (!config?.reads) throw new Error(`the route GET ${url} does not say from which server it reads`)
    if (takesKnownSize(config) && config.reads === 'primary')
      route.preHandler = async (request: FastifyRequest) => reads.requireKnownSize(request)
  })
}

/** Returns true if a route can answer `ledger_smaller`. Routes that read the ledger of the caller's key can. */
export function takesKnownSize({ reads, access }: FastifyContextConfig): boolean {
  return reads === 'replica' || (reads === 'primary' && typeof access === 'object')
}

type Primary = Omit<ReadSources, 'readPool'> & { readonly readPool: pg.Pool }

/**
 * Number of reads by source since the start. `fallback`: the primary answered a read that was meant for the replica.
 */
export type ReadCounts = {
  readonly replica: number
  readonly primary: number
  readonly fallback: number
}

/**
 * Reasons why the primary answered instead of the replica. `failed`: the replica cancelled the read, or the connection
 * broke. `refused`: the replica's answer was an error, such as `not_found`.
 */
const REASONS = [...REPLICA_REFUSALS, 'failed', 'refused'] as const
type FallbackReason = (typeof REASONS)[number]

/**
 * Reads data of a ledger, from the replica where possible
 * (docs/decisions/0032-failover-and-replicas.md#reads-from-a-replica).
 *
 * Only successful answers of the replica count. If the replica is unavailable or behind, lacks something or finds a
 * fault, the same request reads from the primary. So no client gets `not_found` for something that was answered with
 * 201. A connection is reserved for the whole read, except during a long wait for the archive. After
 * `archive_unavailable` the primary is not tried.
 */
export class Reads {
  readonly #primary: Primary
  readonly #replica: Replica | null
  readonly #connections: ReplicaConnections | null
  readonly #ends: Coalescer<LedgerState, LedgerEnd>
  #counts = { replica: 0, primary: 0, fallback: 0 }
  /** Maps a ledger to its size on the primary, as it was read at `atMs`. */
  readonly #knownSizes = new Map<Uuid, { readonly size: number; readonly atMs: number }>()
  readonly #fallbacks = Object.fromEntries(REASONS.map((reason) => [reason, 0])) as Record<
    FallbackReason,
    number
  >

  constructor(primary: Primary, replica: Replica | null, slices: PageSlices) {
    this.#primary = primary
    this.#replica = replica
    this.#ends = new Coalescer((states) => this.#readEnds(states), {
      keysMax: LOOKUPS_PER_QUERY_MAX,
      queriesMax: LOOKUP_QUERIES_MAX,
    })
    this.#connections = replica && new ReplicaConnections(replica, this.#ends, primary.checkpoints, slices)
  }

  get counts(): ReadCounts {
    return this.#counts
  }

  get fallbacks(): Readonly<Record<FallbackReason, number>> {
    return this.#fallbacks
  }

  /**
   * Reads a ledger by calling `work` with one server. `work` may be called a second time, with the primary. So it MUST
   * send nothing before it has read all that it needs. `waits`: true if the request waits for the next step of a
   * record. Then the primary is read, because the primary has new steps first. `pool`, `shares`: as in
   * ReplicaConnections.
   */
  async of<T>(
    request: FastifyRequest,
    reply: FastifyReply,
    work: (from: ReadSources) => Promise<T>,
    {
      ledgerId = request.caller.ledgerId,
      waits = false,
      pool = 'read',
      shares = false,
    }: { ledgerId?: Uuid; waits?: boolean; pool?: ReplicaPool; shares?: boolean } = {},
  ): Promise<T> {
    const known = knownSizeOf(request)
    if (this.#connections === null || waits || isFresh(request)) {
      if (known > 0) await this.#refuseSmaller(ledgerId, known)
      return this.#ofPrimary('primary', work)
    }
    let read: ReplicaRead | null = null
    try {
      read = await this.#connections.take(pool, { ledgerId, sizeMin: known }, { shares })
      reply.header(LEDGER_SIZE_HEADER, read.size)
      const answer = await work(read.sources)
      read.leave()
      this.#counts.replica++
      return answer
    } catch (error) {
      read?.leave(error as Error)
      if (reply.sent) throw error
      reply.removeHeader(LEDGER_SIZE_HEADER)
      // The data are in the archive and not in Postgres. The primary would read the same archive, so it is not tried.
      if (isUnreadable(error)) {
        this.#counts.replica++
        throw error
      }
      this.#countFallback(error as Error)
      if (known > 0) await this.#refuseSmaller(ledgerId, known)
      return await this.#ofPrimary('fallback', work)
    }
  }

  /**
   * Throws `ledger_smaller` if the ledger has fewer entries on the primary than `If-Known-Size` says. Throws
   * `bad_request` for a malformed header.
   */
  async requireKnownSize(request: FastifyRequest): Promise<void> {
    const known = knownSizeOf(request)
    // A public ledger may be read without a key, so there may be no caller.
    const ledgerId =
      request.publicLedger === null ? request.caller.ledgerId : parseId('led', request.publicLedger)
    if (known > 0) await this.#refuseSmaller(ledgerId, known)
  }

  /**
   * Returns a Db for a stream. It chooses a server again for each SQL statement. Each SQL statement shows at least as
   * many entries as the one before, and no document that was erased before it began.
   */
  stream(request: FastifyRequest): Db {
    const { ledgerId } = request.caller
    const connections = this.#connections
    let sizeMin = knownSizeOf(request)
    const query = async (...args: Parameters<Db['query']>) => {
      if (connections === null || isFresh(request)) {
        if (sizeMin > 0) await this.#refuseSmaller(ledgerId, sizeMin)
        return this.#primary.readPool.query(...args)
      }
      let read: ReplicaRead | null = null
      try {
        read = await connections.take('read', { ledgerId, sizeMin }, { shares: false })
        const rows = await read.sources.readPool.query(...args)
        read.leave()
        this.#counts.replica++
        sizeMin = read.size
        return rows
      } catch (error) {
        read?.leave(error as Error)
        this.#countFallback(error as Error)
        this.#counts.fallback++
        const rows = await this.#primary.readPool.query(...args)
        const { size } = await this.#ends.find({ ledgerId, size: 0 })
        refuseSmaller(size, sizeMin)
        sizeMin = size
        return rows
      }
    }
    return {
      query: query as unknown as Db['query'],
      archive: (this.#primary.readPool as Db).archive ?? null,
    }
  }

  #ofPrimary<T>(figure: 'primary' | 'fallback', work: (from: ReadSources) => Promise<T>): Promise<T> {
    this.#counts[figure]++
    return work(this.#primary)
  }

  /**
   * Throws `ledger_smaller` if the ledger has fewer entries than `known`. The size of a ledger is cached as long as an
   * API key is cached.
   */
  async #refuseSmaller(ledgerId: Uuid, known: number): Promise<void> {
    const cached = this.#knownSizes.get(ledgerId)
    const nowMs = performance.now()
    if (cached && cached.size >= known && nowMs - cached.atMs < KEY_CACHE_AGE_MS_MAX) return
    const { size } = await this.#ends.find({ ledgerId, size: 0 })
    if (this.#knownSizes.size >= KNOWN_SIZES_MAX) this.#knownSizes.clear()
    this.#knownSizes.set(ledgerId, { size, atMs: nowMs })
    refuseSmaller(size, known)
  }

  #countFallback(error: Error): void {
    this.#replica!.failed(error)
    const reason =
      error instanceof ReplicaError ? error.refusal : error instanceof ApiError ? 'refused' : 'failed'
    this.#fallbacks[reason]++
  }

  async #readEnds(states: readonly LedgerState[]): Promise<LedgerEnd[]> {
    const atMs = performance.now()
    const ends = await readLedgerEnds(this.#primary.readPool, states)
    this.#replica?.primaryLog.note(Math.max(...ends.map(({ walBytes }) => walBytes)), atMs)
    return ends
  }
}

/** Returns true if the client requires the newest state, by `no-cache` or `max-age=0` (RFC 9111 §5.2.1.1, §5.2.1.4). */
function isFresh({ headers }: FastifyRequest): boolean {
  const directives = cacheDirectivesOf(headers['cache-control'])
  return directives.has('no-cache') || directives.get('max-age') === '0'
}

/** Returns the size in `If-Known-Size`, or 0 if the header is absent. Throws `bad_request` for a malformed header. */
function knownSizeOf({ headers }: FastifyRequest): number {
  const text = headers['if-known-size']
  if (text === undefined) return 0
  if (typeof text === 'string' && SIZE_TEXT.test(text)) return Number(text)
  throw new ApiError('bad_request', 'If-Known-Size must be a size of the ledger, such as 42')
}

function refuseSmaller(size: number, known: number): void {
  if (size >= known) return
  throw new ApiError(
    'ledger_smaller',
    `the ledger has ${size} entries, fewer than the ${known} of If-Known-Size`,
  )
}
