import type { TestContext } from 'node:test'
import type pg from 'pg'
import type { ArchiveContent } from '../../src/db/connect/archive.ts'
import { Database, DatabaseClient, type DatabaseClientConfig } from '../../src/db/connect/connection.ts'
import { DatabasePool } from '../../src/db/connect/pools.ts'
import { makeMasterKey } from '../../src/signing/master-key.ts'
import { TEST_MASTER_KEY } from './template-database.ts'

const masterKey = makeMasterKey(TEST_MASTER_KEY)

/** Returns a test database with the master key, as a server or worker uses it. */
export function testDatabase(url: string, archive: ArchiveContent | null = null): Database {
  return new Database(url, undefined, (chunks) => masterKey.databaseMac(chunks), archive)
}

export type TestPoolConfig = pg.PoolConfig & { readonly settings?: DatabaseClientConfig['settings'] }

/** Opens a pool with only the given settings. The caller ends it. */
export function openTestPool(url: string, config: TestPoolConfig): pg.Pool {
  const Client = DatabaseClient as unknown as NonNullable<pg.PoolConfig['Client']>
  return new DatabasePool({ ...testDatabase(url).clientConfig(), ...config, Client })
}

export async function connect(t: TestContext, url: string): Promise<pg.Client> {
  const client = new DatabaseClient(testDatabase(url).clientConfig())
  client.on('error', () => {}) // Ignored here: a test that cuts the connection gets the error from its query.
  await client.connect()
  t.after(() => client.end())
  return client
}
