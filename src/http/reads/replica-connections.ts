import type { LedgerEnd, LedgerState } from '../../db/chain/ledger-ends.ts'
import { PlainChunks } from '../../db/chunks/plain-chunks.ts'
import { wrapArchiveReads } from '../../db/connect/archive.ts'
import type { Db } from '../../db/connect/client.ts'
import { Coalescer } from '../../db/connect/coalescer.ts'
import {
  type LedgerShown,
  type Replica,
  ReplicaError,
  type ReservedConnection,
} from '../../db/connect/replica.ts'
import { LARGE_READS_MAX } from '../../db/limits.ts'
import { LargeReads } from '../../db/records/large-reads.ts'
import { Lookups } from '../../db/records/lookups.ts'
import { type PageSlices, Searches, type SearchParts } from '../../db/records/searches.ts'
import type { SignedCheckpoints } from '../../followers/checkpoints/signed-checkpoints.ts'
import type { Uuid } from '../../proof/ids.ts'
import {
  REPLICA_CHECKS_AT_ONCE_MAX,
  REPLICA_IDLE_MS_MAX,
  REPLICA_LIST_SHARERS_MAX,
  REPLICA_SHARERS_MAX,
} from '../limits.ts'

export type ReadSources = {
  readonly readPool: Db
  readonly lookups: Lookups
  readonly searches: Searches
  readonly checkpoints: SignedCheckpoints
}

/** A pool of connections to the replica. The pool `search` has query plans and timeouts for searches. */
export type ReplicaPool = 'read' | 'search'

/** A ledger, and the minimum number of its entries that a read must show. */
type RequiredSize = { readonly ledgerId: Uuid; readonly sizeMin: number }

/**
 * A connection to the replica for one request. The request MUST call `leave`. `size`: number of entries of the
 * request's ledger that are visible on the connection.
 */
export type ReplicaRead = {
  readonly size: number
  readonly sources: ReadSources
  /**
   * Ends the use of the connection. `error`: the error with which the read failed. The connection is closed if a
   * statement failed, or if the standby has another chain.
   */
  leave(error?: Error): void
}

/**
 * Connections to the replica. Each connection is checked for the ledgers of its requests: it must show enough entries,
 * on the same chain as the primary, and no document that has been erased by now. For this check, the replica is queried
 * first and the primary after it.
 *
 * Requests that come while other connections are being checked may share a connection. They then share one check of the
 * replica and one check of the primary, and their look-ups by id share a query.
 */
export class ReplicaConnections {
  readonly #replica: Replica
  readonly #ends: Coalescer<LedgerState, LedgerEnd>
  readonly #checkpoints: SignedCheckpoints
  /** Parts that the searches of all connections share. */
  readonly #ofSearches: SearchParts
  readonly #shared: Readonly<Record<ReplicaPool, Coalescer<RequiredSize, ReplicaRead | Error>>>

  constructor(
    replica: Replica,
    ends: Coalescer<LedgerState, LedgerEnd>,
    checkpoints: SignedCheckpoints,
    slices: PageSlices,
  ) {
    // A page that waited would hold its connection meanwhile. So pages that cannot begin go to the primary.
    const largeReads = new LargeReads({ atOnceMax: LARGE_READS_MAX, waitingMax: 0 })
    this.#ofSearches = { largeReads, slices, plainChunks: new PlainChunks() }
    this.#replica = replica
    this.#ends = ends
    this.#checkpoints = checkpoints
    const share = (pool: ReplicaPool, keysMax: number) =>
      new Coalescer<RequiredSize, ReplicaRead | Error>((wanted) => this.#open(pool, wanted), {
        keysMax,
        queriesMax: REPLICA_CHECKS_AT_ONCE_MAX,
      })
    this.#shared = {
      read: share('read', REPLICA_SHARERS_MAX),
      search: share('search', REPLICA_LIST_SHARERS_MAX),
    }
  }

  /**
   * Returns a checked connection. Throws ReplicaError, and errors of the connection. `shares`: true if other requests
   * may use the same connection at the same time. They wait for each statement, so the read MUST have only short
   * statements.
   */
  async take(pool: ReplicaPool, wanted: RequiredSize, { shares }: { shares: boolean }): Promise<ReplicaRead> {
    const read = shares ? await this.#shared[pool].find(wanted) : (await this.#open(pool, [wanted]))[0]!
    if (read instanceof Error) throw read
    return read
  }

  /**
   * Opens one connection for several requests, one for each item of `wanted`. An error of one request does not affect
   * the other requests.
   */
  async #open(pool: ReplicaPool, wanted: readonly RequiredSize[]): Promise<(ReplicaRead | Error)[]> {
    const reserved = await this.#reserve(pool, new Set(wanted.map(({ ledgerId }) => ledgerId)))
    const { ledgers } = reserved
    const sizes = new Map<Uuid, number>()
    const lease = new Lease(reserved, wanted.length, () => this.#reserveAnother(pool, sizes))
    const leave = (error?: Error) => lease.leave(error)
    const { db } = lease
    const sources = {
      readPool: db,
      lookups: new Lookups(db),
      searches: new Searches(db, this.#ofSearches),
      checkpoints: this.#checkpoints.on(db),
    }
    const chains = new Map<Uuid, Promise<void>>()
    return Promise.all(
      wanted.map(async ({ ledgerId, sizeMin }) => {
        const shown = ledgers.get(ledgerId)!
        try {
          requireSize(shown, sizeMin)
          if (!chains.has(ledgerId)) chains.set(ledgerId, this.#requireSameChain(ledgerId, shown))
          await chains.get(ledgerId)
          sizes.set(ledgerId, shown.size)
          return { size: shown.size, sources, leave }
        } catch (error) {
          leave(error as Error)
          return error as Error
        }
      }),
    )
  }

  /**
   * Returns another connection for the same readers. The connection may lead to another standby. `sizes`: maps a ledger
   * to the largest size that its readers have seen. This call updates the sizes.
   */
  async #reserveAnother(pool: ReplicaPool, sizes: Map<Uuid, number>): Promise<ReservedConnection> {
    const reserved = await this.#reserve(pool, sizes.keys())
    try {
      await Promise.all(
        [...reserved.ledgers].map(async ([ledgerId, shown]) => {
          requireSize(shown, sizes.get(ledgerId)!)
          await this.#requireSameChain(ledgerId, shown)
        }),
      )
      for (const [ledgerId, { size }] of reserved.ledgers) sizes.set(ledgerId, size)
      return reserved
    } catch (error) {
      reserved.release(error instanceof ReplicaError && !isDiverged(error) ? undefined : (error as Error))
      throw error
    }
  }

  #reserve(pool: ReplicaPool, ledgerIds: Iterable<Uuid>): Promise<ReservedConnection> {
    const { readPool, searchPool } = this.#replica
    return this.#replica.reserve(pool === 'read' ? readPool : searchPool, [...ledgerIds])
  }

  async #requireSameChain(ledgerId: Uuid, { size, chain }: LedgerShown): Promise<void> {
    const end = await this.#ends.find({ ledgerId, size }).catch((error: Error) => {
      throw new ReplicaError(
        'unknown',
        `the size of the ledger on the primary could not be read: ${error.message}`,
      )
    })
    if (end.chain === null)
      throw new ReplicaError('ahead', `the replica has ${size} entries, the primary ${end.size}`)
    if (chain === null || !end.chain.equals(chain))
      throw new ReplicaError('diverged', `the replica's chain of ${size} entries differs from the primary's`)
    if (size < end.erasedBelow)
      throw new ReplicaError(
        'behind',
        `the replica has ${size} entries and lacks an erasure below entry ${end.erasedBelow}`,
      )
  }
}

