import type { EventEmitter } from 'node:events'
import pg from 'pg'
import { CONNECT_TIMEOUT_MS, KEEP_ALIVE_AFTER_MS } from '../limits.ts'
import type { Acceptable } from './acceptable.ts'
import type { ArchiveContent } from './archive.ts'
import { ConnectError, explainConnectFailure } from './connect-error.ts'
import { Fence, type Timeline } from './fence.ts'
import { type Login, openPasswords, type PasswordSource, type Passwords } from './passwords.ts'
import { Reconnects } from './reconnects.ts'
import { StandbyConfirmation } from './replicated.ts'
import { BIGINT_ARRAY_TYPE, NUMBER_TYPES, nameInCamelCase, parseNumbers } from './row-values.ts'
import {
  describeGuards,
  findUnmet,
  HANDED_ON,
  isOfWholeServer,
  refusalOf,
  type SessionState,
  setStatement,
  setUpSession,
} from './session.ts'
import { chooseTls, isUnverified, type Tls } from './tls.ts'

/**
 * Connection settings from the environment. The URL is not among them. All are plain values, so that they can be passed
 * to a thread.
 */
export type DatabaseOptions = {
  /** A CA bundle in PEM. null if the certificates that Node trusts by default are used. */
  readonly caFile: string | null
  /** Source of the password. null if the URL has the password, or if no password is needed. */
  readonly password: PasswordSource | null
  /** Unsafe settings that the operator accepts, because the storage makes them safe. */
  readonly accepted?: readonly Acceptable[]
}

const NO_OPTIONS: DatabaseOptions = { caFile: null, password: null }

/** A database, or a URL alone without further options. Tests, tools and the command line pass a URL. */
export type DatabaseOrUrl = Database | string

/**
 * Computes the MAC that proves to Postgres that this process has the master key
 * (docs/decisions/0003-keys-and-database-logins.md#proof-of-the-writer).
 */
type DatabaseMac = (chunks: Iterable<Uint8Array>) => Buffer

/**
 * A database with one login. It makes all connections of the project.
 *
 * Reads the URL, sets up TLS, gets the password and writes the error messages. Throws if the URL has an unknown or
 * contradictory setting. The message says what to do and never contains the password.
 */
export class Database {
  readonly url: string
  readonly options: DatabaseOptions
  /** User, host, port and database, for messages. Contains no password. */
  readonly where: string
  readonly #login: Login
  readonly #tls: Tls
  readonly #passwords: Passwords | null
  readonly #password: string | undefined
  readonly #pools = new Set<Pool>()
  readonly #reconnects = new Reconnects()
  readonly #fence = new Fence()
  readonly #confirmation = new StandbyConfirmation()
  readonly #mac: DatabaseMac | null
  readonly archive: ArchiveContent | null

