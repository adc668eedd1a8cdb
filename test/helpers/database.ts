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
  /** Before its time; otherwise it is dropped when its test is done. */
  drop(): Promise<void>
}

/** `name` says whose database it is that leaks. */
type Test = { readonly name: string; after(cleanup: () => Promise<void>): void }

/** A pool that is being closed needs a moment; a connection that is still there after it was forgotten. */
const LEAK_MS_MAX = 2_000

/**
 * A fresh, migrated database: a copy of a template that the suite migrates once. It is dropped when its test is done, at the
 * latest when the process's tests are, and a connection that is still open to it by then fails the file.
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

/** An empty database of the owner's, not migrated. */
export async function createEmptyDatabase(t: Test): Promise<{ ownerUrl: string; superuserUrl: string }> {
  const { client, url } = await suite()
  const name = newName()
  await ensureTestOwner(client)
  await client.query(`create database ${name} template template0 owner tallystick_owner`)
  dropAfter(t, client, name)
  const ownerUrl = urlFor(url, name, 'tallystick_owner', TEST_PASSWORDS.owner)
  return { ownerUrl, superuserUrl: urlFor(url, name) }
}

/** A whole server for a test that kills it. It is stopped, and its folder removed, when the file's tests are done. */
export async function startTestPostgres(
  _t: Test,
  options: Omit<PostgresOptions, 'dataDir' | 'temporary'> = {},
): Promise<RunningPostgres> {
  const dataDir = temporaryDirInMemory()
  // Other binaries want a cluster of their own version.
  if (options.binDir === undefined) putCluster(dataDir)
  const server = await startPostgres({ ...options, dataDir, temporary: true })
  cleanups.push(() => server.stop('fast'))
  return server
}

// Newest first, when all tests of the process are done: hooks of `t.after` run oldest first, so a hook of ours would look
// for open connections before the test's own hooks have closed them.
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

/** Those of tests that are done, as far as nobody is connected: anybody who still is may be closing, and is asked at the end. */
async function dropEnded(client: pg.Client): Promise<void> {
  for (const { name, ended, drop } of databases) {
    if (ended && (await openConnections(client, name)).length === 0) await drop()
  }
}

type Suite = { readonly client: pg.Client; readonly url: string; close(): Promise<void> }
let opened: Promise<Suite> | null = null

/** The server and the process's own connection to it: a test's two statements there cost less than a login. */
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

/** The connections that are still there after all. */
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