/**
 * A connection for several readers, until all of them have left. While a reader waits for the archive and no
 * statement runs, the connection is returned to the pool. The next statement takes another connection. So a slow
 * archive takes no connections from other reads.
 */
class Lease {
  readonly db: Db
  readonly #reserveAnother: () => Promise<ReservedConnection>
  #reserved: Promise<ReservedConnection> | null
  #readers: number
  /** Number of statements that have not been answered yet. */
  #underWay = 0
  /** The first error of the database. After this error, no further statement runs. */
  #error: Error | undefined

  constructor(
    reserved: ReservedConnection,
    readers: number,
    reserveAnother: () => Promise<ReservedConnection>,
  ) {
    this.#reserved = Promise.resolve(reserved)
    this.#readers = readers
    this.#reserveAnother = reserveAnother
    const query = this.#query as unknown as Db['query']
    this.db = wrapArchiveReads({ query, archive: reserved.db.archive ?? null }, (read) =>
      this.#whileIdle(read),
    )
  }

  /** Ends the use of the connection by one reader. MUST be called once for each reader. */
  leave(error?: Error): void {
    // `#query` has already stored the errors of statements. Other errors concern only one reader.
    if (error && isDiverged(error)) this.#error ??= error
    if (--this.#readers === 0) this.#giveBack()
  }

  async #whileIdle<T>(read: () => Promise<T>): Promise<T> {
    const asked = read()
    // This is an interval and not a single timeout, because a statement may be running when the timer first fires.
    const timer = setInterval(() => {
      if (this.#underWay === 0) this.#giveBack()
    }, REPLICA_IDLE_MS_MAX)
    return asked.finally(() => clearInterval(timer))
  }

  #giveBack(): void {
    const error = this.#error
    this.#reserved?.then(
      (reserved) => reserved.release(error),
      () => {},
    )
    this.#reserved = null
  }

  readonly #query = async (...args: Parameters<Db['query']>) => {
    this.#underWay++
    try {
      this.#requireOpen()
      this.#reserved ??= this.#reserveAnother()
      const reserved = await this.#reserved
      this.#requireOpen()
      return await reserved.db.query(...args)
    } catch (error) {
      this.#error ??= error as Error
      throw error
    } finally {
      this.#underWay--
    }
  }

  #requireOpen(): void {
    if (this.#error) throw this.#error
    if (this.#readers === 0) throw new Error('the connection of this read was already released')
  }
}

/**
 * Throws ReplicaError if the replica has too few entries of the ledger. The minimum is one entry, because every ledger
 * has a first entry.
 */
function requireSize({ size }: LedgerShown, sizeMin: number): void {
  if (size < Math.max(sizeMin, 1))
    throw new ReplicaError('behind', `the replica has ${size} entries, the request needs ${sizeMin}`)
}

/** Returns true if the error means that the standby has another chain. Its connection is then closed. */
function isDiverged(error: Error): boolean {
  return error instanceof ReplicaError && error.refusal === 'diverged'
}
