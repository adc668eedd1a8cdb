import type pg from 'pg'
import type { Uuid } from '../../proof/ids.ts'
import { REPLICA_CHECK_MS_MAX, REPLICA_PROBE_EVERY_MS, REPLICA_WAIT_MS_MAX } from '../limits.ts'
import { type Db, serializeQueries } from './client.ts'
import { ConnectError } from './connect-error.ts'
import type { Database } from './connection.ts'
import { isMoved } from './failures.ts'
import { type DatabasePool, openProbePool, openReadPool, openSearchPool } from './pools.ts'
import { PrimaryLog } from './primary-log.ts'

/**
 * Reasons for which a read goes to the primary.
 *
 * These apply to all reads until the next probe:
 *
 * - `away`: no connection could be made, or it broke.
 * - `promoted`: the server is no longer a standby.
 * - `foreign`: the server is a standby of another system.
 * - `lagging`: the server is further behind than allowed.
 * - `unknown`: the server has not been probed yet.
 *
 * These apply to one read:
 *
 * - `unknown`: the primary did not report its position.
 * - `busy`: no connection was free in time.
 * - `behind`: the replica lacks entries that the read must show.
 * - `ahead`: the replica shows entries that the primary does not show.
 * - `diverged`: the replica shows another chain.
 */
export const REPLICA_REFUSALS = [
  'away',
  'promoted',
  'foreign',
  'lagging',
  'unknown',
  'busy',
  'behind',
  'ahead',
  'diverged',
] as const
export type ReplicaRefusal = (typeof REPLICA_REFUSALS)[number]

const OF_ONE_READ: readonly ReplicaRefusal[] = ['unknown', 'busy', 'behind', 'ahead', 'diverged']

export class ReplicaError extends Error {
  readonly refusal: ReplicaRefusal

  constructor(refusal: ReplicaRefusal, detail: string) {
    super(detail)
    this.refusal = refusal
  }
}

/**
 * Size and chain hash of a ledger as read on one connection. Later statements on this connection see at least this
 * size, because a standby never loses entries that it has shown.
 */
export type LedgerShown = {
  /** Number of entries. 0 if the ledger is not visible on the connection. */
  readonly size: number
  /** Chain hash (32 bytes) of the first `size` entries. null if the ledger has no entries. */
  readonly chain: Buffer | null
}

export type ReservedConnection = {
  readonly db: Db
  readonly ledgers: ReadonlyMap<Uuid, LedgerShown>
  /** Returns the connection to its pool, or closes the connection if `error` is given. */
  release(error?: Error): void
}

type ReplicaLog = {
  warn(details: object, message: string): void
  info(details: object, message: string): void
}

/**
 * A physical standby (hot standby of Postgres) from which reads may be served.
 *
 * Each read checks three things on its own connection: that the server is a standby, how far it has replayed, and how
 * many entries of the ledger it has. So the URL may name one server, or a load balancer in front of several servers.
 * After a refusal that applies to all reads, only `probe` checks the server, once a second.
 */
export class Replica {
  readonly readPool: DatabasePool
  readonly searchPool: DatabasePool
  readonly #probePool: DatabasePool
  readonly primaryLog = new PrimaryLog()
  readonly #primary: pg.Pool
  readonly #lagMsMax: number
  readonly #now: () => number
  readonly #log: ReplicaLog
  readonly #known = new WeakSet<object>()
  #refusal: ReplicaRefusal | null = 'unknown'
  #lag: { readonly bytes: number; readonly ms: number } | null = null
  #timer: NodeJS.Timeout | null = null
  #probing: Promise<void> | null = null

  constructor(
    database: Database,
    deps: {
      readonly primary: pg.Pool
      readonly lagMsMax: number
      readonly log: ReplicaLog
      readonly now?: () => number
    },
  ) {
    this.readPool = openReadPool(database, deps.log)
    this.searchPool = openSearchPool(database, deps.log)
    this.#probePool = openProbePool(database, deps.log)
    this.#primary = deps.primary
    this.#lagMsMax = deps.lagMsMax
    this.#log = deps.log
    this.#now = deps.now ?? (() => performance.now())
  }

