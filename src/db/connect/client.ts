import type pg from 'pg'
import type { ReadsArchive } from './archive.ts'
import { Database, DatabaseClient, type DatabaseClientConfig, type DatabaseOrUrl } from './connection.ts'
import { OWNER_SETTINGS } from './session.ts'

/**
 * A pool, the one connection of a caller who owns the transaction, or one that is held for a request (replica.ts). `archive`: reads what
 * has left Postgres.
 */
export type Db = Pick<pg.Pool, 'query'> & ReadsArchive

/** Does `work` with a connection of its own, which is closed after it, whatever comes of it. */
export async function withClient<T>(
  database: DatabaseOrUrl,
  work: (client: pg.Client) => Promise<T>,
): Promise<T> {
  return use(await openClient(database), work)
}

/** The same as the database's owner, who migrates or repairs: throws first where the session is not one that a 201 may rest on. */
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

/** One connection, which the caller closes. */
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
    // The password may have been changed just before.
    if (opened.isWorthAnother(error)) return connect()
    throw error
  })
}

/**
 * The connection, with one statement after another however many are asked for at once. After one that failed there are no more: it may
 * still run, or the connection is broken, and whoever shares it would wait for that.
 */
export function inTurn(client: Pick<pg.ClientBase, 'query'>): Db {
  let last: Promise<unknown> = Promise.resolve()
  const query = (...args: Parameters<pg.PoolClient['query']>) => {
    const answer = last.then(() => client.query(...args))
    last = answer
    return answer
  }
  return { query: query as unknown as Db['query'], archive: (client as Db).archive ?? null }
}