  /**
   * `mac` proves that this process has the master key. It is null for the owner's connections and for connections that
   * only read. `archive` reads content that has left Postgres. It is null if there is no archive, or if no documents
   * are read.
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

  /** True if TLS does not verify the server's identity. In this case callers log a warning. */
  get isUnverified(): boolean {
    return isUnverified(this.#tls, this.#login.host)
  }

  /**
   * Returns the settings that all connections share. The caller adds the application name and timeouts.
   *
   * Every setting that pg would otherwise read from the environment is set here or in `forgetEnvironment`.
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
        // The session is the first of a new timeline, so the other open connections lead to the replaced primary.
        if (this.#fence.admit(session)) this.renew()
      },
      confirmation: this.#confirmation,
      renew: () => this.renew(),
    }
  }

  /** Returns whether the primary that serves the connection has been replaced since the connection was made. */
  isReplaced({ timeline }: DatabaseClient): boolean {
    return timeline !== null && this.#fence.isReplaced(timeline)
  }

  /** Gets the first password in advance, because a password command may take longer than the connection timeout. */
  async prepare(): Promise<void> {
    await this.#passwords?.get()
  }

  /** Returns whether connecting should be tried once more immediately, because the password may have been rotated. */
  isWorthAnother(error: Error): boolean {
    return this.#passwords !== null && error instanceof ConnectError && error.isLoginRefused
  }

  register(pool: Pool): void {
    this.#pools.add(pool)
  }

  /** Replaces all open connections, which lead to the old server. A connection in use is closed when it is released. */
  renew(): void {
    for (const pool of this.#pools) pool.renew()
  }

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

/** Prevents pg from reading a password file (PGPASSFILE, ~/.pgpass) and from sending a password of that file. */
function noPassword(): never {
  throw new Error('it asks for a password, and none is given')
}

export type DatabaseClientConfig = pg.ClientConfig & {
  readonly explain: (error: Error) => ConnectError
  /** Runs `connect`. While the database is unreachable, throws immediately instead. */
  readonly attempt: <T>(connect: () => Promise<T>) => Promise<T>
  readonly mac: DatabaseMac | null
  /**
   * True if the login migrates or repairs. If it is true, or if there is a `mac`, the session's settings are checked
   * before anything is written.
   */
  readonly isOwner: boolean
  readonly accepted: readonly Acceptable[]
  readonly archive: ArchiveContent | null
  /** Registers the session's timeline. Throws if a replaced primary serves the session. */
  readonly admit: (session: Timeline) => void
  readonly confirmation: StandbyConfirmation
  /** Replaces all open connections. Called when a session is refused for a reason that applies to all connections. */
  readonly renew: () => void
  /**
   * Settings of the session. They are set by a statement before the session's first use, because poolers refuse them
   * as connection parameters.
   */
  readonly settings?: Readonly<Record<string, string | number>>
}

type ConnectCallback = Parameters<pg.Client['connect']>[0]

/**
 * A connection whose errors say what to do. If connecting fails, no socket stays open.
 *
 * pg closes a socket whose server has not answered, but leaves a socket open if this side ends the login. So this class
 * closes that socket. If a connection breaks, its query fails. pg then also emits the event `error`. The constructor
 * adds a listener for it, because without a listener the event would end the process.
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
    // `nameInCamelCase` renames the columns. It must run before pg's own listener, which builds the rows with these
    // names.
    const { connection } = this as unknown as { connection: EventEmitter }
    connection.prependListener('rowDescription', nameInCamelCase)
    connection.prependListener('notice', (notice: { readonly routine?: string }) => {
      if (notice.routine === UNREPLICATED_ROUTINE) this.#breakUnreplicated()
    })
  }

  /**
   * The session's timeline. null in two cases: the database hides the timeline, or the timeline is not read. It is read
   * only on connections of the owner and on connections made with the master key.
   */
  get timeline(): Timeline | null {
    return this.#timeline
  }

  /**
   * Computes the MAC of a call that this connection sends. Throws if the connection was made without the master key.
   */
  mac(chunks: Iterable<Uint8Array>): Buffer {
    if (this.#config.mac === null) throw new Error('this connection was opened without the master key')
    return this.#config.mac(chunks)
  }

  override connect(): Promise<this>
  override connect(callback: ConnectCallback): void
  override connect(callback?: ConnectCallback): Promise<this> | void {
    const connecting = this.#connect()
    if (!callback) return connecting
    const done = callback as (error: Error | null) => void
    connecting.then(() => done(null), done)
  }

  async #connect(): Promise<this> {
    const { attempt, mac, confirmation } = this.#config
    const { standbys } = await attempt(() => this.#closeOnError(() => this.#open()))
    // Logins without the master key send nothing that a failover must not lose. The wait is not part of the attempt. If
    // it were, other sessions would fail until a new primary has a standby: after a failure one attempt runs at a time.
    if (mac !== null && standbys !== '') await this.#closeOnError(() => confirmation.await(this))
    return this
  }

  async #open(): Promise<SessionState> {
    await super.connect()
    const { mac, isOwner, accepted, settings = {} } = this.#config
    const state = await setUpSession(this, settings)
    if (mac !== null || isOwner) {
      const unmet = findUnmet(state.facts, accepted)
      if (unmet.some(isOfWholeServer)) this.#config.renew()
      if (unmet.length > 0) throw refusalOf(unmet)
      await this.#requirePrimary()
    }
    await this.#prove(state.pid)
    return state
  }

  async #closeOnError<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (error) {
      const inner = this as unknown as { _ending: boolean; connection: { stream: { destroy(): void } } }
      // Marks the end as intended. Otherwise pg would report a broken connection, and its pool would assume that the
      // database has moved.
      inner._ending = true
      inner.connection.stream.destroy()
      throw this.#config.explain(error as Error)
    }
  }

  /** Throws if a standby, which may be behind, or a replaced primary serves the session. */
  async #requirePrimary(): Promise<void> {
    try {
      const { rows } = await this.query<Timeline & { readonly isStandby: boolean }>(TIMELINE_SQL)
      const { isStandby, system, timeline } = rows[0]!
      if (isStandby) {
        this.#config.renew()
        throw new Error('it is a standby, or not promoted yet: the URL must name the primary')
      }
      this.#timeline = { system, timeline }
    } catch (error) {
      if (TIMELINE_UNAVAILABLE.includes((error as { code?: string }).code ?? '')) return
      throw error
    }
    this.#config.admit(this.#timeline)
  }

  /**
   * Fails a commit that was not replicated to a synchronous standby.
   *
   * If somebody cancels the wait for the standby, Postgres sends a warning and then reports success. A failover would
   * lose such a commit, so its outcome is unknown. pg must therefore fail the query before it reads the rest of the
   * answer.
   */
  #breakUnreplicated(): void {
    const { connection } = this as unknown as { connection: EventEmitter & { stream: { destroy(): void } } }
    connection.emit('error', new Error('Connection terminated unexpectedly: a commit was not replicated'))
    connection.stream.destroy()
  }

  /**
   * Proves to the triggers which guard the session's writes that this process has the master key. Throws if one of
   * those triggers is off.
   *
   * `pid` is the server process that has answered the connection's statements so far.
   */
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
      // The session name must have the known form. Otherwise an impostor of the database could obtain the MAC of
      // another text.
      if (!SESSION_NAME.test(name))
        throw new Error('the database answered with an unknown form of session name')
      // Sets the search_path of this session. Otherwise an attacker who has stolen the login could change the login's
      // default search_path, and put a schema of the attacker before pg_catalog. In a database that was upgraded from
      // Postgres 14, the login may also create functions. This session, which proves that it has the master key, would
      // then call a function of the attacker.
      await this.query(`${setStatement([SESSION_MAC, ''])}; ${setStatement(['search_path', 'pg_catalog'])}`)
      // The MAC is sent as a parameter, because pg_stat_activity shows the texts of statements to all sessions of the
      // same login. Somebody who reads the MAC there could end this session, and open new sessions until one of them
      // gets the same process number.
      await this.query('select set_config($1, $2, false)', [
        SESSION_MAC,
        mac([Buffer.from(name)]).toString('hex'),
      ])
    } catch (error) {
      if (!NOT_MIGRATED.includes((error as { code?: string }).code ?? '')) throw error
    }
  }
}

