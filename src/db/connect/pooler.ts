import type pg from 'pg'
import { POOLER_PROBES } from '../limits.ts'
import { openClient } from './client.ts'
import { Database, type DatabaseOrUrl } from './connection.ts'
import { HANDED_ON } from './session.ts'
import { withTransaction } from './transaction.ts'

/** Something between this process and Postgres that hands connections on. 'transaction': to another client after each transaction or statement. */
export type Pooler = 'none' | 'present' | 'transaction'

/**
 * A pooler announces a process id of its own making. If then this client is answered by another process than before, or another
 * client's transaction runs in the process that this one's ran in, while both are connected, connections are handed on by the
 * transaction: in session mode each client keeps its own. A pooler that is busy, or takes its connections in turn, is found out by the first;
 * an idle one which takes the connection that it used last, by the second. Each connection asks once more while it is made (connection.ts).
 *
 * Throws where a second connection cannot be made, or the probe fails: that proves nothing, and a pooler must be known.
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

/** PgBouncer's answer to `begin`, which it gives a protocol's error code that says less. */
const STATEMENT_MODE = /statement pooling/

/** Throws, saying what to do, where a connection is no session: its settings and prepared statements would be somebody else's. */
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

/** A setting, as every connection of the pools has: a proxy that sees one keeps the session for its client (RDS Proxy). */
const PINNING = { jit: 'off' }

/** Process id that the connection was told at its start. */
function announcedPid(client: pg.ClientBase): number | null {
  return (client as pg.ClientBase & { processID?: number | null }).processID ?? null
}
