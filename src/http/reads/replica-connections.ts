import type { LedgerEnd, LedgerState } from '../../db/chain/ledger-ends.ts'
import { aroundArchive } from '../../db/connect/archive.ts'
import type { Db } from '../../db/connect/client.ts'
import { Coalescer } from '../../db/connect/coalescer.ts'
import {
  type HeldConnection,
  type LedgerShown,
  type Replica,
  ReplicaError,
} from '../../db/connect/replica.ts'
import { Lookups } from '../../db/records/lookups.ts'
import { Searches } from '../../db/records/searches.ts'
import type { SignedCheckpoints } from '../../followers/checkpoints/signed-checkpoints.ts'
import type { Uuid } from '../../proof/ids.ts'
import {
  REPLICA_IDLE_MS_MAX,
  REPLICA_LIST_SHARERS_MAX,
  REPLICA_LOOKS_AT_ONCE_MAX,
  REPLICA_SHARERS_MAX,
} from '../limits.ts'

/** Parts of the server that read a ledger. */
export type ReadSources = {
  readonly readPool: Db
  readonly lookups: Lookups
  readonly searches: Searches
  readonly checkpoints: SignedCheckpoints
}

/** Pool of the replica that a read rests on. `search`: its plans are those of searches, and so is its time. */
export type ReplicaPool = 'read' | 'search'

/** Entries of a ledger that a read must show. */
type Wanted = { readonly ledgerId: Uuid; readonly sizeMin: number }

/** A connection to the replica for one request, which MUST leave it. `size`: entries of the request's ledger that it shows. */
export type ReplicaRead = {
  readonly size: number
  readonly sources: ReadSources
  /** `error`: of the read. A connection to a standby of another chain, or on which a statement failed, is closed. */
  leave(error?: Error): void
}

/**
 * Connections to the replica, each found fit for the ledger of the request that reads on it: it shows the entries that the request
 * wants, on the primary's chain, and nothing that was erased by now. The primary is asked after the replica.
 *
 * Requests that come while others are looked at may share a connection: one look at the replica, one at the primary, and one query for
 * the look-ups of all of them.
 */
export class ReplicaConnections {
  readonly #replica: Replica
  readonly #ends: Coalescer<LedgerState, LedgerEnd>
  readonly #checkpoints: SignedCheckpoints
  readonly #shared: Readonly<Record<ReplicaPool, Coalescer<Wanted, ReplicaRead | Error>>>

  constructor(replica: Replica, ends: Coalescer<LedgerState, LedgerEnd>, checkpoints: SignedCheckpoints) {
    this.#replica = replica
    this.#ends = ends
    this.#checkpoints = checkpoints
    const share = (pool: ReplicaPool, keysMax: number) =>
      new Coalescer<Wanted, ReplicaRead | Error>((wanted) => this.#open(pool, wanted), {
        keysMax,
        queriesMax: REPLICA_LOOKS_AT_ONCE_MAX,
      })
    this.#shared = {
      read: share('read', REPLICA_SHARERS_MAX),
      search: share('search', REPLICA_LIST_SHARERS_MAX),
    }
  }

  /**
   * Throws ReplicaError, and whatever the connection fails with. `shares`: the others on the connection wait for each statement of the
   * read, so it MUST have short ones only.
   */
  async take(pool: ReplicaPool, wanted: Wanted, { shares }: { shares: boolean }): Promise<ReplicaRead> {
    const read = shares ? await this.#shared[pool].find(wanted) : (await this.#open(pool, [wanted]))[0]!
    if (read instanceof Error) throw read
    return read
  }

  /** One connection for all of them. An error is that of one: the others stay. */
  async #open(pool: ReplicaPool, wanted: readonly Wanted[]): Promise<(ReplicaRead | Error)[]> {
    const held = await this.#hold(pool, new Set(wanted.map(({ ledgerId }) => ledgerId)))
    const { ledgers } = held
    const sizes = new Map<Uuid, number>()
    const lease = new Lease(held, wanted.length, () => this.#holdAnother(pool, sizes))
    const leave = (error?: Error) => lease.leave(error)
    const { db } = lease
    const sources = {
      readPool: db,
      lookups: new Lookups(db),
      searches: new Searches(db),
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

  /** A connection for the same readers, perhaps to another standby. `sizes`: the newest that they were shown, which it raises. */
  async #holdAnother(pool: ReplicaPool, sizes: Map<Uuid, number>): Promise<HeldConnection> {
    const held = await this.#hold(pool, sizes.keys())
    try {
      await Promise.all(
        [...held.ledgers].map(async ([ledgerId, shown]) => {
          requireSize(shown, sizes.get(ledgerId)!)
          await this.#requireSameChain(ledgerId, shown)
        }),
      )
      for (const [ledgerId, { size }] of held.ledgers) sizes.set(ledgerId, size)
      return held
    } catch (error) {
      held.release(error instanceof ReplicaError && !isDiverged(error) ? undefined : (error as Error))
      throw error
    }
  }

  #hold(pool: ReplicaPool, ledgerIds: Iterable<Uuid>): Promise<HeldConnection> {
    const { readPool, searchPool } = this.#replica
    return this.#replica.hold(pool === 'read' ? readPool : searchPool, [...ledgerIds])
  }

  /** Throws ReplicaError. */
  async #requireSameChain(ledgerId: Uuid, { size, chain }: LedgerShown): Promise<void> {
    const end = await this.#ends.find({ ledgerId, size }).catch((error: Error) => {
      throw new ReplicaError('unknown', `the primary did not say how far it is: ${error.message}`)
    })
    if (end.chain === null) throw new ReplicaError('ahead', `it has ${size} entries, the primary ${end.size}`)
    if (chain === null || !end.chain.equals(chain))
      throw new ReplicaError('diverged', `its chain of ${size} entries is not the primary's`)
    if (size < end.erasedBelow)
      throw new ReplicaError('behind', `it has ${size} entries of ${end.erasedBelow}: something was erased`)
  }
}

