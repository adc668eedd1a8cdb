/**
 * What a failed call means for the transaction that it carried.
 *
 * - `data`: Postgres refused these rows and rolled back; other rows may pass.
 * - `deadlock`: rolled back; the same call may pass.
 * - `unavailable`: rolled back or never begun; the database can't take writes now.
 * - `unknown`: no answer came, or the server went away: it may have committed.
 */
export type Failure = {
  readonly kind: 'data' | 'deadlock' | 'unavailable' | 'unknown'
  readonly error: Error
}

const DEADLOCK = new Set(['40001', '40P01'])

// read_only_sql_transaction (a failover), lock_not_available, query_canceled (statement_timeout),
// cannot_connect_now, insufficient_privilege.
const UNAVAILABLE = new Set(['25006', '55P03', '57014', '57P03', '42501'])
const UNAVAILABLE_CLASSES = ['53', '28'] // insufficient resources, invalid authorization

// connection exceptions, and a server that went away (57P01, 57P02): while it waits for a synchronous standby
// Postgres may end a session whose transaction has committed.
const UNKNOWN_CLASSES = ['08', '57', '58', 'XX']

export function classifyFailure(error: Error): Failure {
  const code = (error as { code?: unknown }).code
  // `pg` gives SQLSTATE codes of five characters; sockets give ECONNRESET and the like, a timeout gives none.
  if (typeof code !== 'string' || !/^[0-9A-Z]{5}$/.test(code)) return { kind: 'unknown', error }
  if (DEADLOCK.has(code)) return { kind: 'deadlock', error }
  const sqlClass = code.slice(0, 2)
  if (UNAVAILABLE.has(code) || UNAVAILABLE_CLASSES.includes(sqlClass)) return { kind: 'unavailable', error }
  if (UNKNOWN_CLASSES.includes(sqlClass)) return { kind: 'unknown', error }
  return { kind: 'data', error }
}
