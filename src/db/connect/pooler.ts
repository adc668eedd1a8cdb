import type pg from 'pg'
import { POOLER_PROBES } from '../limits.ts'
import { openClient } from './client.ts'
import { Database, type DatabaseOrUrl } from './connection.ts'
import { HANDED_ON } from './session.ts'
import { withTransaction } from './transaction.ts'

/**
 * Kind of connection pooler between this process and Postgres. `transaction`: the pooler gives a connection to
 * another client after each transaction or statement.
 */
export type Pooler = 'none' | 'present' | 'transaction'

/**
 * Detects a pooler, and whether it shares connections between clients by the transaction.
 *
 * A pooler announces a process id of its own when a connection starts. If that id differs from the backend's, a
 * second connection is opened, and two signs of transaction mode are checked. Both are impossible in session mode, in
 * which each client keeps its process:
 *
 * - Another process than before answers this client. This detects a pooler that is busy or that uses its connections
 *   round-robin.
 * - The second client's transaction runs in this client's process. This detects an idle pooler that reuses its last
 *   connection.
 *
 * Each connection also checks once while it is made (connection.ts).
 *
 * Throws if the second connection or a probe fails: then the kind of pooler is unknown, and it must be known.
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

/** PgBouncer's answer to `begin`. Its error code is a general protocol error. */
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

/** Set because RDS Proxy pins a session to its client after any setting. Every pooled connection has settings, too. */
const PINNING = { jit: 'off' }

/** Returns the process id that was announced when the connection started. */
function announcedPid(client: pg.ClientBase): number | null {
  return (client as pg.ClientBase & { processID?: number | null }).processID ?? null
}
