import type pg from 'pg'
import { Database, DatabaseClient, type DatabaseOrUrl } from './connection.ts'
import type { ReadsReleased } from './released-content.ts'

/**
 * A pool, the one connection of a caller who owns the transaction, or one that is held for a request (replica.ts). `released`: reads what
 * has left Postgres.
 */
export type Db = Pick<pg.Pool, 'query'> & ReadsReleased

/** Does `work` with a connection of its own, which is closed after it, whatever comes of it. */
export async function withClient<T>(
  database: DatabaseOrUrl,
  work: (client: pg.Client) => Promise<T>,
): Promise<T> {
  const client = await openClient(database)
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}

/** One connection, which the caller closes. */
export async function openClient(
  database: DatabaseOrUrl,
  config: pg.ClientConfig & { readonly settings?: Readonly<Record<string, string | number>> } = {},
): Promise<pg.Client> {
  const opened = Database.of(database)
  await opened.prepare()
  const connect = async () => {
    const client = new DatabaseClient({ ...opened.clientConfig(), ...config })
    await client.connect()
    return client
  }
  return connect().catch((error: Error) => {
    // The password may have been changed just before.
    if (opened.isWorthAnother(error)) return connect()
    throw error
  })
}
