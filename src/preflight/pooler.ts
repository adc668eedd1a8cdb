import type pg from 'pg'
import { announcedPid, openPreflightClient, readBackendPid } from '../db/preflight.ts'
import { withTransaction } from '../db/transaction.ts'

/** Something between this process and Postgres that hands connections on. 'transaction': to another client after each one. */
export type Pooler = 'none' | 'present' | 'transaction'

/**
 * A pooler announces a process id of its own making. If another client's transaction then runs in the process that this
 * one's last statement ran in, while both are connected, connections are handed on by the transaction: in session mode each
 * client keeps its own. That it is another process proves nothing, because the pooler may have several.
 */
export async function findPooler(client: pg.Client, url: string): Promise<Pooler> {
  const pid = await readBackendPid(client)
  if (announcedPid(client) === pid) return 'none'
  let other: pg.Client
  try {
    other = await openPreflightClient(url)
  } catch {
    return 'present'
  }
  try {
    const otherPid = await withTransaction(other, () => readBackendPid(other))
    return otherPid === pid ? 'transaction' : 'present'
  } finally {
    await other.end()
  }
}
