import type pg from 'pg'
import type { Uuid } from '../../proof/ids.ts'
import { REPLICA_LOOK_MS_MAX, REPLICA_PROBE_EVERY_MS, REPLICA_WAIT_MS_MAX } from '../limits.ts'
import { type Db, inTurn } from './client.ts'
import { ConnectError } from './connect-error.ts'
import type { Database } from './connection.ts'
import { isMoved } from './failures.ts'
import { type DatabasePool, openProbePool, openReadPool, openSearchPool } from './pools.ts'
import { PrimaryLog } from './primary-log.ts'

/**
 * Reasons for which a read goes to the primary.
 *
 * True for all reads until the next probe: `away`: no connection, or it broke; `promoted`: the server is no standby any more;
 * `foreign`: it is a standby of another system; `lagging`: it is further behind than it may be; `unknown`: it was not looked at yet.
 *
 * True for this read: `unknown`: the primary did not say how far it is; `busy`: no connection was free in time; `behind`: it lacks entries
 * that the read must show; `ahead`: it shows entries that the primary does not show; `diverged`: it shows another chain.
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

/** Those that say nothing of the next read. */
const OF_ONE_READ: readonly ReplicaRefusal[] = ['unknown', 'busy', 'behind', 'ahead', 'diverged']

export class ReplicaError extends Error {
  readonly refusal: ReplicaRefusal

  constructor(refusal: ReplicaRefusal, detail: string) {
    super(detail)
    this.refusal = refusal
  }
}

/** End of a ledger that a connection shows, and so whichever statements run on it: a standby never goes back. */
export type LedgerShown = {
  /** Number of entries; 0: it shows no such ledger. */
  readonly size: number
  /** Chain hash (32 bytes) at that size; null: there are none. */
  readonly chain: Buffer | null
}

export type HeldConnection = {
  readonly db: Db
  readonly ledgers: ReadonlyMap<Uuid, LedgerShown>
  /** `error`: the connection is closed. */
  release(error?: Error): void
}

type ReplicaLog = {
  warn(details: object, message: string): void
  info(details: object, message: string): void
}

/**
 * A physical standby (hot standby of Postgres) that reads may rest on.
 *
 * Each read looks, on the very connection that it uses, whether that leads to a standby, how far it is, and how many entries of the
 * ledger it has. So it does not matter whether the URL names one server or a balancer in front of several. A server that must not be
 * read is asked again once a second only, by `probe`.
 */
export class Replica {
  readonly readPool: DatabasePool
  readonly searchPool: DatabasePool
  readonly #probePool: DatabasePool
  /** The primary's log, as far as anybody has seen it: what lag is measured against. */
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

  /** null: reads may rest on it. */
  get refusal(): ReplicaRefusal | null {
    return this.#refusal
  }

  /** As the last look found it; null: it cannot be looked at. */
  get lag(): { readonly bytes: number; readonly ms: number } | null {
    return this.#lag
  }

  /** Begins to look at it once a second. Returns after the first look. */
  async open(): Promise<void> {
    this.#timer = setInterval(() => void this.probe(), REPLICA_PROBE_EVERY_MS)
    await this.probe()
  }

