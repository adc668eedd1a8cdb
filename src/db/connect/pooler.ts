import type pg from 'pg'
import { POOLER_PROBES } from '../limits.ts'
import { openClient } from './client.ts'
import { Database, type DatabaseOrUrl } from './connection.ts'
import { HANDED_ON } from './session.ts'
import { withTransaction } from './transaction.ts'

/**
 * Kind of connection pooler between this process and Postgres. A pooler of kind `transaction` may give a connection to
 * another client after each transaction or statement.
 */
export type Pooler = 'none' | 'present' | 'transaction'

/**
 * Detects a pooler, and whether the pooler may give a connection to another client after each transaction.
 *
 * A pooler announces a process id of its own when a connection starts. If that id differs from the id of the server
 * process, a second connection is opened, and two signs of transaction mode are checked. Both signs are impossible in
 * session mode, in which each client keeps its server process:
 *
 * - Another process than before answers this client. This detects a pooler that is busy or that uses its connections
 *   round-robin.
 * - The second client's transaction runs in this client's process. This detects an idle pooler that reuses its last
 *   connection.
 *
 * Each connection is also checked once when it is made (connection.ts).
 *
 * Throws if the second connection or a check fails, because the kind of pooler must be known.
 */
export async function findPooler(client: pg.ClientBase, database: DatabaseOrUrl): Promise<Pooler> {
  const pid = await readBackendPid(client)
  if (announcedPid(client) === pid) return 'none'
  const other = await openClient(database, { settings: PINNING })
  try {
    for (let probe = 0; probe < POOLER_PROBES; probe++) {
      const otherPid = await withTransaction(other, () => readBackendPid(other))
      if (otherPid === pid || (await readBackendPid(client)) !== pid) return 'transaction'
    }
    return 'present'
  } catch (error) {
    if (STATEMENT_MODE.test((error as Error).message)) return 'transaction'
    throw error
  } finally {
    await other.end()
  }
}

/** Matches PgBouncer's answer to `begin` in statement mode. Its error code is only a general protocol error. */
const STATEMENT_MODE = /statement pooling/

/**
 * Returns the kind of pooler. Throws behind a transaction pooler, which would share settings and prepared statements
 * with other clients. The message says what to do.
 */
export async function refuseTransactionPooler(client: pg.ClientBase, from: DatabaseOrUrl): Promise<Pooler> {
  const database = Database.of(from)
  const pooler = await findPooler(client, database)
  if (pooler !== 'transaction') return pooler
  throw new Error(`the database ${database.where}: ${HANDED_ON}`)
}

async function readBackendPid(client: pg.ClientBase): Promise<number> {
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
  return rows[0]!.pid
}

/**
 * Setting of the second connection that findPooler opens. After any setting, RDS Proxy reserves the session for its
 * client. Pooled connections always have settings, so the second connection must have a setting too.
 */
const PINNING = { jit: 'off' }

function announcedPid(client: pg.ClientBase): number | null {
  return (client as pg.ClientBase & { processID?: number | null }).processID ?? null
}
