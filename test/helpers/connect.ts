import type { TestContext } from 'node:test'
import type pg from 'pg'
import type { ArchiveContent } from '../../src/db/connect/archive.ts'
import { Database, DatabaseClient, type DatabaseClientConfig } from '../../src/db/connect/connection.ts'
import { DatabasePool } from '../../src/db/connect/pools.ts'
import { makeMasterKey } from '../../src/signing/master-key.ts'
import { TEST_MASTER_KEY } from './template-database.ts'

const masterKey = makeMasterKey(TEST_MASTER_KEY)

/** A database of the tests as a server or worker of theirs reaches it: with the master key. */
export function testDatabase(url: string, archive: ArchiveContent | null = null): Database {
  return new Database(url, undefined, (chunks) => masterKey.databaseMac(chunks), archive)
}

export type TestPoolConfig = pg.PoolConfig & { readonly settings?: DatabaseClientConfig['settings'] }

/** Such a pool, with no other settings than those given; its user ends it. */
export function openTestPool(url: string, config: TestPoolConfig): pg.Pool {
  const Client = DatabaseClient as unknown as NonNullable<pg.PoolConfig['Client']>
  return new DatabasePool({ ...testDatabase(url).clientConfig(), ...config, Client })
}

/** A connection that is closed when the test is done. */
export async function connect(t: TestContext, url: string): Promise<pg.Client> {
  const client = new DatabaseClient(testDatabase(url).clientConfig())
  client.on('error', () => {}) // a test that cuts it sees that in its query
  await client.connect()
  t.after(() => client.end())
  return client
}
