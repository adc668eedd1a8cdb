import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type pg from 'pg'
import { type LedgerEnd, type LedgerState, readLedgerEnds } from '../db/chain/ledger-ends.ts'
import { isUnreadable } from '../db/chunks/released-chunks.ts'
import type { Db } from '../db/connect/client.ts'
import { Coalescer } from '../db/connect/coalescer.ts'
import type { DatabasePool } from '../db/connect/pools.ts'
import type { ReleasedContent } from '../db/connect/released-content.ts'
import { type HeldConnection, REPLICA_REFUSALS, type Replica, ReplicaError } from '../db/connect/replica.ts'
import { LOOKUP_QUERIES_MAX, LOOKUPS_PER_QUERY_MAX } from '../db/limits.ts'
import { Lookups } from '../db/records/lookups.ts'
import { Searches } from '../db/records/searches.ts'
import { ApiError } from '../errors.ts'
import type { SignedCheckpoints } from '../followers/checkpoints/signed-checkpoints.ts'
import { KEY_CACHE_AGE_MS_MAX } from '../ledgers/limits.ts'
import type { Uuid } from '../proof/ids.ts'
import { KNOWN_SIZES_MAX, REPLICA_IDLE_MS_MAX } from './limits.ts'
import { LEDGER_SIZE_HEADER } from './plugins/answer-headers.ts'
import { SIZE_TEXT } from './schemas/common.ts'

/** Server that a route reads from. `replica`: through `Reads`; `nothing`: it reads nothing that a ledger holds. */
export type ReadFrom = 'replica' | 'primary' | 'nothing'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Required of each GET. */
    reads?: ReadFrom
  }
}

/** Refuses a GET that does not say from which server it reads. */
export function requireReads(app: FastifyInstance): void {
  app.addHook('onRoute', ({ method, url, config }) => {
    if (method === 'GET' && !config?.reads)
      throw new Error(`the route GET ${url} does not say from which server it reads`)
  })
}

/** Parts of the server that read a ledger. */
export type ReadSources = {
  readonly readPool: Db
  readonly lookups: Lookups
  readonly searches: Searches
  readonly checkpoints: SignedCheckpoints
}

type Primary = Omit<ReadSources, 'readPool'> & { readonly readPool: pg.Pool }

/** Where reads went since the start. `fallback`: the replica was asked for, and the primary answered. */
export type ReadFigures = {
  readonly replica: number
  readonly primary: number
  readonly fallback: number
}

/** `failed`: replay cancelled the read, or the connection broke; `refused`: the replica's answer was an error, such as `not_found`. */
const REASONS = [...REPLICA_REFUSALS, 'failed', 'refused'] as const
type FallbackReason = (typeof REASONS)[number]

/**
 * Reads of a ledger, from the replica where that may be (docs/decisions/0033-reads-from-a-replica.md).
 *
 * The replica only ever says yes: what it can't answer, because it is away, behind, lacks something or finds something wrong, is
 * asked of the primary in the same request. So nobody hears `not_found` of a thing that was answered with 201. A connection is held
 * for the whole read, but not while the archive is asked for long; `archive_unavailable` is no reason to ask again.
 */
export class Reads {
  readonly #primary: Primary
  readonly #replica: Replica | null
  readonly #ends: Coalescer<LedgerState, LedgerEnd>
  #figures = { replica: 0, primary: 0, fallback: 0 }
  /** Sizes of ledgers that the primary has shown. */
  readonly #believed = new Map<Uuid, { readonly size: number; readonly atMs: number }>()
  readonly #fallbacks = Object.fromEntries(REASONS.map((reason) => [reason, 0])) as Record<
    FallbackReason,
    number
  >

