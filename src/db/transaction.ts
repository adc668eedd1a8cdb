import type pg from 'pg'

/** The only place that says begin, commit, rollback. */
export async function withTransaction<T>(client: pg.ClientBase, work: () => Promise<T>): Promise<T> {
  await client.query('begin')
  try {
    const result = await work()
    await client.query('commit')
    return result
  } catch (error) {
    // The first error is the one that explains; a connection that is gone has rolled back by itself.
    await client.query('rollback').catch(() => {})
    throw error
  }
}

/** On a connection of the pool, which does not get it back where anything failed. */
export async function withPooledTransaction<T>(
  pool: pg.Pool,
  work: (client: pg.PoolClient) => Promise<T>,
): Promise<T> {
  const client = await pool.connect()
  let broken = true
  try {
    const result = await withTransaction(client, () => work(client))
    broken = false
    return result
  } finally {
    client.release(broken)
  }
}