/**
 * A connection for readers, until all of them have left. It is given back while one of them waits for the archive and no statement runs,
 * and the next statement takes another one: a slow archive takes no connections from other reads.
 */
class Lease {
  readonly db: Db
  readonly #holdAnother: () => Promise<HeldConnection>
  #holding: Promise<HeldConnection> | null
  #readers: number
  /** Statements that were asked for and not answered. */
  #underWay = 0
  /** The first error of the database, after which there are no more statements. */
  #broken: Error | undefined

  constructor(held: HeldConnection, readers: number, holdAnother: () => Promise<HeldConnection>) {
    this.#holding = Promise.resolve(held)
    this.#readers = readers
    this.#holdAnother = holdAnother
    const query = this.#query as unknown as Db['query']
    this.db = aroundArchive({ query, archive: held.db.archive ?? null }, (read) => this.#whileIdle(read))
  }

  /** Called once for each reader. */
  leave(error?: Error): void {
    // A statement that failed has said so by itself; other errors are of one reader.
    if (error && isDiverged(error)) this.#broken ??= error
    if (--this.#readers === 0) this.#giveBack()
  }

  async #whileIdle<T>(read: () => Promise<T>): Promise<T> {
    const asked = read()
    // An interval, because a statement may be under way at its first end.
    const timer = setInterval(() => {
      if (this.#underWay === 0) this.#giveBack()
    }, REPLICA_IDLE_MS_MAX)
    return asked.finally(() => clearInterval(timer))
  }

  #giveBack(): void {
    const error = this.#broken
    this.#holding?.then(
      (held) => held.release(error),
      () => {},
    )
    this.#holding = null
  }

  readonly #query = async (...args: Parameters<Db['query']>) => {
    this.#underWay++
    try {
      this.#requireOpen()
      this.#holding ??= this.#holdAnother()
      const held = await this.#holding
      this.#requireOpen()
      return await held.db.query(...args)
    } catch (error) {
      this.#broken ??= error as Error
      throw error
    } finally {
      this.#underWay--
    }
  }

  #requireOpen(): void {
    if (this.#broken) throw this.#broken
    if (this.#readers === 0) throw new Error('the connection of this read was given back')
  }
}

/** Throws ReplicaError. Ledgers always have an entry. */
function requireSize({ size }: LedgerShown, sizeMin: number): void {
  if (size < Math.max(sizeMin, 1)) throw new ReplicaError('behind', `it has ${size} entries of ${sizeMin}`)
}

/** A connection to a standby of another chain is closed. */
function isDiverged(error: Error): boolean {
  return error instanceof ReplicaError && error.refusal === 'diverged'
}
