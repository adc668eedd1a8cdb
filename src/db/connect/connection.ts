import type { EventEmitter } from 'node:events'
import pg from 'pg'
import { CONNECT_TIMEOUT_MS, KEEP_ALIVE_AFTER_MS } from '../limits.ts'
import type { Acceptable } from './acceptable.ts'
import type { ArchiveContent } from './archive.ts'
import { ConnectError, explainConnectFailure } from './connect-error.ts'
import { Fence, type Timeline } from './fence.ts'
import { type Login, openPasswords, type PasswordSource, type Passwords } from './passwords.ts'
import { Reconnects } from './reconnects.ts'
import { BIGINT_ARRAY_TYPE, NUMBER_TYPES, nameInCamelCase, parseNumbers } from './row-values.ts'
import {
  describeGuards,
  findUnmet,
  HANDED_ON,
  isOfWholeServer,
  refusalOf,
  setStatement,
  setUpSession,
} from './session.ts'
import { chooseTls, isUnverified, type Tls } from './tls.ts'

/** Settings of connections from the environment, besides the URL. Plain values, so that a thread can be given them. */
export type DatabaseOptions = {
  /** A bundle in PEM; null: the certificates that Node trusts by itself. */
  readonly caFile: string | null
  /** null: the URL has the password, or none is asked for. */
  readonly password: PasswordSource | null
  /** Settings that are not refused, because the storage makes them good. */
  readonly accepted?: readonly Acceptable[]
}

const NO_OPTIONS: DatabaseOptions = { caFile: null, password: null }

/** A URL alone is what tests, tools and the command line have: nothing is added to it. */
export type DatabaseOrUrl = Database | string

/** Proves to Postgres that this process holds the master key (docs/decisions/0020-a-login-alone-writes-nothing.md). */
type DatabaseMac = (chunks: Iterable<Uint8Array>) => Buffer

/**
 * A database as one login, and how its connections are made. All connections of the project are made by this: it reads
 * the URL, sets TLS up, gets the password, and words the errors. Throws, saying what to do and never the password,
 * where the URL means nothing that is known.
 */
export class Database {
  readonly url: string
  readonly options: DatabaseOptions
  /** For messages: no password. */
  readonly where: string
  readonly #login: Login
  readonly #tls: Tls
  readonly #passwords: Passwords | null
  readonly #password: string | undefined
  readonly #pools = new Set<Pool>()
  readonly #reconnects = new Reconnects()
  readonly #fence = new Fence()
  readonly #mac: DatabaseMac | null
  readonly archive: ArchiveContent | null