  /** Reason for which all reads go to the primary now. null if reads may use the replica. */
  get refusal(): ReplicaRefusal | null {
    return this.#refusal
  }

  /** Lag of the replica at the last check. null if the replica could not be checked. */
  get lag(): { readonly bytes: number; readonly ms: number } | null {
    return this.#lag
  }

  /** Starts the probe, which runs once a second. Returns after the first run. */
  async open(): Promise<void> {
    this.#timer = setInterval(() => void this.probe(), REPLICA_PROBE_EVERY_MS)
    await this.probe()
  }

  /**
   * Takes a connection of `pool` and reads the sizes and chain hashes of the ledgers on it.
   *
   * Throws ReplicaError or the connection's error. In both cases the read goes to the primary.
   */
  async reserve(pool: DatabasePool, ledgerIds: readonly Uuid[]): Promise<ReservedConnection> {
    if (this.#refusal !== null) throw new ReplicaError(this.#refusal, 'the last check refused it')
    const client = await this.#connectSoon(pool)
    try {
      const shown = await this.#check(client, ledgerIds)
      const ledgers = new Map(ledgerIds.map((ledgerId, i) => [ledgerId, shown[i]!]))
      return { db: serializeQueries(client), ledgers, release: (error) => client.release(error) }
    } catch (error) {
      // A standby that only lags may serve the next read, so its connection stays open.
      const isSound = error instanceof ReplicaError && error.refusal === 'lagging'
      client.release(isSound ? undefined : (error as Error))
      this.failed(error as Error)
      const refusal = refusalOf(error as Error)
      throw refusal === null ? error : new ReplicaError(refusal, (error as Error).message)
    }
  }

  /**
   * Handles an error of a read. If the error affects the whole server, other reads go to the primary until the next
   * probe.
   */
  failed(error: Error): void {
    const refusal = refusalOf(error)
    if (refusal !== null && !OF_ONE_READ.includes(refusal)) this.#set(refusal, error)
  }

  /** Checks the replica and updates `refusal`. Never throws. */
  probe(): Promise<void> {
    this.#probing ??= this.#probe().finally(() => {
      this.#probing = null
    })
    return this.#probing
  }

  async close(): Promise<void> {
    if (this.#timer !== null) clearInterval(this.#timer)
    await this.#probing
    await this.readPool.end()
    await this.searchPool.end()
    await this.#probePool.end()
  }

  async #probe(): Promise<void> {
    try {
      await this.#readPrimaryPosition()
    } catch {
      // The primary has failed, not the replica, so `refusal` stays as it is. Reads need the primary too.
      return
    }
    try {
      const client = await this.#connect(this.#probePool)
      try {
        await this.#check(client, [null])
        client.release()
      } catch (error) {
        client.release(error as Error)
        throw error
      }
      this.#set(null)
    } catch (error) {
      const refusal = refusalOf(error as Error)
      this.#set(refusal === null || OF_ONE_READ.includes(refusal) ? 'away' : refusal, error as Error)
    }
  }

  async #connect(pool: pg.Pool): Promise<pg.PoolClient> {
    try {
      return await pool.connect()
    } catch (error) {
      const { message } = error as Error
      const refused = new ReplicaError(error instanceof ConnectError ? 'away' : 'busy', message)
      this.failed(refused)
      throw refused
    }
  }

  /**
   * Takes or makes a connection. Waits only briefly if all connections are in use, because reads may take a long time.
   */
  async #connectSoon(pool: DatabasePool): Promise<pg.PoolClient> {
    const hasRoom = pool.idleCount > 0 || pool.totalCount < pool.options.max
    const msMax = hasRoom ? REPLICA_CHECK_MS_MAX : REPLICA_WAIT_MS_MAX
    const connecting = this.#connect(pool)
    let timer: NodeJS.Timeout | undefined
    const waiting = new Promise<null>((resolve) => {
      timer = setTimeout(resolve, msMax, null)
    })
    try {
      const client = await Promise.race([connecting, waiting])
      if (client !== null) return client
    } finally {
      clearTimeout(timer)
    }
    connecting.then(
      (client) => client.release(),
      () => {},
    )
    throw new ReplicaError('busy', 'no connection was free in time')
  }

  async #readPrimaryPosition(): Promise<void> {
    const atMs = this.#now()
    const { rows } = await this.#primary.query<{ walBytes: number }>(
      "select pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0') as wal_bytes",
    )
    this.primaryLog.note(rows[0]!.walBytes, atMs)
  }

  /**
   * Returns the size and chain hash of each ledger on this connection, in the order of `ledgerIds`, which must not be
   * empty. Throws ReplicaError.
   */
  async #check(client: pg.PoolClient, ledgerIds: readonly (Uuid | null)[]): Promise<LedgerShown[]> {
    await this.#identify(client)
    const { rows } = await queryWithin<LedgerShown & { isStandby: boolean; walBytes: number | null }>(
      client,
      REPLICA_CHECK_MS_MAX,
      {
        name: 'check_replica',
        text: `select pg_is_in_recovery() as is_standby,
          case when pg_is_in_recovery() then pg_wal_lsn_diff(pg_last_wal_replay_lsn(), '0/0') end as wal_bytes,
          coalesce(h.size, 0) as size, h.chain
        from unnest($1::uuid[]) with ordinality as asked (ledger_id, ix)
        left join tallystick.chain_heads h on h.ledger_id = asked.ledger_id
        order by asked.ix`,
        values: [ledgerIds],
      },
    )
    const { isStandby, walBytes } = rows[0]!
    if (!isStandby) throw new ReplicaError('promoted', 'the server is not a standby: it accepts writes')
    this.#lag = walBytes === null ? null : this.primaryLog.behind(walBytes, this.#now())
    if (this.#lag === null) throw new ReplicaError('lagging', 'it does not report its replay position')
    if (this.#lag.ms > this.#lagMsMax)
      throw new ReplicaError('lagging', `it is ${Math.round(this.#lag.ms)} ms behind`)
    return rows
  }

  /** Throws ReplicaError `foreign` if the connection leads to another system. Each connection is checked once. */
  async #identify(client: pg.PoolClient): Promise<void> {
    if (this.#known.has(client)) return
    const [ours, its] = await Promise.all([readSystem(this.#primary), readSystem(client)])
    if (ours !== its)
      throw new ReplicaError('foreign', `the server belongs to the database system ${its}, not to ${ours}`)
    this.#known.add(client)
  }

  #set(refusal: ReplicaRefusal | null, error?: Error): void {
    const before = this.#refusal
    this.#refusal = refusal
    if (refusal !== null && refusal !== 'lagging') this.#lag = null
    if (before === refusal) return
    if (refusal === null) this.#log.info({ before }, 'reads go to the replica')
    else if (before === null || before === 'unknown')
      this.#log.warn({ refusal, detail: error?.message }, 'reads go to the primary instead of the replica')
  }
}

/** Returns the identifier that initdb made and that all servers of one cluster share. */
async function readSystem(db: Db): Promise<string> {
  const { rows } = await queryWithin<{ system: string }>(db, REPLICA_CHECK_MS_MAX, {
    text: 'select system_identifier::text as system from pg_control_system()',
  })
  return rows[0]!.system
}

/**
 * Runs a query that fails after `msMax`, even if the connection's own timeout is longer. `query_timeout` is missing
 * in pg's types, but pg accepts it.
 */
function queryWithin<T extends pg.QueryResultRow>(
  db: Db,
  msMax: number,
  config: pg.QueryConfig,
): Promise<pg.QueryResult<T>> {
  const within = { ...config, query_timeout: msMax }
  return db.query<T>(within)
}

/**
 * Returns the refusal that an error means. Returns null if the error does not show that the server is unusable. For
 * example, a standby may cancel a read with serialization_failure or query_canceled while it replays the log.
 */
function refusalOf(error: Error): ReplicaRefusal | null {
  if (error instanceof ReplicaError) return error.refusal
  return isMoved(error) || error instanceof ConnectError ? 'away' : null
}