  constructor(primary: Primary, replica: Replica | null) {
    this.#primary = primary
    this.#replica = replica
    this.#ends = new Coalescer((states) => this.#readEnds(states), {
      keysMax: LOOKUPS_PER_QUERY_MAX,
      queriesMax: LOOKUP_QUERIES_MAX,
    })
  }

  get figures(): ReadFigures {
    return this.#figures
  }

  /** By reason. */
  get fallbacks(): Readonly<Record<FallbackReason, number>> {
    return this.#fallbacks
  }

  /**
   * Answers what `work` makes of a ledger, from one server. `work` may run twice, and MUST send nothing before it has read all that
   * it needs. `waits`: the answer is about what comes next, which the primary knows first.
   */
  async of<T>(
    request: FastifyRequest,
    reply: FastifyReply,
    work: (from: ReadSources) => Promise<T>,
    { ledgerId = request.caller.ledgerId, waits = false }: { ledgerId?: Uuid; waits?: boolean } = {},
  ): Promise<T> {
    const known = knownSizeOf(request)
    if (this.#replica === null || waits || isFresh(request)) {
      if (known > 0) await this.#refuseSmaller(ledgerId, known)
      return this.#ofPrimary('primary', work)
    }
    let held: HeldReplica | null = null
    try {
      held = await this.#holdBoth(this.#replica, ledgerId, known)
      reply.header(LEDGER_SIZE_HEADER, held.size)
      const answer = await work(held.sources(this.#primary.checkpoints))
      held.release()
      this.#figures.replica++
      return answer
    } catch (error) {
      held?.release(error as Error)
      if (reply.sent) throw error
      reply.removeHeader(LEDGER_SIZE_HEADER)
      // The archive is the same one for the primary, and released content stays released there.
      if (isUnreadable(error)) {
        this.#figures.replica++
        throw error
      }
      this.#countFallback(error as Error)
      if (known > 0) await this.#refuseSmaller(ledgerId, known)
      return await this.#ofPrimary('fallback', work)
    }
  }

  /**
   * Reads of a stream, statement by statement: each rests on no less than the one before it, and shows no document that was erased
   * before it began.
   */
  stream(request: FastifyRequest): Db {
    const { ledgerId } = request.caller
    const replica = this.#replica
    let sizeMin = knownSizeOf(request)
    const query = async (...args: Parameters<Db['query']>) => {
      if (replica === null || isFresh(request)) {
        if (sizeMin > 0) await this.#refuseSmaller(ledgerId, sizeMin)
        return this.#primary.readPool.query(...args)
      }
      let held: HeldConnection | null = null
      try {
        held = await this.#hold(replica, replica.readPool, ledgerId, sizeMin)
        const rows = await held.db.query(...args)
        held.release()
        this.#figures.replica++
        sizeMin = held.size
        return rows
      } catch (error) {
        held?.release(error as Error)
        this.#countFallback(error as Error)
        this.#figures.fallback++
        const rows = await this.#primary.readPool.query(...args)
        const { size } = await this.#ends.find({ ledgerId, size: 0 })
        refuseSmaller(size, sizeMin)
        sizeMin = size
        return rows
      }
    }
    return { query: query as unknown as Db['query'], released: releasedOf(this.#primary.readPool) }
  }

  /** For one request. The connection for searches, if it needs one, comes after the other: so no two requests wait for each other. */
  async #holdBoth(replica: Replica, ledgerId: Uuid, sizeMin: number): Promise<HeldReplica> {
    const first = await this.#hold(replica, replica.readPool, ledgerId, sizeMin)
    let newest = first
    // It may lead to another standby, and MUST show no less.
    const holdAnother = async (pool: DatabasePool) => {
      const held = await this.#hold(replica, pool, ledgerId, newest.size, newest)
      if (held.size > newest.size) newest = held
      return held
    }
    return new HeldReplica(first, {
      read: () => holdAnother(replica.readPool),
      search: () => holdAnother(replica.searchPool),
    })
  }

  /**
   * A connection to the replica whose state of the ledger lies on the primary's chain, and shows nothing that was erased by now. The
   * primary is asked after the replica; many requests share that look. `like`: one of the same request, which was found fit.
   */
  async #hold(
    replica: Replica,
    pool: DatabasePool,
    ledgerId: Uuid,
    sizeMin: number,
    like: HeldConnection | null = null,
  ): Promise<HeldConnection> {
    const held = await replica.hold(pool, ledgerId, sizeMin)
    if (like?.size === held.size && like.chain.equals(held.chain)) return held
    try {
      const end = await this.#ends.find({ ledgerId, size: held.size }).catch((error: Error) => {
        throw new ReplicaError('unknown', `the primary did not say how far it is: ${error.message}`)
      })
      requireSameChain(held, end)
      return held
    } catch (error) {
      const isDiverged = error instanceof ReplicaError && error.refusal === 'diverged'
      held.release(isDiverged ? error : undefined)
      throw error
    }
  }

  #ofPrimary<T>(figure: 'primary' | 'fallback', work: (from: ReadSources) => Promise<T>): Promise<T> {
    this.#figures[figure]++
    return work(this.#primary)
  }

  /** The database's answer about a ledger's size is believed for as long as that about a key. */
  async #refuseSmaller(ledgerId: Uuid, known: number): Promise<void> {
    const believed = this.#believed.get(ledgerId)
    const nowMs = performance.now()
    if (believed && believed.size >= known && nowMs - believed.atMs < KEY_CACHE_AGE_MS_MAX) return
    const { size } = await this.#ends.find({ ledgerId, size: 0 })
    if (this.#believed.size >= KNOWN_SIZES_MAX) this.#believed.clear()
    this.#believed.set(ledgerId, { size, atMs: nowMs })
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

/**
 * The replica for one request: a connection to read, and one to search once something is searched for. A read that waits for the archive
 * gives them back, and takes others for what follows: a slow archive takes no connections from other reads.
 */
class HeldReplica {
  readonly size: number
  readonly #read: Lease
  readonly #search: Lease
  readonly #released: ReleasedContent | null

  constructor(read: HeldConnection, hold: Record<'read' | 'search', () => Promise<HeldConnection>>) {
    this.size = read.size
    this.#read = new Lease(hold.read, read)
    this.#search = new Lease(hold.search)
    const released = releasedOf(read.db)
    this.#released = released && {
      read: (chunk) => this.#whileIdle(released.read(chunk)),
      readEnvelopes: (wanted) => this.#whileIdle(released.readEnvelopes(wanted)),
    }
  }

  sources(checkpoints: SignedCheckpoints): ReadSources {
    const readPool = this.#read.db(this.#released)
    return {
      readPool,
      lookups: new Lookups(readPool),
      searches: new Searches(this.#search.db(this.#released)),
      checkpoints: checkpoints.on(readPool),
    }
  }

  /** `error`: of the read; after one of the database the connections are closed. */
  release(error?: Error): void {
    const ofDatabase = error instanceof ApiError || error instanceof ReplicaError ? undefined : error
    for (const lease of [this.#read, this.#search]) lease.end(ofDatabase)
  }

  async #whileIdle<T>(asked: Promise<T>): Promise<T> {
    // An interval, because a statement may be under way at its first end.
    const timer = setInterval(() => {
      for (const lease of [this.#read, this.#search]) lease.giveBackIdle()
    }, REPLICA_IDLE_MS_MAX)
    return asked.finally(() => clearInterval(timer))
  }
}

/** A connection to the replica, from a statement on until it is given back; the next statement takes another one. */
class Lease {
  readonly #hold: () => Promise<HeldConnection>
  #holding: Promise<HeldConnection> | null
  /** Statements that were asked for and not answered. */
  #underWay = 0
  #isOver = false

  constructor(hold: () => Promise<HeldConnection>, held: HeldConnection | null = null) {
    this.#hold = hold
    this.#holding = held && Promise.resolve(held)
  }

  db(released: ReleasedContent | null): Db {
    return { query: this.#query as unknown as Db['query'], released }
  }

  giveBackIdle(): void {
    if (this.#underWay === 0) this.#giveBack()
  }

  end(error?: Error): void {
    this.#isOver = true
    this.#giveBack(error)
  }

  #giveBack(error?: Error): void {
    this.#holding?.then(
      (held) => held.release(error),
      () => {},
    )
    this.#holding = null
  }

  readonly #query = async (...args: Parameters<Db['query']>) => {
    this.#underWay++
    try {
      if (!this.#isOver) this.#holding ??= this.#hold()
      const held = await this.#holding
      if (held === null || this.#isOver) throw new Error('the connection of this read was given back')
      return await held.db.query(...args)
    } finally {
      this.#underWay--
    }
  }
}

const releasedOf = (db: Db) => db.released ?? null

/** Throws ReplicaError. */
function requireSameChain({ size, chain }: HeldConnection, end: LedgerEnd): void {
  if (end.chain === null) throw new ReplicaError('ahead', `it has ${size} entries, the primary ${end.size}`)
  if (!end.chain.equals(chain))
    throw new ReplicaError('diverged', `its chain of ${size} entries is not the primary's`)
  if (size < end.erasedBelow)
    throw new ReplicaError('behind', `it has ${size} entries of ${end.erasedBelow}: something was erased`)
}

/** Whether the reader wants the newest state, whatever it knows of (RFC 9111 §5.2.1.4). */
function isFresh({ headers }: FastifyRequest): boolean {
  return headers['cache-control'] === 'no-cache'
}

/** Size of `If-Known-Size`; 0: the reader demands nothing. Throws `bad_request`. */
function knownSizeOf({ headers }: FastifyRequest): number {
  const text = headers['if-known-size']
  if (text === undefined) return 0
  if (typeof text === 'string' && SIZE_TEXT.test(text)) return Number(text)
  throw new ApiError('bad_request', 'If-Known-Size: send a size of the ledger, such as 42')
}

function refuseSmaller(size: number, known: number): void {
  if (size >= known) return
  throw new ApiError('ledger_smaller', `the ledger has ${size} entries, not ${known}`)
}