  /**
   * `mac`: null where nothing is written, or by the owner. `archive`: reads what has left Postgres; null where there is no archive, or
   * nobody reads documents.
   */
  constructor(
    url: string,
    options: DatabaseOptions = NO_OPTIONS,
    mac: DatabaseMac | null = null,
    archive: ArchiveContent | null = null,
  ) {
    this.url = url
    this.archive = archive
    this.options = options
    this.#mac = mac
    const parsed = new URL(url)
    this.#login = parseLogin(parsed)
    const { host, port, user, database } = this.#login
    this.where = `${user}@${host}:${port}/${database}`
    this.#password = decodePart(parsed.password) || undefined
    try {
      refuseUnknown(parsed.searchParams)
      this.#tls = chooseTls(parsed.searchParams, host, options.caFile)
      if (this.#password !== undefined && options.password !== null) throw new Error(TWO_PASSWORDS)
    } catch (error) {
      throw new Error(`the database ${this.where}: ${(error as Error).message}`)
    }
    this.#passwords = options.password && openPasswords(options.password, this.#login)
  }

  static of(database: DatabaseOrUrl): Database {
    return typeof database === 'string' ? new Database(database) : database
  }

  /** Not sure who the other end is: for a warning. */
  get isUnverified(): boolean {
    return isUnverified(this.#tls, this.#login.host)
  }

  /**
   * Settings common to all connections. The caller adds the application name and timeouts. Every setting that pg would otherwise read
   * from the environment is here, or in `forgetEnvironment`.
   */
  clientConfig(): DatabaseClientConfig {
    const { host, port, user, database } = this.#login
    return {
      host,
      port,
      user,
      database,
      ssl: this.#tls.options,
      sslnegotiation: 'postgres',
      client_encoding: 'UTF8',
      application_name: 'tallystick',
      password: this.#passwords ? () => this.#passwords!.get() : (this.#password ?? noPassword),
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      keepAlive: true,
      keepAliveInitialDelayMillis: KEEP_ALIVE_AFTER_MS,
      explain: (error) => this.#explain(error),
      attempt: (connect) => this.#reconnects.attempt(connect, (error) => !this.isWorthAnother(error)),
      mac: this.#mac,
      isOwner: false,
      accepted: this.options.accepted ?? [],
      archive: this.archive,
      admit: (session) => {
        // Those that are idle now lead to the primary that was replaced.
        if (this.#fence.admit(session)) this.renew()
      },
      renew: () => this.renew(),
    }
  }

  /** Whether the primary that serves the connection was replaced since it was made. */
  isReplaced({ timeline }: DatabaseClient): boolean {
    return timeline !== null && this.#fence.isReplaced(timeline)
  }

  /** Has the first password made, which may take longer than a connection waits. */
  async prepare(): Promise<void> {
    await this.#passwords?.get()
  }

  /** Whether the same connection is worth another try at once: the password may be another one by now. */
  isWorthAnother(error: Error): boolean {
    return this.#passwords !== null && error instanceof ConnectError && error.isLoginRefused
  }

  /** Pools of this database: a finding of one of them is true for all. */
  register(pool: Pool): void {
    this.#pools.add(pool)
  }

  /** The connections that are open now lead to where the database was. Those in use are closed when they are given back. */
  renew(): void {
    for (const pool of this.#pools) pool.renew()
  }

  /** Open connections of all pools. */
  clients(): pg.ClientBase[] {
    return [...this.#pools].flatMap(({ clients }) => clients)
  }

  #explain(error: Error): ConnectError {
    const explained = explainConnectFailure(error, this.where, this.#tls)
    if (explained.isLoginRefused) this.#passwords?.refused()
    return explained
  }
}

type Pool = { renew(): void; readonly clients: readonly pg.ClientBase[] }

/** pg would look for a file of passwords (PGPASSFILE, ~/.pgpass), and send what it finds there. */
function noPassword(): never {
  throw new Error('it asks for a password, and none is given')
}

export type DatabaseClientConfig = pg.ClientConfig & {
  readonly explain: (error: Error) => ConnectError
  /** Does it, or throws at once while the database is away. */
  readonly attempt: <T>(connect: () => Promise<T>) => Promise<T>
  readonly mac: DatabaseMac | null
  /** Whether it migrates or repairs. As with a `mac`, what a 201 rests on is asked before anything is written. */
  readonly isOwner: boolean
  readonly accepted: readonly Acceptable[]
  readonly archive: ArchiveContent | null
  /** Throws if the session is one of a primary that was replaced. */
  readonly admit: (session: Timeline) => void
  /** Closes the connections that are open, where what one is refused for is true for all. */
  readonly renew: () => void
  /** Set in the session before anybody uses it, because poolers refuse them as parameters of the connection. */
  readonly settings?: Readonly<Record<string, string | number>>
}

type ConnectCallback = Parameters<pg.Client['connect']>[0]

/**
 * A connection that fails to be made says what to do, and leaves nothing open: pg itself lets go of a socket whose server has not
 * answered, but not of one whose login failed on this side. One that breaks fails its query. It emits an error as well,
 * which would end a process that does not listen.
 */
export class DatabaseClient extends pg.Client {
  readonly #config: DatabaseClientConfig
  readonly archive: ArchiveContent | null
  #timeline: Timeline | null = null

  constructor(config: DatabaseClientConfig) {
    super(config)
    this.#config = config
    this.archive = config.archive
    forgetEnvironment(this as unknown as Parameters<typeof forgetEnvironment>[0])
    this.on('error', () => {})
    for (const oid of NUMBER_TYPES) this.setTypeParser(oid, Number)
    this.setTypeParser(BIGINT_ARRAY_TYPE, parseNumbers)
    // Before pg's own listener, which makes the rows of a query by these names.
    const { connection } = this as unknown as { connection: EventEmitter }
    connection.prependListener('rowDescription', nameInCamelCase)
    connection.prependListener('notice', (notice: { readonly routine?: string }) => {
      if (notice.routine === UNREPLICATED_ROUTINE) this.#breakUnreplicated()
    })
  }

  /** null: not asked for, because the connection was made without the master key, or not told. */
  get timeline(): Timeline | null {
    return this.#timeline
  }

  /** MAC of a call that this connection carries. */
  mac(chunks: Iterable<Uint8Array>): Buffer {
    if (this.#config.mac === null) throw new Error('this connection was made without the master key')
    return this.#config.mac(chunks)
  }

  override connect(): Promise<this>
  override connect(callback: ConnectCallback): void
  override connect(callback?: ConnectCallback): Promise<this> | void {
    const connecting = this.#config.attempt(() => this.#connect())
    if (!callback) return connecting
    const told = callback as (error: Error | null) => void
    connecting.then(() => told(null), told)
  }

  async #connect(): Promise<this> {
    try {
      await super.connect()
      const { mac, isOwner, accepted, settings = {} } = this.#config
      const { pid, facts } = await setUpSession(this, settings)
      if (mac !== null || isOwner) {
        const unmet = findUnmet(facts, accepted)
        if (unmet.some(isOfWholeServer)) this.#config.renew()
        if (unmet.length > 0) throw refusalOf(unmet)
        await this.#requirePrimary()
      }
      await this.#prove(pid)
      return this
    } catch (error) {
      const inner = this as unknown as { _ending: boolean; connection: { stream: { destroy(): void } } }
      // Otherwise pg would report a connection that broke, and its pool would take the database for moved.
      inner._ending = true
      inner.connection.stream.destroy()
      throw this.#config.explain(error as Error)
    }
  }

  /** Throws on a standby, which is behind, and on a primary that was replaced. */
  async #requirePrimary(): Promise<void> {
    try {
      const { rows } = await this.query<Timeline & { readonly isStandby: boolean }>(TIMELINE_SQL)
      const { isStandby, system, timeline } = rows[0]!
      if (isStandby) {
        this.#config.renew()
        throw new Error('it is a standby, or is not promoted yet: the URL must lead to the primary')
      }
      this.#timeline = { system, timeline }
    } catch (error) {
      if (TIMELINE_UNTOLD.includes((error as { code?: string }).code ?? '')) return
      throw error
    }
    this.#config.admit(this.#timeline)
  }

  /**
   * A commit that no longer waits for a synchronous standby, because somebody canceled it there, is announced as a warning and then
   * as done, though a failover loses it. Its outcome is unknown: pg fails the query before it reads the rest of the answer.
   */
  #breakUnreplicated(): void {
    const { connection } = this as unknown as { connection: EventEmitter & { stream: { destroy(): void } } }
    connection.emit('error', new Error('Connection terminated unexpectedly: a commit was not replicated'))
    connection.stream.destroy()
  }

  /** Proves the session to the triggers that guard what it writes, and throws where one of those is off. `pid`: process so far. */
  async #prove(pid: number): Promise<void> {
    const { mac } = this.#config
    if (mac === null) return
    try {
      const { rows } = await this.query<{ name: string; pid: number; missing: string[] }>(
        'select tallystick.session_name() as name, pg_catalog.pg_backend_pid() as pid, tallystick.missing_guards() as missing',
      )
      const { name, pid: now, missing } = rows[0]!
      if (now !== pid) throw new Error(HANDED_ON)
      if (missing.length > 0) {
        this.#config.renew()
        throw refusalOf([describeGuards(missing)])
      }
      // An impostor of the database must not learn the MAC of anything else.
      if (!SESSION_NAME.test(name))
        throw new Error('the database names the session in a way that is not known')
      // A login may set its own: with a schema of its choice before pg_catalog, and where it may make functions (a database that was
      // upgraded from Postgres 14), one of a thief's would be called in a proven session.
      await this.query(`${setStatement([SESSION_MAC, ''])}; ${setStatement(['search_path', 'pg_catalog'])}`)
      // A parameter, because pg_stat_activity shows the text of a statement to all sessions of the same login: anybody who has read the
      // MAC there can end this session, and make sessions until one has its number.
      await this.query('select set_config($1, $2, false)', [
        SESSION_MAC,
        mac([Buffer.from(name)]).toString('hex'),
      ])
    } catch (error) {
      if (!NOT_MIGRATED.includes((error as { code?: string }).code ?? '')) throw error
    }
  }
}

/** pg takes these from the environment (PGOPTIONS, …) where its configuration has none, and an empty value counts as none. */
function forgetEnvironment(client: {
  connectionParameters: Record<string, unknown>
  replication: unknown
}): void {
  Object.assign(client.connectionParameters, { options: undefined, replication: undefined, binary: false })
  client.replication = undefined
}

/** Function of Postgres that waits for synchronous standbys. Messages are translated, names of functions are not. */
const UNREPLICATED_ROUTINE = 'SyncRepWaitForLSN'

/** Not pg_control_checkpoint(): right after a promotion it still tells the timeline before. */
const TIMELINE_SQL = `
  select pg_catalog.pg_is_in_recovery() as is_standby, c.system_identifier::text as system,
    case when not pg_catalog.pg_is_in_recovery() then ('x' || pg_catalog.left(
      pg_catalog.pg_walfile_name(pg_catalog.pg_current_wal_insert_lsn()), 8))::bit(32)::bigint end as timeline
  from pg_catalog.pg_control_system() as c`

/** feature_not_supported, insufficient_privilege, undefined_function: a database that keeps no log of this kind, or hides it. */
const TIMELINE_UNTOLD = ['0A000', '42501', '42883']

const SESSION_MAC = 'tallystick.session_mac'
const SESSION_NAME = /^tallystick session \S+ \d+ \d+(\.\d+)?$/

/**
 * undefined_function, invalid_schema_name, insufficient_privilege: before `migrate` nothing can be proven, and nothing written.
 * checkDatabase says so, and its caller has such connections made anew.
 */
export const NOT_MIGRATED = ['42883', '3F000', '42501']

const TWO_PASSWORDS =
  'the URL has a password, and TALLYSTICK_DATABASE_PASSWORD_FILE or TALLYSTICK_DATABASE_PASSWORD_COMMAND names another one: ' +
  'take one of them away'

const PARAMETERS = ['sslmode', 'sslrootcert', 'host']

/**
 * Refuses parameters that would be passed over, because somebody may rely on them. libpq takes the last of a repeated one,
 * `URLSearchParams` the first.
 */
function refuseUnknown(parameters: URLSearchParams): void {
  const names = [...parameters.keys()]
  const unknown = names.find((name) => !PARAMETERS.includes(name))
  if (unknown !== undefined) {
    throw new Error(
      `the parameter ${unknown.slice(0, 64)} of the URL is none that is known: take it away (known are ${PARAMETERS.join(', ')})`,
    )
  }
  const twice = names.find((name, i) => names.indexOf(name) !== i)
  if (twice !== undefined) throw new Error(`the parameter ${twice} stands twice in the URL: which one?`)
}

const PORT_DEFAULT = 5432

/** As libpq takes it: a socket's folder is the parameter `host`, or stands, escaped, where the host does. */
function parseLogin(url: URL): Login {
  const host = url.searchParams.get('host') ?? decodePart(url.hostname).replace(/^\[(.+)\]$/, '$1')
  const user = decodePart(url.username)
  const database = decodePart(url.pathname.slice(1))
  if (host === '' || user === '') {
    throw new Error('a database’s URL needs a host and a user: postgres://USER@HOST:PORT/DATABASE')
  }
  return { host, port: url.port === '' ? PORT_DEFAULT : Number(url.port), user, database: database || user }
}

/**
 * Passwords of generators have percent signs. The text is not shown, because it is the password or may be a part of it.
 */
function decodePart(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw new Error('a part of the database’s URL has a % that is not escaped: write %25 in its place')
  }
}