/**
 * Clears values that pg takes from the environment (PGOPTIONS, …). An empty value in the configuration would not do
 * this, because pg treats it as missing.
 */
function forgetEnvironment(client: {
  connectionParameters: Record<string, unknown>
  replication: unknown
}): void {
  Object.assign(client.connectionParameters, { options: undefined, replication: undefined, binary: false })
  client.replication = undefined
}

/**
 * Postgres function that waits for synchronous standbys. The warning is recognized by this name, because Postgres
 * translates messages but not function names.
 */
const UNREPLICATED_ROUTINE = 'SyncRepWaitForLSN'

/**
 * SQL that reads the timeline. It does not use pg_control_checkpoint(), which still returns the previous timeline right
 * after a promotion.
 */
const TIMELINE_SQL = `
  select pg_catalog.pg_is_in_recovery() as is_standby, c.system_identifier::text as system,
    case when not pg_catalog.pg_is_in_recovery() then ('x' || pg_catalog.left(
      pg_catalog.pg_walfile_name(pg_catalog.pg_current_wal_insert_lsn()), 8))::bit(32)::bigint end as timeline
  from pg_catalog.pg_control_system() as c`

/**
 * SQLSTATEs feature_not_supported, insufficient_privilege and undefined_function. They mean that the database has no
 * write-ahead log of this kind, or hides it.
 */
const TIMELINE_UNAVAILABLE = ['0A000', '42501', '42883']

const SESSION_MAC = 'tallystick.session_mac'
const SESSION_NAME = /^tallystick session \S+ \d+ \d+(\.\d+)?$/

/**
 * SQLSTATEs undefined_function, invalid_schema_name and insufficient_privilege. They mean that `migrate` has not run
 * yet, so nothing can be proven or written.
 *
 * checkDatabase reports this state, and its caller replaces the connections that were made in this state.
 */
export const NOT_MIGRATED = ['42883', '3F000', '42501']

const TWO_PASSWORDS =
  'the URL has a password, and TALLYSTICK_DATABASE_PASSWORD_FILE or TALLYSTICK_DATABASE_PASSWORD_COMMAND is set too: ' +
  'remove one of them'

const PARAMETERS = ['sslmode', 'sslrootcert', 'host']

/**
 * Throws on unknown parameters, because the operator may expect an effect of them. Also throws on repeated parameters,
 * because libpq uses the last value, but `URLSearchParams` the first.
 */
function refuseUnknown(parameters: URLSearchParams): void {
  const names = [...parameters.keys()]
  const unknown = names.find((name) => !PARAMETERS.includes(name))
  if (unknown !== undefined) {
    throw new Error(
      `the URL has the unknown parameter ${unknown.slice(0, 64)}: remove it (known: ${PARAMETERS.join(', ')})`,
    )
  }
  const twice = names.find((name, i) => names.indexOf(name) !== i)
  if (twice !== undefined) throw new Error(`the URL has the parameter ${twice} twice: remove one`)
}

const PORT_DEFAULT = 5432

/**
 * Parses the login as libpq does. The folder of a Unix socket is in the parameter `host`, or percent-encoded in place
 * of the URL's host name.
 */
function parseLogin(url: URL): Login {
  const host = url.searchParams.get('host') ?? decodePart(url.hostname).replace(/^\[(.+)\]$/, '$1')
  const user = decodePart(url.username)
  const database = decodePart(url.pathname.slice(1))
  if (host === '' || user === '') {
    throw new Error('the database’s URL needs a host and a user: postgres://USER@HOST:PORT/DATABASE')
  }
  return { host, port: url.port === '' ? PORT_DEFAULT : Number(url.port), user, database: database || user }
}

/**
 * Decodes percent escapes. Throws for an unescaped percent sign, which generated passwords may contain. The error omits
 * the text, because it may be part of the password.
 */
function decodePart(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw new Error('the database’s URL has a % that is not escaped: write %25 instead')
  }
}
