import pg from 'pg'
import {
  APPEND_STATEMENT_TIMEOUT_MS,
  JOB_CONNECTIONS_MAX,
  PEER_CONNECTIONS_MAX,
  POOLS_RENEWED_EVERY_MS,
  READ_CONNECTIONS_MAX,
  READ_STATEMENT_TIMEOUT_MS,
  REPLICA_CHECK_MS_MAX,
  SEARCH_CONNECTIONS_MAX,
  SEARCH_STATEMENT_TIMEOUT_MS,
  STATEMENT_END_MS_MAX,
  WEBHOOK_CONNECTIONS_MAX,
  WRITE_CONNECTIONS_MAX,
} from '../limits.ts'
import type { ArchiveContent } from './archive.ts'
import { Database, DatabaseClient, type DatabaseClientConfig, type DatabaseOrUrl } from './connection.ts'
import { isMoved, isUnexpected } from './failures.ts'

type ConnectCallback = Parameters<pg.Pool['connect']>[0]

/**
 * A pool that counts failed connections and can replace its open connections. pg-pool reports a failed connection only
 * to the caller that requested it.
 */
export class DatabasePool extends pg.Pool {
  /**
   * Number of failures by kind:
   *
   * - `connect`: a connection could not be made.
   * - `wait`: no connection became free in time.
   * - `idle`: an unused connection broke.
   */
  readonly failures = { connect: 0, wait: 0, idle: 0 }
  /** Number of Postgres errors that neither data nor a temporary state explains. */
  unexpected = 0
  readonly archive: ArchiveContent | null
  readonly #database: Database | null
  #renewedAtMs = Number.NEGATIVE_INFINITY

  constructor(config: pg.PoolConfig, database: Database | null = null) {
    super(config)
    this.#database = database
    this.archive = (config as Partial<DatabaseClientConfig>).archive ?? null
    database?.register(this)
    this.on('release', (error: unknown) => {
      if (!(error instanceof Error)) return
      if (isUnexpected(error)) this.unexpected++
      if (isMoved(error)) this.#database?.renew()
    })
  }

  override connect(): Promise<pg.PoolClient>
  override connect(callback: ConnectCallback): void
  override connect(callback?: ConnectCallback): Promise<pg.PoolClient> | void {
    if (callback) return this.#tryConnect(callback)
    return new Promise((resolve, reject) => {
      this.#tryConnect((error, client) => (error ? reject(error) : resolve(client!)))
    })
  }

  #tryConnect(callback: ConnectCallback, isLast = false): void {
    super.connect((error, client, release) => {
      if (!error && client && this.#database?.isReplaced(client as unknown as DatabaseClient)) {
        release(true)
        return this.#tryConnect(callback, isLast)
      }
      if (!error) return callback(undefined, client, release)
      // The password may have been rotated just before, so the connection is tried once more.
      if (!isLast && this.#database?.isWorthAnother(error)) return this.#tryConnect(callback, true)
      this.#count(error)
      callback(this.#explain(error), client, release)
    })
  }

  /**
   * Closes all present connections as soon as they are free. pg-pool itself can close connections only by their age.
   */
  renew(): void {
    if (performance.now() - this.#renewedAtMs < POOLS_RENEWED_EVERY_MS) return
    this.#renewedAtMs = performance.now()
    const inner = this as unknown as PoolInside
    for (const client of this.clients) inner._expired.add(client)
    for (const { client } of [...inner._idle]) inner._remove(client)
  }

  get clients(): readonly pg.PoolClient[] {
    return (this as unknown as PoolInside)._clients
  }

  #count({ message }: Error): void {
    if (message === 'timeout exceeded when trying to connect') this.failures.wait++
    else if (!this.ending) this.failures.connect++
  }

  /**
   * Explains a timeout of the pool. pg-pool times out at the same moment as the connection, and its own message is
   * less useful.
   */
  #explain(error: Error): Error {
    const { explain } = this.options as Partial<DatabaseClientConfig>
    return explain && error.message.startsWith(POOL_GAVE_UP) ? explain(error) : error
  }
}

const POOL_GAVE_UP = 'Connection terminated due to connection timeout'

type PoolInside = {
  readonly _clients: readonly pg.PoolClient[]
  readonly _idle: readonly { readonly client: pg.PoolClient }[]
  readonly _expired: WeakSet<pg.PoolClient>
  _remove(client: pg.PoolClient): void
}

type PoolLog = { warn(details: object, message: string): void }

/**
 * Opens the pool for appends. It has one connection for each sender of the appender, and one for writes that are not
 * queued.
 */
export function openWritePool(database: DatabaseOrUrl, log: PoolLog): DatabasePool {
  return openPool(database, log, {
    max: WRITE_CONNECTIONS_MAX,
    application_name: 'tallystick write',
    statementMs: APPEND_STATEMENT_TIMEOUT_MS,
  })
}

/**
 * Opens the pool for look-ups of keys, records and entries.
 *
 * Each statement has one plan for all values. Otherwise Postgres would plan each look-up of a few ids again, because it
 * assumes ten elements for an array of unknown length. A look-up of one record takes 163 µs with one plan, and 445 µs
 * without.
 */
