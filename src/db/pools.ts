import pg from 'pg'
import {
  APPEND_ANSWER_TIMEOUT_MS,
  APPEND_STATEMENT_TIMEOUT_MS,
  CONNECT_TIMEOUT_MS,
  READ_CONNECTIONS_MAX,
  READ_STATEMENT_TIMEOUT_MS,
  WRITE_CONNECTIONS_MAX,
} from '../limits.ts'

type PoolLog = { warn(details: object, message: string): void }

/** Connections that append: one for each lane of the appender, and one for what is not queued. */
export function openWritePool(url: string, log: PoolLog): pg.Pool {
  return openPool(log, {
    connectionString: url,
    max: WRITE_CONNECTIONS_MAX,
    application_name: 'tallystick write',
    statement_timeout: APPEND_STATEMENT_TIMEOUT_MS,
    query_timeout: APPEND_ANSWER_TIMEOUT_MS,
  })
}

export function openReadPool(url: string, log: PoolLog): pg.Pool {
  return openPool(log, {
    connectionString: url,
    max: READ_CONNECTIONS_MAX,
    application_name: 'tallystick read',
    statement_timeout: READ_STATEMENT_TIMEOUT_MS,
    query_timeout: READ_STATEMENT_TIMEOUT_MS,
  })
}

function openPool(log: PoolLog, config: pg.PoolConfig): pg.Pool {
  const pool = new pg.Pool({ connectionTimeoutMillis: CONNECT_TIMEOUT_MS, keepAlive: true, ...config })
  // An idle connection that breaks is replaced at the next use; without a listener it would end the process.
  pool.on('error', (error) => log.warn({ err: error }, 'an idle database connection broke'))
  // One that breaks while it is in use emits the error too, besides failing its query, and the pool has no
  // listener on it then.
  pool.on('connect', (client) => client.on('error', () => {}))
  return pool
}
