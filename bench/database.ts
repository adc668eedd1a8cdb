import { randomBytes } from 'node:crypto'
import { accessSync, constants, existsSync, readdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { withClient } from '../src/db/connect/client.ts'
import { DEFAULT_LOGINS } from '../src/db/connect/logins.ts'
import { startPostgres } from '../src/run/postgres/start.ts'
import { findPostmaster } from './watch/cpu.ts'

export type Database = {
  readonly ownerUrl: string
  readonly postgres: string
  /** Process id of the postmaster, or null if Postgres is on another machine or its process is not visible. */
  readonly postmaster: number | null
  /** Directory of Postgres' WAL, or a folder for temporary files if this process cannot write there. */
  readonly walDirectory: string
  readonly connectionsFree: number
  /** Creates another database that is dropped with this one. Returns its owner's URL. */
  makeAnother(): Promise<string>
  close(): Promise<void>
}

/** `max_connections` of our own Postgres. The reference load opens as many connections as the load itself. */
const OWN_MAX_CONNECTIONS = 400

/**
 * Opens a database for this run: on the Postgres of `DATABASE_URL`, or on a temporary Postgres of our own. The temporary
 * Postgres runs the binaries of the system, because they are built for this processor. If the system has none, it runs
 * the embedded binaries.
 */
export async function openDatabase(
  options: { databaseUrl: string | undefined; embedded: boolean },
  log: (line: string) => void,
): Promise<Database> {
  if (options.databaseUrl !== undefined) return openGiven(options.databaseUrl)
  const binDir = options.embedded ? null : findSystemBinaries()
  const dataDir = join(
    existsSync('/var/tmp') ? '/var/tmp' : tmpdir(),
    `tallystick-bench-${randomBytes(4).toString('hex')}`,
  )
  const server = await startPostgres({
    dataDir,
    ...(binDir === null ? {} : { binDir }),
    settings: { max_connections: OWN_MAX_CONNECTIONS },
    temporary: true,
    log,
  })
  return {
    ...(await describe(server.ownerUrl, dataDir)),
    postgres: `${server.version} (${binDir ?? 'embedded'})`,
    makeAnother: () => createDatabase(server.superuserUrl, server.ownerUrl),
    close: () => server.stop('immediate'),
  }
}

/** Creates a database on the same Postgres, owned by the user of `ownerUrl`. Returns that user's URL for it. */
async function createDatabase(superuserUrl: string, ownerUrl: string): Promise<string> {
  const url = new URL(ownerUrl)
  const name = makeName()
  await execute(superuserUrl, `create database ${name} owner ${pg.escapeIdentifier(url.username)}`)
  url.pathname = `/${name}`
  return url.href
}

function makeName(): string {
  return `tallystick_bench_${randomBytes(4).toString('hex')}`
}

async function openGiven(databaseUrl: string): Promise<Database> {
  const logins = await execute(
    databaseUrl,
    `select from pg_roles where rolname in ('${DEFAULT_LOGINS.api}', '${DEFAULT_LOGINS.worker}')`,
  )
  const made: string[] = []
  const makeAnother = async () => {
    const url = await createDatabase(databaseUrl, databaseUrl)
    made.push(url)
    return url
  }
  return {
    ...(await describe(await makeAnother(), null)),
    makeAnother,
    async close() {
      for (const url of made)
        await execute(databaseUrl, `drop database ${new URL(url).pathname.slice(1)} with (force)`)
      // Logins belong to the whole cluster. If this run created the logins, they are dropped with the database.
      if (logins === 0)
        await execute(databaseUrl, `drop role if exists ${DEFAULT_LOGINS.api}, ${DEFAULT_LOGINS.worker}`)
    },
  }
}

async function describe(
  ownerUrl: string,
  dataDir: string | null,
): Promise<Omit<Database, 'makeAnother' | 'close'>> {
  return withClient(ownerUrl, async (client) => {
    const { rows } = await client.query(`select version(), pg_backend_pid() as backend,
      current_setting('max_connections')::int - 40 - (select count(*)::int from pg_stat_activity) as free,
      (select setting from pg_settings where name = 'data_directory') as directory`)
    return {
      ownerUrl,
      postgres: rows[0].version.replace(/^PostgreSQL | on .*$/g, ''),
      postmaster: findPostmaster(rows[0].backend),
      walDirectory: dataDir ?? writable(rows[0].directory) ?? tmpdir(),
      connectionsFree: Math.max(1, rows[0].free),
    }
  })
}

function writable(directory: string | null): string | null {
  if (directory === null) return null
  try {
    accessSync(directory, constants.W_OK)
    return directory
  } catch {
    return null
  }
}

/** Executes a statement and returns the number of rows. */
async function execute(databaseUrl: string, statement: string): Promise<number> {
  return withClient(databaseUrl, async (client) => (await client.query(statement)).rowCount ?? 0)
}

export function findSystemBinaries(): string | null {
  const root = '/usr/lib/postgresql'
  if (!existsSync(root)) return null
  const found = readdirSync(root)
    .filter((major) => Number(major) >= 15 && existsSync(join(root, major, 'bin', 'initdb')))
    .sort((a, b) => Number(b) - Number(a))
  return found[0] === undefined ? null : join(root, found[0], 'bin')
}
