import pg from 'pg'
import {
  APPEND_STATEMENT_TIMEOUT_MS,
  JOB_CONNECTIONS_MAX,
  PEER_CONNECTIONS_MAX,
  POOLS_RENEWED_EVERY_MS,
  READ_CONNECTIONS_MAX,
  READ_STATEMENT_TIMEOUT_MS,
  REPLICA_LOOK_MS_MAX,
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
 * Counts the connections that it did not get, because of these pg-pool tells nobody but who asked, and lets go of those that lead
 * to where the database was.
 */
export class DatabasePool extends pg.Pool {
  /** `wait`: none became free in time; `idle`: one broke while nobody used it. */
  readonly failures = { connect: 0, wait: 0, idle: 0 }
  /** Errors of Postgres that are nobody's data and no passing state. */
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
      // The password may have been changed just before.
      if (!isLast && this.#database?.isWorthAnother(error)) return this.#tryConnect(callback, true)
      this.#count(error)
      callback(this.#explain(error), client, release)
    })
  }

  /** Closes the connections that are open now as soon as they are free. (pg-pool has no call for it except a maximum age.) */
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

  /** pg-pool gives up at the same time as the connection, and says less. */
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

/** Connections that append: one for each lane of the appender, and one for what is not queued. */
export function openWritePool(database: DatabaseOrUrl, log: PoolLog): DatabasePool {
  return openPool(database, log, {
    max: WRITE_CONNECTIONS_MAX,
    application_name: 'tallystick write',
    statementMs: APPEND_STATEMENT_TIMEOUT_MS,
  })
}

/**
 * Connections that look up keys, records and entries.
 *
 * One plan a statement, whatever the values are. Otherwise Postgres plans a look-up of few ids anew each time, because it takes an
 * array whose length it doesn't know for one of ten: 163 us of a look-up of one record with this, 445 without.
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
 * Connections for searches, apart from those that look up keys and single records: however many search, these wait for none.
 *
 * All plans but walks along indexes are priced out, because what the planner believes of a value may have been true
 * once: a walk costs the same whatever the tables are thought to hold.
 */
export function openSearchPool(database: DatabaseOrUrl, log: PoolLog): DatabasePool {
  return openPool(database, log, {
    max: SEARCH_CONNECTIONS_MAX,
    application_name: 'tallystick search',
    statementMs: SEARCH_STATEMENT_TIMEOUT_MS,
    settings: SEARCH_SETTINGS,
  })
}

/** The one connection of a standby's probe: reads, however many there are, keep none from it. */
export function openProbePool(database: DatabaseOrUrl, log: PoolLog): DatabasePool {
  return openPool(database, log, {
    max: 1,
    application_name: 'tallystick probe',
    statementMs: REPLICA_LOOK_MS_MAX,
  })
}

const READ_SETTINGS = {
  // A table that is small when a statement is prepared may have grown.
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
  // Keys differ each time.
  enable_memoize: 'off',
  jit: 'off',
  // There is one plan, whatever the values are.
  plan_cache_mode: 'force_generic_plan',
}

/** Pool of pg-boss. Apart, so that no round of a follower waits for the polling of a queue, or the reverse. */
export function openJobPool(database: DatabaseOrUrl, log: PoolLog): DatabasePool {
  return openPool(database, log, {
    max: JOB_CONNECTIONS_MAX,
    application_name: 'tallystick jobs',
    statementMs: READ_STATEMENT_TIMEOUT_MS,
  })
}

/**
 * Pool of deliveries to endpoints. Apart, because tenants decide how many there are.
 *
 * Plans never read whole tables: those that are small when a statement is prepared may have grown.
 */
export function openWebhookPool(database: DatabaseOrUrl, log: PoolLog): DatabasePool {
  return openPool(database, log, {
    max: WEBHOOK_CONNECTIONS_MAX,
    application_name: 'tallystick webhooks',
    statementMs: READ_STATEMENT_TIMEOUT_MS,
    settings: { enable_seqscan: 'off' },
  })
}

/** Pool of draining to peers. Apart, as for endpoints. */
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
    /** After this Postgres ends a statement; where nothing is heard of that either, the connection is given up. */
    readonly statementMs: number
  }

function openPool(
  database: DatabaseOrUrl,
  log: PoolLog,
  { statementMs, settings, ...options }: PoolOptions,
): DatabasePool {
  const opened = Database.of(database)
  // A pool hands its configuration to each client that it makes.
  const Client = DatabaseClient as unknown as NonNullable<pg.PoolConfig['Client']>
  const config = {
    ...opened.clientConfig(),
    ...options,
    Client,
    query_timeout: statementMs + STATEMENT_END_MS_MAX,
    settings: { statement_timeout: statementMs, ...settings },
  }
  const pool = new DatabasePool(config, opened)
  // An idle connection that breaks is replaced at the next use; without a listener it would end the process.
  pool.on('error', (error: Error & { readonly code?: string }) => {
    pool.failures.idle++
    if (!isIdleEnd(error))
      log.warn({ reason: error.message, code: error.code }, 'an idle database connection broke')
    if (isMoved(error)) opened.renew()
  })
  return pool
}

/** Ended because nobody used it (idle_session_timeout), or cut by a firewall or pooler, which does that to idle ones: counted, and not logged. */
function isIdleEnd({ code, message }: Error & { readonly code?: string }): boolean {
  return code === '57P05' || code === 'ECONNRESET' || message.startsWith('Connection terminated unexpectedly')
}
