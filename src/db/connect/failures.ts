import pg from 'pg'
import { ConnectError } from './connect-error.ts'

/**
 * Meaning of a failed call for its transaction.
 *
 * - `data`: Postgres refused these rows and rolled back; other rows may pass. - `deadlock`: rolled back; the same call may
 * pass. - `unavailable`: rolled back or never begun; the database cannot take writes now. - `unknown`: no answer came, or the
 * server went away: it may have committed.
 */
export type Failure = {
  readonly kind: 'data' | 'deadlock' | 'unavailable' | 'unknown'
  readonly error: Error
}

/** A parameter that could not be encoded: nothing was sent, and the other rows may pass. */
export class ValueError extends Error {}

/**
 * Whether `error` says that the database is away, not that a query or its caller was wrong. For reads only: nobody
 * knows the outcome of a write that failed like this.
 */
export function isUnavailable(error: Error): boolean {
  if (error instanceof ConnectError) return true
  const { code } = error as { code?: unknown }
  if (typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code)) {
    return UNAVAILABLE.has(code) || [...UNAVAILABLE_CLASSES, ...UNKNOWN_CLASSES].includes(code.slice(0, 2))
  }
  if (typeof code === 'string') return SOCKET_CODES.has(code)
  return PG_MESSAGES.test(error.message)
}

/**
 * Whether `error` says that what this connection led to is not the database any more, or not the one that takes writes: a failover,
 * a restart, an answer that never came. Other connections lead to the same place, and a new one looks the name up anew.
 */
export function isMoved(error: Error): boolean {
  const { code } = error as { code?: unknown }
  if (typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code)) return MOVED.has(code)
  if (typeof code === 'string') return SOCKET_CODES.has(code)
  return isUnanswered(error) || error.message.startsWith('Connection terminated unexpectedly')
}

/** Nothing came within the time of the query: on this connection nothing else will. */
export function isUnanswered(error: Error): boolean {
  return error.message === 'Query read timeout'
}

// read_only_sql_transaction, admin_shutdown, crash_shutdown, cannot_connect_now, connection_failure; and
// invalid_authorization_specification, of a session whose master key was replaced since it proved that it holds it.
const MOVED = new Set(['25006', '57P01', '57P02', '57P03', '08006', '28000'])

const SOCKET_CODES = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
  'ENOENT',
])

// Errors of `pg` and `pg-pool` that have no code.
const PG_MESSAGES =
  /^(Connection terminated|timeout exceeded when trying to connect|Query read timeout|Client has encountered a connection error|Cannot use a pool after calling end)/

const DEADLOCK = new Set(['40001', '40P01'])

// read_only_sql_transaction (a failover), lock_not_available, query_canceled (statement_timeout),
// cannot_connect_now, insufficient_privilege.
const UNAVAILABLE = new Set(['25006', '55P03', '57014', '57P03', '42501'])
const UNAVAILABLE_CLASSES = ['53', '28'] // insufficient resources, invalid authorization

// connection exceptions, and a server that went away (57P01, 57P02): while it waits for a synchronous standby
// Postgres may end a session whose transaction has committed.
const UNKNOWN_CLASSES = ['08', '57', '58', 'XX']

export function classifyFailure(error: Error): Failure {
  if (error instanceof ValueError) return { kind: 'data', error }
  // Only what Postgres said has an SQLSTATE. Sockets have codes too, and EPIPE even looks like one.
  const code = error instanceof pg.DatabaseError ? error.code : undefined
  if (code === undefined) return { kind: 'unknown', error }
  if (DEADLOCK.has(code)) return { kind: 'deadlock', error }
  const sqlClass = code.slice(0, 2)
  if (UNAVAILABLE.has(code) || UNAVAILABLE_CLASSES.includes(sqlClass)) return { kind: 'unavailable', error }
  if (UNKNOWN_CLASSES.includes(sqlClass)) return { kind: 'unknown', error }
  return { kind: 'data', error }
}
