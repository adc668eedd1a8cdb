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
