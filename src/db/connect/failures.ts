import pg from 'pg'
import { ConnectError } from './connect-error.ts'

/**
 * Effect of a failed call on its transaction.
 *
 * - `data`: Postgres refused these rows and rolled back. A call with other rows may succeed.
 * - `deadlock`: Postgres rolled back. The same call may succeed later.
 * - `unavailable`: the transaction was rolled back or never begun. The database cannot do the call in its present
 *   state.
 * - `unknown`: no answer came, or the server ended. The transaction may have committed.
 */
export type Failure = {
  readonly kind: 'data' | 'deadlock' | 'unavailable' | 'unknown'
  readonly error: Error
}

/** Thrown if a parameter cannot be encoded, before anything is sent. A call with other rows may succeed. */
export class ValueError extends Error {}

/**
 * Returns whether the database's state caused the error, and not the query's values.
 *
 * Returns true for lost connections and for all Postgres errors that are not about data. Use it for reads only, because
 * a write that failed in this way has an unknown outcome.
 */
export function isUnavailable(error: Error): boolean {
  if (error instanceof ConnectError) return true
  if (error instanceof pg.DatabaseError) return !isAboutData(error)
  const { code } = error as { code?: unknown }
  if (typeof code === 'string') return SOCKET_CODES.has(code)
  return PG_MESSAGES.test(error.message)
}

/**
 * Returns whether the error means that a text contains a character that the database cannot store. This is U+0000, or a
 * character that the database's encoding lacks.
 */
export function isUnstorable(error: Error): boolean {
  return error instanceof pg.DatabaseError && UNSTORABLE.has(error.code ?? '')
}

// SQLSTATEs character_not_in_repertoire and untranslatable_character.
const UNSTORABLE = new Set(['22021', '22P05'])

/**
 * Returns whether a Postgres error has an unexpected cause, that is: neither data, load, a failover nor an operator.
 *
 * Then our code has a bug, or somebody has changed the schema. Clients are told to retry, so an alert must count these
 * errors.
 */
export function isUnexpected(error: Error): boolean {
  if (!(error instanceof pg.DatabaseError) || error.code === undefined || isAboutData(error)) return false
  return !PASSING.has(error.code) && !PASSING_CLASSES.includes(error.code.slice(0, 2))
}

/**
 * Returns whether the error means that the connection no longer leads to a primary. Causes are a failover, a restart,
 * or an answer that never came.
 *
 * All other open connections then lead to the same old server. Only a new connection resolves the host name again.
 */
export function isMoved(error: Error): boolean {
  const { code } = error as { code?: unknown }
  if (typeof code === 'string') return MOVED.has(code) || SOCKET_CODES.has(code)
  return isUnanswered(error) || error.message.startsWith('Connection terminated unexpectedly')
}

/** Returns whether the query timed out. After a timeout the connection cannot be used any more. */
export function isUnanswered(error: Error): boolean {
  return error.message === 'Query read timeout'
}

// SQLSTATEs read_only_sql_transaction, admin_shutdown, crash_shutdown, cannot_connect_now, connection_failure and
// invalid_authorization_specification. The last one means that the master key was replaced after the session had proved
// that it has the key.
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

// Matches the messages of errors of `pg` and `pg-pool` that have no code.
const PG_MESSAGES =
  /^(Connection terminated|timeout exceeded when trying to connect|Query read timeout|Client has encountered a connection error|Cannot use a pool after calling end)/

const DEADLOCK = new Set(['40001', '40P01'])

/** SQLSTATE classes of data exceptions and integrity constraint violations. */
const DATA_CLASSES = ['22', '23']
/** SQLSTATEs raise_exception and no_data_found. They mean that an SQL function refused its arguments. */
const RAISED = new Set(['P0001', 'P0002'])

/**
 * Returns whether the error is about data.
 *
 * An error of class 55 is about data if it names a constraint. Our functions name one in such errors, Postgres itself
 * never does. An error of class 28 may also name a constraint, but it is about the caller.
 */
function isAboutData(error: pg.DatabaseError): boolean {
  if (error.code === undefined || isFatal(error)) return false
  const sqlClass = error.code.slice(0, 2)
  if (DATA_CLASSES.includes(sqlClass) || RAISED.has(error.code)) return true
  return error.constraint !== undefined && sqlClass === '55'
}

/** Returns whether the error ended the session. */
function isFatal({ severity }: pg.DatabaseError): boolean {
  return severity === 'FATAL' || severity === 'PANIC'
}

/**
 * Returns whether a call with other rows may succeed, although the error is not classified as `data`. One row may be
 * too large, or may trigger a bug.
 */
export function mayBeOfRows({ kind, error }: Failure): boolean {
  return (
    kind === 'unavailable' && (isUnexpected(error) || (error as pg.DatabaseError).code === LIMIT_EXCEEDED)
  )
}

// SQLSTATEs query_canceled (statement_timeout) and cannot_connect_now. Postgres answers them before anything is
// committed.
const NOT_COMMITTED = new Set(['57014', '57P03'])

// SQLSTATE classes of connection exceptions, and of a server that has ended (57P01, 57P02). The outcome is unknown,
// because Postgres may end a session whose committed transaction still waits for a synchronous standby.
const UNKNOWN_CLASSES = ['08', '57', '58', 'XX']
// SQLSTATE statement_completion_unknown.
const UNKNOWN = new Set(['40003'])
// SQLSTATE classes of invalid authorization and insufficient resources. A FATAL error of these classes ends a session
// before it begins.
const BEFORE_SESSION_CLASSES = ['28', '53']

// SQLSTATE program_limit_exceeded. It means that a row is too large. Postgres also uses it when it refuses writes to
// protect transaction numbers from wrapping around.
const LIMIT_EXCEEDED = '54000'

// SQLSTATE classes and codes of temporary states: connections, authorization, rollbacks, resources, locks, operators,
// the system.
//
// The single codes are read_only_sql_transaction, timeouts of a transaction, insufficient_privilege, and errors of a
// session whose plans or statements a migration or a pooler has removed.
const PASSING_CLASSES = ['08', '28', '40', '53', '55', '57', '58']
const PASSING = new Set(['25006', '25P03', '25P04', '42501', LIMIT_EXCEEDED, '0A000', '26000'])

/**
 * Returns the kind of a failed call. The default is `unavailable`, which means that nothing was committed and that the
 * same call may succeed later.
 */
export function classifyFailure(error: Error): Failure {
  if (error instanceof ValueError) return { kind: 'data', error }
  // Only an error that Postgres itself sent has an SQLSTATE. Socket errors have codes too, and EPIPE even has the form
  // of an SQLSTATE.
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