  /**
   * A connection of `pool`, and what it shows of the ledgers. Throws ReplicaError, and whatever the connection fails with; either way
   * reads go to the primary.
   */
  async hold(pool: DatabasePool, ledgerIds: readonly Uuid[]): Promise<HeldConnection> {
    if (this.#refusal !== null) throw new ReplicaError(this.#refusal, 'the last look refused it')
    const client = await this.#connectSoon(pool)
    try {
      const shown = await this.#look(client, ledgerIds)
      const ledgers = new Map(ledgerIds.map((ledgerId, i) => [ledgerId, shown[i]!]))
      return { db: inTurn(client), ledgers, release: (error) => client.release(error) }
    } catch (error) {
      // One that merely lags serves the next read.
      const isSound = error instanceof ReplicaError && error.refusal === 'lagging'
      client.release(isSound ? undefined : (error as Error))
      this.failed(error as Error)
      const refusal = refusalOf(error as Error)
      throw refusal === null ? error : new ReplicaError(refusal, (error as Error).message)
    }
  }

  /** Hears of an error of a read. One that is true of the server keeps others from it until the next probe. */
  failed(error: Error): void {
    const refusal = refusalOf(error)
    if (refusal !== null && !OF_ONE_READ.includes(refusal)) this.#set(refusal, error)
  }

  /** Looks whether reads may rest on it. Never throws. */
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
      await this.#lookAtPrimary()
    } catch {
      // Reads wait for the primary anyway: nothing is known of the replica from this.
      return
    }
    try {
      const client = await this.#connect(this.#probePool)
      try {
        await this.#look(client, [null])
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

  /** A connection that is free at once or nearly so, or made: others may hold all of them for as long as their reads take. */
  async #connectSoon(pool: DatabasePool): Promise<pg.PoolClient> {
    const hasRoom = pool.idleCount > 0 || pool.totalCount < pool.options.max
    const msMax = hasRoom ? REPLICA_LOOK_MS_MAX : REPLICA_WAIT_MS_MAX
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

  async #lookAtPrimary(): Promise<void> {
    const atMs = this.#now()
    const { rows } = await this.#primary.query<{ walBytes: number }>(
      "select pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0') as wal_bytes",
    )
    this.primaryLog.note(rows[0]!.walBytes, atMs)
  }

  /** Ends of the ledgers that this connection shows, in their order; one at least is asked for. Throws ReplicaError. */
  async #look(client: pg.PoolClient, ledgerIds: readonly (Uuid | null)[]): Promise<LedgerShown[]> {
    await this.#identify(client)
    const { rows } = await queryWithin<LedgerShown & { isStandby: boolean; walBytes: number | null }>(
      client,
      REPLICA_LOOK_MS_MAX,
      {
        name: 'look_at_replica',
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
    if (!isStandby) throw new ReplicaError('promoted', 'the server is no standby: it takes writes of its own')
    this.#lag = walBytes === null ? null : this.primaryLog.behind(walBytes, this.#now())
    if (this.#lag === null) throw new ReplicaError('lagging', 'it does not say how far it has come')
    if (this.#lag.ms > this.#lagMsMax)
      throw new ReplicaError('lagging', `it is ${Math.round(this.#lag.ms)} ms behind`)
    return rows
  }

  /** Refuses a connection to a standby of another system. Once for each connection. */
  async #identify(client: pg.PoolClient): Promise<void> {
    if (this.#known.has(client)) return
    const [ours, its] = await Promise.all([readSystem(this.#primary), readSystem(client)])
    if (ours !== its) throw new ReplicaError('foreign', `the server is of the system ${its}, not of ${ours}`)
    this.#known.add(client)
  }

  #set(refusal: ReplicaRefusal | null, error?: Error): void {
    const before = this.#refusal
    this.#refusal = refusal
    if (refusal !== null && refusal !== 'lagging') this.#lag = null
    if (before === refusal) return
    if (refusal === null) this.#log.info({ before }, 'reads go to the replica')
    else if (before === null || before === 'unknown')
      this.#log.warn({ refusal, detail: error?.message }, 'reads go to the primary, not to the replica')
  }
}

/** Identifier that all servers of one cluster share, from initdb on. */
async function readSystem(db: Db): Promise<string> {
  const { rows } = await queryWithin<{ system: string }>(db, REPLICA_LOOK_MS_MAX, {
    text: 'select system_identifier::text as system from pg_control_system()',
  })
  return rows[0]!.system
}

/** Fails after `msMax`, whatever time the connection's own statements have. (pg takes `query_timeout`; its types do not know it.) */
function queryWithin<T extends pg.QueryResultRow>(
  db: Db,
  msMax: number,
  config: pg.QueryConfig,
): Promise<pg.QueryResult<T>> {
  const within = { ...config, query_timeout: msMax }
  return db.query<T>(within)
}

/** null: it says nothing of the server. Replay may take away what a statement reads: serialization_failure, or query_canceled. */
function refusalOf(error: Error): ReplicaRefusal | null {
  if (error instanceof ReplicaError) return error.refusal
  return isMoved(error) || error instanceof ConnectError ? 'away' : null
}
