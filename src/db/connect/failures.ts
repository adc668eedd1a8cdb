import pg from 'pg'
import { ConnectError } from './connect-error.ts'

/**
 * Meaning of a failed call for its transaction.
 *
 * - `data`: Postgres refused these rows and rolled back; other rows may pass. - `deadlock`: rolled back; the same call may
 * pass. - `unavailable`: rolled back or never begun; the database is in a state in which it cannot take the call. - `unknown`: no
 * answer came, or the server went away: it may have committed.
 */
export type Failure = {
  readonly kind: 'data' | 'deadlock' | 'unavailable' | 'unknown'
  readonly error: Error
}

/** A parameter that could not be encoded: nothing was sent, and the other rows may pass. */
export class ValueError extends Error {}

/**
 * Whether `error` is the database's state, not the fault of the values that a query was given: all that Postgres says but errors about
 * data, and a connection that is lost. For reads only: nobody knows the outcome of a write that failed like this.
 */
export function isUnavailable(error: Error): boolean {
  if (error instanceof ConnectError) return true
  if (error instanceof pg.DatabaseError) return !isAboutData(error)
  const { code } = error as { code?: unknown }
  if (typeof code === 'string') return SOCKET_CODES.has(code)
  return PG_MESSAGES.test(error.message)
}

/** Whether a text has a character that the database has none for: U+0000, or one that an encoding other than UTF-8 lacks. */
export function isUnstorable(error: Error): boolean {
  return error instanceof pg.DatabaseError && UNSTORABLE.has(error.code ?? '')
}

// character_not_in_repertoire, untranslatable_character
const UNSTORABLE = new Set(['22021', '22P05'])

/**
 * Whether Postgres says what it says neither about data nor because of its load, a failover or an operator: a bug of ours, or a schema
 * that somebody has changed. Clients are told to come again, so this is what an alert has to count.
 */
export function isUnexpected(error: Error): boolean {
  if (!(error instanceof pg.DatabaseError) || error.code === undefined || isAboutData(error)) return false
  return !PASSING.has(error.code) && !PASSING_CLASSES.includes(error.code.slice(0, 2))
}

/**
 * Whether `error` says that what this connection led to is not the database any more, or not the one that takes writes: a failover,
 * a restart, an answer that never came. Other connections lead to the same place, and a new one looks the name up anew.
 */
export function isMoved(error: Error): boolean {
  const { code } = error as { code?: unknown }
  if (typeof code === 'string') return MOVED.has(code) || SOCKET_CODES.has(code)
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

/** Data exceptions, integrity constraint violations. */
const DATA_CLASSES = ['22', '23']
/** raise_exception, no_data_found: so a function refuses what it is given. */
const RAISED = new Set(['P0001', 'P0002'])

/** Postgres names no constraint in errors of other classes. A function of ours does, but for who calls it (28). */
function isAboutData(error: pg.DatabaseError): boolean {
  if (error.code === undefined || isFatal(error)) return false
  const sqlClass = error.code.slice(0, 2)
  if (DATA_CLASSES.includes(sqlClass) || RAISED.has(error.code)) return true
  return error.constraint !== undefined && sqlClass === '55'
}

/** The session has ended. */
function isFatal({ severity }: pg.DatabaseError): boolean {
  return severity === 'FATAL' || severity === 'PANIC'
}

/** Whether other rows may pass, though the error does not say that it is about data: a row is too large, or meets a bug. */
export function mayBeOfRows({ kind, error }: Failure): boolean {
  return (
    kind === 'unavailable' && (isUnexpected(error) || (error as pg.DatabaseError).code === LIMIT_EXCEEDED)
  )
}

// query_canceled (statement_timeout) and cannot_connect_now, which are answered before anything is committed.
const NOT_COMMITTED = new Set(['57014', '57P03'])

// Connection exceptions, and a server that went away (57P01, 57P02): while it waits for a synchronous standby
// Postgres may end a session whose transaction has committed.
const UNKNOWN_CLASSES = ['08', '57', '58', 'XX']
// statement_completion_unknown
const UNKNOWN = new Set(['40003'])
// Invalid authorization, insufficient resources: as FATAL they end a session that has not begun.
const BEFORE_SESSION_CLASSES = ['28', '53']

// program_limit_exceeded: a row that is too large; and so Postgres stops before its transaction numbers wrap around.
const LIMIT_EXCEEDED = '54000'

// Connections, authorization, rollbacks, resources, locks, operators, the system; read_only_sql_transaction, timeouts of a transaction,
// insufficient_privilege, and what a session says whose plans or statements a migration or a pooler has taken away.
const PASSING_CLASSES = ['08', '28', '40', '53', '55', '57', '58']
const PASSING = new Set(['25006', '25P03', '25P04', '42501', LIMIT_EXCEEDED, '0A000', '26000'])

/** The default is the database's state: nothing was committed, and the same call may pass later. */
export function classifyFailure(error: Error): Failure {
  if (error instanceof ValueError) return { kind: 'data', error }
  // Only what Postgres said has an SQLSTATE. Sockets have codes too, and EPIPE even looks like one.
  if (!(error instanceof pg.DatabaseError) || error.code === undefined) return { kind: 'unknown', error }
  return { kind: kindOf(error, error.code), error }
}

function kindOf(error: pg.DatabaseError, code: string): Failure['kind'] {
  const sqlClass = code.slice(0, 2)
  if (NOT_COMMITTED.has(code)) return 'unavailable'
  if (UNKNOWN.has(code) || UNKNOWN_CLASSES.includes(sqlClass)) return 'unknown'
  if (isFatal(error)) return BEFORE_SESSION_CLASSES.includes(sqlClass) ? 'unavailable' : 'unknown'
  if (DEADLOCK.has(code)) return 'deadlock'
  return isAboutData(error) ? 'data' : 'unavailable'
}
