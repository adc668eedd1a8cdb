import type pg from 'pg'
import type { ReadsArchive } from './archive.ts'
import { Database, DatabaseClient, type DatabaseClientConfig, type DatabaseOrUrl } from './connection.ts'
import { OWNER_SETTINGS } from './session.ts'

/**
 * Any connection that runs queries: a pool, a caller's own connection in a transaction, or a connection reserved for
 * one request (replica.ts).
 *
 * `archive` reads content that has left Postgres.
 */
export type Db = Pick<pg.Pool, 'query'> & ReadsArchive

/** Runs `work` with a new connection. Closes the connection afterwards, even if `work` throws. */
export async function withClient<T>(
  database: DatabaseOrUrl,
  work: (client: pg.Client) => Promise<T>,
): Promise<T> {
  return use(await openClient(database), work)
}

/**
 * Runs `work` as the database's owner, who migrates or repairs. Throws before `work` if the session's settings are not
 * safe (session.ts).
 */
export async function withOwner<T>(
  database: DatabaseOrUrl,
  work: (client: pg.Client) => Promise<T>,
): Promise<T> {
  return use(await openClient(database, { isOwner: true, settings: OWNER_SETTINGS }), work)
}

async function use<T>(client: pg.Client, work: (client: pg.Client) => Promise<T>): Promise<T> {
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}

/** Opens one connection. The caller must close it. */
export async function openClient(
  database: DatabaseOrUrl,
  config: pg.ClientConfig & Partial<Pick<DatabaseClientConfig, 'settings' | 'isOwner'>> = {},
): Promise<pg.Client> {
  const opened = Database.of(database)
  await opened.prepare()
  const connect = async () => {
    const client = new DatabaseClient({ ...opened.clientConfig(), ...config })
    await client.connect()
    return client
  }
  return connect().catch((error: Error) => {
    // The password may have been rotated just before, so the connection is tried once more.
    if (opened.isWorthAnother(error)) return connect()
    throw error
  })
}

/**
 * Runs the statements of one connection one after another, even if several are issued at once.
 *
 * After a failed statement, all later statements fail too. Either the connection is broken, or Postgres may still run
 * the failed statement and a later statement would wait for it.
 */
export function serializeQueries(client: Pick<pg.ClientBase, 'query'>): Db {
  let last: Promise<unknown> = Promise.resolve()
  const query = (...args: Parameters<pg.PoolClient['query']>) => {
    const answer = last.then(() => client.query(...args))
    last = answer
    return answer
  }
  return { query: query as unknown as Db['query'], archive: (client as Db).archive ?? null }
}
