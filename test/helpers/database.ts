import { randomBytes } from 'node:crypto'
import { after } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { type PostgresOptions, type RunningPostgres, startPostgres } from '../../src/run/postgres/start.ts'
import { putCluster, startSuitePostgres, temporaryDirInMemory } from './postgres.ts'
import { ensureTemplate, ensureTestOwner, TEST_PASSWORDS, urlFor } from './template-database.ts'

export { TEST_MASTER_KEY, TEST_PASSWORDS, urlFor } from './template-database.ts'

export type TestDatabase = {
  readonly name: string
  readonly ownerUrl: string
  readonly apiUrl: string
  readonly workerUrl: string
  readonly superuserUrl: string
  drop(): Promise<void>
}

/** A test that owns resources. Messages about open connections contain `name`. */
type Test = { readonly name: string; after(cleanup: () => Promise<void>): void }

/** Maximum time in ms that a closing pool needs. A connection that is still open after this time is reported. */
const LEAK_MS_MAX = 2_000

/**
 * Creates a migrated database as a copy of a template. The suite migrates the template once. The copy is dropped after
 * its test, or at the latest after the last test of the process. If a connection is still open then, the file fails.
 */
export async function createTestDatabase(t: Test): Promise<TestDatabase> {
  const { client, url } = await suite()
  const name = newName()
  const template = await ensureTemplate(client, url)
  await client.query(`create database ${name} template ${template} owner tallystick_owner strategy file_copy`)
  return {
    name,
    ownerUrl: urlFor(url, name, 'tallystick_owner', TEST_PASSWORDS.owner),
    apiUrl: urlFor(url, name, 'tallystick_api', TEST_PASSWORDS.api),
    workerUrl: urlFor(url, name, 'tallystick_worker', TEST_PASSWORDS.worker),
    superuserUrl: urlFor(url, name),
    drop: dropAfter(t, client, name),
  }
}

/** Creates an empty database that belongs to the owner, without migrations. */
export async function createEmptyDatabase(t: Test): Promise<{ ownerUrl: string; superuserUrl: string }> {
  const { client, url } = await suite()
  const name = newName()
  await ensureTestOwner(client)
  await client.query(`create database ${name} template template0 owner tallystick_owner`)
  dropAfter(t, client, name)
  const ownerUrl = urlFor(url, name, 'tallystick_owner', TEST_PASSWORDS.owner)
  return { ownerUrl, superuserUrl: urlFor(url, name) }
}

/**
 * Starts a separate Postgres server for a test that kills the server. After the file's tests, the server is stopped and
 * its folder is removed.
 */
export async function startTestPostgres(
  _t: Test,
  options: Omit<PostgresOptions, 'dataDir' | 'temporary'> = {},
): Promise<RunningPostgres> {
  const dataDir = temporaryDirInMemory()
  // Binaries of another version need a cluster of that version.
  if (options.binDir === undefined) putCluster(dataDir)
  const server = await startPostgres({ ...options, dataDir, temporary: true })
  cleanups.push(() => server.stop('fast'))
  return server
}

// Cleanups that run in reverse order after all tests of the process. `t.after` hooks run in order of registration. So a
// hook of this module would check for open connections before the test's own hooks close them.
const cleanups: (() => Promise<void>)[] = []
after(async () => {
  const errors: unknown[] = []
  for (const cleanup of cleanups.reverse()) await cleanup().catch((error) => errors.push(error))
  for (const { drop } of databases) await drop().catch((error) => errors.push(error))
  if (opened) await (await opened).close()
  if (errors.length > 0) throw errors.length === 1 ? errors[0] : new AggregateError(errors, 'cleanups failed')
})

type Database = { readonly name: string; ended: boolean; drop(): Promise<void> }
const databases = new Set<Database>()

function dropAfter(t: Test, client: pg.Client, name: string): () => Promise<void> {
  const database: Database = {
    name,
    ended: false,
    async drop() {
      if (databases.delete(database)) await dropDatabase(client, name, t.name)
    },
  }
  databases.add(database)
  t.after(async () => {
    database.ended = true
  })
  return database.drop
}

/**
 * Drops databases of finished tests that have no open connection. An open connection may be about to close, so the
 * database is checked again at the end.
 */
async function dropEnded(client: pg.Client): Promise<void> {
  for (const { name, ended, drop } of databases) {
    if (ended && (await openConnections(client, name)).length === 0) await drop()
  }
}

type Suite = { readonly client: pg.Client; readonly url: string; close(): Promise<void> }
let opened: Promise<Suite> | null = null

/**
 * Returns the suite's server and the one connection of this process to it. One connection is cheaper than a login for
 * each test.
 */
async function suite(): Promise<Suite> {
  opened ??= openSuite()
  const { client } = await opened
  await dropEnded(client)
  return opened
}

async function openSuite(): Promise<Suite> {
  const given = process.env['TALLYSTICK_TEST_DATABASE_URL']
  const own = given ? null : await startSuitePostgres()
  const url = given ?? own!.superuserUrl
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  return {
    client,
    url,
    async close() {
      await client.end()
      await own?.stop('fast')
    },
  }
}

function newName(): string {
  return `test_${randomBytes(6).toString('hex')}`
}

async function dropDatabase(client: pg.Client, name: string, owner: string): Promise<void> {
  const open = await untilClosed(client, name)
  await client.query(`drop database ${name} with (force)`)
  if (open.length > 0) {
    throw new Error(`"${owner}" leaked ${open.length} connections to its database:\n  ${open.join('\n  ')}`)
  }
}

async function untilClosed(client: pg.Client, name: string): Promise<string[]> {
  for (const giveUpAt = Date.now() + LEAK_MS_MAX; ; await sleep(20)) {
    const open = await openConnections(client, name)
    if (open.length === 0 || Date.now() > giveUpAt) return open
  }
}

async function openConnections(client: pg.Client, name: string): Promise<string[]> {
  const { rows } = await client.query<{ line: string }>(
    `select format('%s, %s: %s', usename, state, left(query, 120)) as line
     from pg_stat_activity where datname = $1 and backend_type = 'client backend'`,
    [name],
  )
  return rows.map((row) => row.line)
}
