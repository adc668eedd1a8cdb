import pg from 'pg'
import { ConnectError } from './connect-error.ts'

/**
 * What a failed call means for its transaction.
 *
 * - `data`: Postgres refused these rows and rolled back. Other rows may pass.
 * - `deadlock`: rolled back. The same call may pass.
 * - `unavailable`: rolled back or never begun. The database cannot take the call in its present state.
 * - `unknown`: no answer came, or the server went away. The transaction may have committed.
 */
export type Failure = {
  readonly kind: 'data' | 'deadlock' | 'unavailable' | 'unknown'
  readonly error: Error
}

/** Thrown if a parameter cannot be encoded, before anything is sent. Other rows may pass. */
export class ValueError extends Error {}

/**
 * Whether `error` is caused by the database's state and not by the query's values.
 *
 * True for lost connections and for all Postgres errors that are not about data. Use it for reads only, because a
 * write that failed in this way has an unknown outcome.
 */
export function isUnavailable(error: Error): boolean {
  if (error instanceof ConnectError) return true
  if (error instanceof pg.DatabaseError) return !isAboutData(error)
  const { code } = error as { code?: unknown }
  if (typeof code === 'string') return SOCKET_CODES.has(code)
  return PG_MESSAGES.test(error.message)
}

/**
 * Whether the error says that a text contains a character that the database cannot store: U+0000, or one that its
 * encoding lacks.
 */
export function isUnstorable(error: Error): boolean {
  return error instanceof pg.DatabaseError && UNSTORABLE.has(error.code ?? '')
}

// character_not_in_repertoire, untranslatable_character
const UNSTORABLE = new Set(['22021', '22P05'])

/**
 * Whether neither data, load, a failover nor an operator explains a Postgres error.
 *
 * Then our code has a bug, or somebody has changed the schema. Clients are told to retry, so an alert must count
 * these errors.
 */
export function isUnexpected(error: Error): boolean {
  if (!(error instanceof pg.DatabaseError) || error.code === undefined || isAboutData(error)) return false
  return !PASSING.has(error.code) && !PASSING_CLASSES.includes(error.code.slice(0, 2))
}

/**
 * Whether `error` says that the connection no longer leads to a primary: a failover, a restart, or an answer that
 * never came.
 *
 * All other open connections then lead to the same old server. Only a new connection resolves the host name again.
 */
export function isMoved(error: Error): boolean {
  const { code } = error as { code?: unknown }
  if (typeof code === 'string') return MOVED.has(code) || SOCKET_CODES.has(code)
  return isUnanswered(error) || error.message.startsWith('Connection terminated unexpectedly')
}

/** Whether the query timed out. The connection will deliver nothing more. */
export function isUnanswered(error: Error): boolean {
  return error.message === 'Query read timeout'
}

// SQLSTATEs: read_only_sql_transaction, admin_shutdown, crash_shutdown, cannot_connect_now, connection_failure,
// invalid_authorization_specification. The last one means that the master key was replaced after the session had
// proved it.
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

// Messages of errors of `pg` and `pg-pool` that have no code.
const PG_MESSAGES =
  /^(Connection terminated|timeout exceeded when trying to connect|Query read timeout|Client has encountered a connection error|Cannot use a pool after calling end)/

const DEADLOCK = new Set(['40001', '40P01'])

/** Data exceptions, integrity constraint violations. */
const DATA_CLASSES = ['22', '23']
/** raise_exception, no_data_found: an SQL function refused its arguments. */
const RAISED = new Set(['P0001', 'P0002'])

/**
 * Whether the error is about data. In other classes Postgres itself names no constraint. Our functions name one in
 * class 55, and in class 28 for errors about the caller.
 */
function isAboutData(error: pg.DatabaseError): boolean {
  if (error.code === undefined || isFatal(error)) return false
  const sqlClass = error.code.slice(0, 2)
  if (DATA_CLASSES.includes(sqlClass) || RAISED.has(error.code)) return true
  return error.constraint !== undefined && sqlClass === '55'
}

/** Whether the error ended the session. */
function isFatal({ severity }: pg.DatabaseError): boolean {
  return severity === 'FATAL' || severity === 'PANIC'
}

/**
 * Whether other rows may pass although the error is not marked as an error of data. One row may be too large, or may
 * trigger a bug.
 */
export function mayBeOfRows({ kind, error }: Failure): boolean {
  return (
    kind === 'unavailable' && (isUnexpected(error) || (error as pg.DatabaseError).code === LIMIT_EXCEEDED)
  )
}

// query_canceled (statement_timeout) and cannot_connect_now. Both are answered before anything is committed.
const NOT_COMMITTED = new Set(['57014', '57P03'])

// Classes of connection exceptions, and of a server that went away (57P01, 57P02). The outcome is unknown, because
// Postgres may end a session whose committed transaction still waits for a synchronous standby.
const UNKNOWN_CLASSES = ['08', '57', '58', 'XX']
// statement_completion_unknown
const UNKNOWN = new Set(['40003'])
// Classes of invalid authorization and insufficient resources. A FATAL error of these classes ends a session before
// it begins.
const BEFORE_SESSION_CLASSES = ['28', '53']

// program_limit_exceeded: a row is too large. Postgres also uses it when it stops before transaction numbers wrap
// around.
const LIMIT_EXCEEDED = '54000'

// Classes and codes of passing states: connections, authorization, rollbacks, resources, locks, operators, the
// system.
//
// The single codes are read_only_sql_transaction, timeouts of a transaction, insufficient_privilege, and errors of a
// session whose plans or statements a migration or a pooler has removed.
const PASSING_CLASSES = ['08', '28', '40', '53', '55', '57', '58']
const PASSING = new Set(['25006', '25P03', '25P04', '42501', LIMIT_EXCEEDED, '0A000', '26000'])

/**
 * Returns the kind of a failed call. The default is `unavailable`: nothing was committed, and the same call may pass
 * later.
 */
export function classifyFailure(error: Error): Failure {
  if (error instanceof ValueError) return { kind: 'data', error }
  // Only an error that Postgres itself sent has a SQLSTATE. Socket errors have codes too, and EPIPE even has the form
  // of a SQLSTATE.
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
