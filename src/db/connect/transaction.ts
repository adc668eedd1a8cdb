import type pg from 'pg'
import { isUnanswered } from './failures.ts'

/** The only place that says begin, commit, rollback. */
export async function withTransaction<T>(client: pg.ClientBase, work: () => Promise<T>): Promise<T> {
  await client.query('begin')
  try {
    const result = await work()
    await client.query('commit')
    return result
  } catch (error) {
    // The first error is the one that explains; a connection that is gone has rolled back by itself, and on one that does not
    // answer this would wait as long again.
    if (!isUnanswered(error as Error)) await client.query('rollback').catch(() => {})
    throw error
  }
}

/** On a connection of the pool, which does not get it back where anything failed. */
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
