import type pg from 'pg'
import { POOLER_PROBES } from '../limits.ts'
import { openClient } from './client.ts'
import { Database, type DatabaseOrUrl } from './connection.ts'
import { withTransaction } from './transaction.ts'

/** Something between this process and Postgres that hands connections on. 'transaction': to another client after each one. */
export type Pooler = 'none' | 'present' | 'transaction'

/**
 * A pooler announces a process id of its own making. If then this client is answered by another process than before, or another
 * client's transaction runs in the process that this one's ran in, while both are connected, connections are handed on by the
 * transaction: in session mode each client keeps its own. A busy pooler is found out by the first, an idle one
 * which takes the connection that it used last, the second.
 */
export async function findPooler(client: pg.ClientBase, database: DatabaseOrUrl): Promise<Pooler> {
  const pid = await readBackendPid(client)
  if (announcedPid(client) === pid) return 'none'
  let other: pg.Client
  try {
    other = await openClient(database, { settings: PINNING })
  } catch {
    return 'present'
  }
  try {
    for (let probe = 0; probe < POOLER_PROBES; probe++) {
      const otherPid = await withTransaction(other, () => readBackendPid(other))
      if (otherPid === pid || (await readBackendPid(client)) !== pid) return 'transaction'
    }
    return 'present'
  } finally {
    await other.end()
  }
}

/** Throws, saying what to do, where a connection is no session: its settings and prepared statements would be somebody else's. */
export async function refuseTransactionPooler(client: pg.ClientBase, from: DatabaseOrUrl): Promise<Pooler> {
  const database = Database.of(from)
  const pooler = await findPooler(client, database)
  if (pooler !== 'transaction') return pooler
  throw new Error(
    `the database ${database.where} is reached through a pooler that hands connections on after each transaction: have it pool by ` +
      'the session, or name Postgres itself (docs/databases.md)',
  )
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