export function openReadPool(database: DatabaseOrUrl, log: PoolLog): DatabasePool {
  return openPool(database, log, {
    max: READ_CONNECTIONS_MAX,
    application_name: 'tallystick read',
    statementMs: READ_STATEMENT_TIMEOUT_MS,
    settings: READ_SETTINGS,
  })
}

/**
 * Opens the pool for searches. It is separate, so that look-ups of keys and records never wait for searches.
 *
 * The settings make the planner read indexes in order, because its statistics may be outdated. The cost of such a read
 * does not depend on the planner's estimates.
 */
export function openSearchPool(database: DatabaseOrUrl, log: PoolLog): DatabasePool {
  return openPool(database, log, {
    max: SEARCH_CONNECTIONS_MAX,
    application_name: 'tallystick search',
    statementMs: SEARCH_STATEMENT_TIMEOUT_MS,
    settings: SEARCH_SETTINGS,
  })
}

/**
 * Opens a pool with a single connection, which probes a standby. Reads use other pools, so they cannot block the probe.
 */
export function openProbePool(database: DatabaseOrUrl, log: PoolLog): DatabasePool {
  return openPool(database, log, {
    max: 1,
    application_name: 'tallystick probe',
    statementMs: REPLICA_CHECK_MS_MAX,
  })
}

const READ_SETTINGS = {
  // Off, because a prepared plan stays in use. A table that is small when a statement is prepared may grow later.
  enable_seqscan: 'off',
  enable_memoize: 'off',
  jit: 'off',
  plan_cache_mode: 'force_generic_plan',
}

const SEARCH_SETTINGS = {
  enable_seqscan: 'off',
  enable_bitmapscan: 'off',
  enable_sort: 'off',
  enable_hashjoin: 'off',
  enable_mergejoin: 'off',
  max_parallel_workers_per_gather: 0,
  // Off, because a cache of rows by key is useless if the keys differ each time.
  enable_memoize: 'off',
  jit: 'off',
  plan_cache_mode: 'force_generic_plan',
}

/** Opens the pool of pg-boss. It is separate, so that followers and the polling of queues never wait for each other. */
export function openJobPool(database: DatabaseOrUrl, log: PoolLog): DatabasePool {
  return openPool(database, log, {
    max: JOB_CONNECTIONS_MAX,
    application_name: 'tallystick jobs',
    statementMs: READ_STATEMENT_TIMEOUT_MS,
  })
}

/**
 * Opens the pool for deliveries to endpoints. It is separate, because tenants decide how many deliveries there are.
 *
 * Its plans never scan whole tables, because a table that is small when a statement is prepared may grow later.
 */
export function openWebhookPool(database: DatabaseOrUrl, log: PoolLog): DatabasePool {
  return openPool(database, log, {
    max: WEBHOOK_CONNECTIONS_MAX,
    application_name: 'tallystick webhooks',
    statementMs: READ_STATEMENT_TIMEOUT_MS,
    settings: { enable_seqscan: 'off' },
  })
}

/** Opens the pool for sending to peers. It is separate, because tenants decide how much is sent to peers. */
export function openPeerPool(database: DatabaseOrUrl, log: PoolLog): DatabasePool {
  return openPool(database, log, {
    max: PEER_CONNECTIONS_MAX,
    application_name: 'tallystick peers',
    statementMs: READ_STATEMENT_TIMEOUT_MS,
    settings: { enable_seqscan: 'off' },
  })
}

type PoolOptions = Required<Pick<pg.PoolConfig, 'max' | 'application_name'>> &
  Pick<DatabaseClientConfig, 'settings'> & {
    /**
     * Time in ms after which Postgres ends a statement. If Postgres does not report the end soon after that time, the
     * connection is closed.
     */
    readonly statementMs: number
  }

function openPool(
  database: DatabaseOrUrl,
  log: PoolLog,
  { statementMs, settings, ...options }: PoolOptions,
): DatabasePool {
  const opened = Database.of(database)
  // Makes pg-pool use DatabaseClient. pg-pool passes its own configuration to each client that it makes.
  const Client = DatabaseClient as unknown as NonNullable<pg.PoolConfig['Client']>
  const config = {
    ...opened.clientConfig(),
    ...options,
    Client,
    query_timeout: statementMs + STATEMENT_END_MS_MAX,
    settings: { statement_timeout: statementMs, ...settings },
  }
  const pool = new DatabasePool(config, opened)
  // An idle connection that breaks is replaced at its next use. Without this listener, the error would end the process.
  pool.on('error', (error: Error & { readonly code?: string }) => {
    pool.failures.idle++
    if (!isIdleEnd(error))
      log.warn({ reason: error.message, code: error.code }, 'an idle database connection broke')
    if (isMoved(error)) opened.renew()
  })
  return pool
}

/**
 * Returns whether an idle connection was ended because it was idle: by idle_session_timeout, a firewall or a pooler.
 * Such ends are counted but not logged.
 */
function isIdleEnd({ code, message }: Error & { readonly code?: string }): boolean {
  return code === '57P05' || code === 'ECONNRESET' || message.startsWith('Connection terminated unexpectedly')
}
