import type pg from 'pg'
import { isUnanswered } from './failures.ts'

/**
 * Runs `work` in a transaction. Commits if `work` returns, and rolls back if it throws. No other code begins or ends
 * transactions.
 */
export async function withTransaction<T>(client: pg.ClientBase, work: () => Promise<T>): Promise<T> {
  await client.query('begin')
  try {
    const result = await work()
    await client.query('commit')
    return result
  } catch (error) {
    // Only the first error is useful, so errors of the rollback are ignored. A broken connection has rolled back by
    // itself. On a connection that does not answer, the rollback would only wait for a second timeout.
    if (!isUnanswered(error as Error)) await client.query('rollback').catch(() => {})
    throw error
  }
}

/**
 * Runs `work` in a transaction on a pooled connection. Closes the connection after an error, so that it is not reused.
 */
export async function withPooledTransaction<T>(
  pool: pg.Pool,
  work: (client: pg.PoolClient) => Promise<T>,
): Promise<T> {
  const client = await pool.connect()
  try {
    const result = await withTransaction(client, () => work(client))
    client.release()
    return result
  } catch (error) {
    client.release(error as Error)
    throw error
  }
}
