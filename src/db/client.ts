import pg from 'pg'

/** A pool, or the one connection of a caller who owns the transaction. */
export type Db = pg.Pool | pg.ClientBase

/** Does `work` with a connection of its own, which is closed after it, whatever comes of it. */
export async function withClient<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}
