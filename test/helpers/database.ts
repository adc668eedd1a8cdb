import { createHash, randomBytes } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { after } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import { withClient } from '../../src/db/client.ts'
import { migrate } from '../../src/db/migrate.ts'
import { type PostgresOptions, type RunningPostgres, startPostgres } from '../../src/postgres/start.ts'
import { makeMasterKey } from '../../src/signing/master-key.ts'
import { putCluster, startSuitePostgres, temporaryDirInMemory } from './postgres.ts'

export type TestDatabase = {
  readonly name: string
  readonly ownerUrl: string
  readonly apiUrl: string
  readonly workerUrl: string
  readonly superuserUrl: string
  /** Before its time; otherwise it is dropped when the file's last test is done. */
  drop(): Promise<void>
}

/** Only `name` is used: to say whose database it is that leaks. */
type Test = { readonly name: string }

/** Roles belong to the whole server and test files run side by side, so all of them share these passwords. */
export const TEST_PASSWORDS = { owner: 'test-owner', api: 'test-api', worker: 'test-worker' } as const

/** The master key that sealed the server keys in every test database. */
export const TEST_MASTER_KEY = new Uint8Array(32).fill(7)

const MIGRATIONS_DIR = new URL('../../migrations/', import.meta.url)
const TEMPLATE_LOCK = 7_411_958
const OWNER_LOCK = 7_411_959
/** A pool that is being closed needs a moment; a connection that is still there after it was forgotten. */
const LEAK_MS_MAX = 2_000

/**
 * A fresh, migrated database: a copy of a template that the suite migrates once. It is dropped when the file's
 * tests are done, and a connection that is still open to it by then fails the file.
 */
export async function createTestDatabase(t: Test): Promise<TestDatabase> {
  const superuserUrl = await suiteUrl()
  const name = `test_${randomBytes(6).toString('hex')}`
  await withClient(superuserUrl, async (client) => {
    const template = await ensureTemplate(client, superuserUrl)
    await client.query(
      `create database ${name} template ${template} owner tallystick_owner strategy file_copy`,
    )
  })
  let dropped = false
  const drop = async () => {
    if (dropped) return
    dropped = true
    await dropDatabase(superuserUrl, name, t.name)
  }
  cleanups.push(drop)
  return {
    name,
    ownerUrl: urlFor(superuserUrl, name, 'tallystick_owner', TEST_PASSWORDS.owner),
    apiUrl: urlFor(superuserUrl, name, 'tallystick_api', TEST_PASSWORDS.api),
    workerUrl: urlFor(superuserUrl, name, 'tallystick_worker', TEST_PASSWORDS.worker),
    superuserUrl: urlFor(superuserUrl, name),
    drop,
  }
}

/** An empty database of the owner's, not migrated. */
export async function createEmptyDatabase(t: Test): Promise<{ ownerUrl: string; superuserUrl: string }> {
  const superuserUrl = await suiteUrl()
  const name = `test_${randomBytes(6).toString('hex')}`
  await withClient(superuserUrl, async (client) => {
    await ensureTestOwner(client)
    await client.query(`create database ${name} template template0 owner tallystick_owner`)
  })
  cleanups.push(() => dropDatabase(superuserUrl, name, t.name))
  const ownerUrl = urlFor(superuserUrl, name, 'tallystick_owner', TEST_PASSWORDS.owner)
  return { ownerUrl, superuserUrl: urlFor(superuserUrl, name) }
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

export function urlFor(base: string, database: string, user?: string, password?: string): string {
  const url = new URL(base)
  url.pathname = `/${database}`
  if (user !== undefined) url.username = user
  if (password !== undefined) url.password = password
  return url.href
}

// Newest first, at the end of the file: hooks of `t.after` run oldest first, so a hook of ours would look for
// open connections before the test's own hooks have closed them.
const cleanups: (() => Promise<void>)[] = []
after(async () => {
  const errors: unknown[] = []
  for (const cleanup of cleanups.reverse()) await cleanup().catch((error) => errors.push(error))
  if (ownServer) await (await ownServer).stop('fast')
  if (errors.length > 0) throw errors.length === 1 ? errors[0] : new AggregateError(errors, 'cleanups failed')
})

let ownServer: Promise<RunningPostgres> | null = null

async function suiteUrl(): Promise<string> {
  const given = process.env['TALLYSTICK_TEST_DATABASE_URL']
  if (given) return given
  ownServer ??= startSuitePostgres()
  return (await ownServer).superuserUrl
}

async function ensureTemplate(client: pg.Client, superuserUrl: string): Promise<string> {
  const hash = createHash('sha256')
  for (const name of readdirSync(MIGRATIONS_DIR).sort()) {
    if (/^\d{4}-.+\.sql$/.test(name)) hash.update(name).update(readFileSync(new URL(name, MIGRATIONS_DIR)))
  }
  const template = `template_${hash.digest('hex').slice(0, 16)}`
  await client.query('select pg_advisory_lock($1)', [TEMPLATE_LOCK])
  try {
    const found = await client.query('select from pg_database where datname = $1', [template])
    if (found.rowCount === 0) await makeTemplate(client, superuserUrl, template)
  } finally {
    await client.query('select pg_advisory_unlock($1)', [TEMPLATE_LOCK])
  }
  return template
}

/** Migrated under another name first: a migration that fails leaves no half-made template behind. */
async function makeTemplate(client: pg.Client, superuserUrl: string, template: string): Promise<void> {
  const draft = `${template}_draft`
  await ensureTestOwner(client)
  await client.query(`drop database if exists ${draft} with (force)`)
  await client.query(`create database ${draft} template template0 owner tallystick_owner`)
  await migrate({
    ownerUrl: urlFor(superuserUrl, draft, 'tallystick_owner', TEST_PASSWORDS.owner),
    masterKey: makeMasterKey(TEST_MASTER_KEY),
    passwords: { api: TEST_PASSWORDS.api, worker: TEST_PASSWORDS.worker },
  })
  await client.query(`alter database ${draft} rename to ${template}`)
}

/** The server of a suite has made this role already, with a password that only its starter knows. */
async function ensureTestOwner(client: pg.Client): Promise<void> {
  await client.query('select pg_advisory_lock($1)', [OWNER_LOCK])
  try {
    await client.query(`do $$ begin
      if not exists (select from pg_roles where rolname = 'tallystick_owner') then
        create role tallystick_owner login createrole;
      end if;
      alter role tallystick_owner with password '${TEST_PASSWORDS.owner}';
    end $$`)
  } finally {
    await client.query('select pg_advisory_unlock($1)', [OWNER_LOCK])
  }
}

async function dropDatabase(superuserUrl: string, name: string, owner: string): Promise<void> {
  await withClient(superuserUrl, async (client) => {
    const open = await openConnections(client, name)
    await client.query(`drop database ${name} with (force)`)
    if (open.length > 0) {
      throw new Error(`"${owner}" leaked ${open.length} connections to its database:\n  ${open.join('\n  ')}`)
    }
  })
}

async function openConnections(client: pg.Client, name: string): Promise<string[]> {
  for (const giveUpAt = Date.now() + LEAK_MS_MAX; ; await sleep(20)) {
    const { rows } = await client.query<{ line: string }>(
      `select format('%s, %s: %s', usename, state, left(query, 120)) as line
       from pg_stat_activity where datname = $1 and backend_type = 'client backend'`,
      [name],
    )
    if (rows.length === 0 || Date.now() > giveUpAt) return rows.map((row) => row.line)
  }
}
