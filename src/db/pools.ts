import pg from 'pg'
import {
  APPEND_ANSWER_TIMEOUT_MS,
  APPEND_STATEMENT_TIMEOUT_MS,
  CONNECT_TIMEOUT_MS,
  JOB_CONNECTIONS_MAX,
  READ_CONNECTIONS_MAX,
  READ_STATEMENT_TIMEOUT_MS,
  SEARCH_CONNECTIONS_MAX,
  SEARCH_STATEMENT_TIMEOUT_MS,
  WEBHOOK_CONNECTIONS_MAX,
  WRITE_CONNECTIONS_MAX,
} from '../limits.ts'

type ConnectCallback = Parameters<pg.Pool['connect']>[0]

/** Counts the connections that it did not get: of these pg-pool tells nobody but who asked. */
export class DatabasePool extends pg.Pool {
  /** `wait`: none became free in time; `idle`: one broke while nobody used it. */
  readonly failures = { connect: 0, wait: 0, idle: 0 }

  override connect(): Promise<pg.PoolClient>
  override connect(callback: ConnectCallback): void
  override connect(callback?: ConnectCallback): Promise<pg.PoolClient> | void {
    if (!callback) {
      const connecting = super.connect()
      connecting.catch((error: Error) => this.#count(error))
      return connecting
    }
    super.connect((error, client, release) => {
      if (error) this.#count(error)
      callback(error, client, release)
    })
  }

  #count({ message }: Error): void {
    if (message === 'timeout exceeded when trying to connect') this.failures.wait++
    else if (!this.ending) this.failures.connect++
  }
}

type PoolLog = { warn(details: object, message: string): void }

/** Connections that append: one for each lane of the appender, and one for what is not queued. */
export function openWritePool(url: string, log: PoolLog): DatabasePool {
  return openPool(log, {
    connectionString: url,
    max: WRITE_CONNECTIONS_MAX,
    application_name: 'tallystick write',
    statement_timeout: APPEND_STATEMENT_TIMEOUT_MS,
    query_timeout: APPEND_ANSWER_TIMEOUT_MS,
  })
}

export function openReadPool(url: string, log: PoolLog): DatabasePool {
  return openPool(log, {
    connectionString: url,
    max: READ_CONNECTIONS_MAX,
    application_name: 'tallystick read',
    statement_timeout: READ_STATEMENT_TIMEOUT_MS,
    query_timeout: READ_STATEMENT_TIMEOUT_MS,
  })
}

/**
 * Connections for searches, apart from those that look up keys and single records: however many search, these wait for none.
 *
 * All plans but walks along indexes are priced out, because what the planner believes of a value may have been true
 * once: a walk costs the same whatever the tables are thought to hold.
 */
export function openSearchPool(url: string, log: PoolLog): DatabasePool {
  return openPool(log, {
    connectionString: url,
    max: SEARCH_CONNECTIONS_MAX,
    application_name: 'tallystick search',
    statement_timeout: SEARCH_STATEMENT_TIMEOUT_MS,
    query_timeout: SEARCH_STATEMENT_TIMEOUT_MS,
    options: SEARCH_SETTINGS.map((setting) => `-c ${setting}`).join(' '),
  })
}

const SEARCH_SETTINGS = [
  'enable_seqscan=off',
  'enable_bitmapscan=off',
  'enable_sort=off',
  'enable_hashjoin=off',
  'enable_mergejoin=off',
  'max_parallel_workers_per_gather=0',
  'jit=off',
]

/** Of pg-boss: apart, so that no round of a follower waits for the polling of a queue, or the other way round. */
export function openJobPool(url: string, log: PoolLog): DatabasePool {
  return openPool(log, {
    connectionString: url,
    max: JOB_CONNECTIONS_MAX,
    application_name: 'tallystick jobs',
    statement_timeout: READ_STATEMENT_TIMEOUT_MS,
    query_timeout: READ_STATEMENT_TIMEOUT_MS,
  })
}

/**
 * Of deliveries to endpoints: apart, because their number is their tenants' choice.
 *
 * Tables that are small when a statement is prepared may have grown: no plan of theirs reads them whole.
 */
export function openWebhookPool(url: string, log: PoolLog): DatabasePool {
  return openPool(log, {
    connectionString: url,
    max: WEBHOOK_CONNECTIONS_MAX,
    application_name: 'tallystick webhooks',
    statement_timeout: READ_STATEMENT_TIMEOUT_MS,
    query_timeout: READ_STATEMENT_TIMEOUT_MS,
    options: '-c enable_seqscan=off',
  })
}

function openPool(log: PoolLog, config: pg.PoolConfig): DatabasePool {
  const pool = new DatabasePool({ connectionTimeoutMillis: CONNECT_TIMEOUT_MS, keepAlive: true, ...config })
  // An idle connection that breaks is replaced at the next use; without a listener it would end the process.
  pool.on('error', (error) => {
    pool.failures.idle++
    log.warn({ err: error }, 'an idle database connection broke')
  })
  // One that breaks while it is in use emits the error too, besides failing its query, and the pool has no
  // listener on it then.
  pool.on('connect', (client) => client.on('error', () => {}))
  return pool
}
