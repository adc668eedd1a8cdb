import type pg from 'pg'
import { openClient } from '../connect/client.ts'
import { type DatabaseOrUrl, NOT_MIGRATED } from '../connect/connection.ts'
import { DEFAULT_LOGINS, findLogins, type LoginNames } from '../connect/logins.ts'
import { PREFLIGHT_ANSWER_TIMEOUT_MS, PREFLIGHT_STATEMENT_TIMEOUT_MS } from '../limits.ts'

/* Queries of `tallystick preflight`. Any login may run them, and no query writes to a table. */

/**
 * Opens a connection with session settings, as servers and workers do. So a pooler treats this connection like theirs.
 */
export function openPreflightClient(database: DatabaseOrUrl): Promise<pg.Client> {
  return openClient(database, {
    application_name: 'tallystick preflight',
    query_timeout: PREFLIGHT_ANSWER_TIMEOUT_MS,
    settings: { statement_timeout: PREFLIGHT_STATEMENT_TIMEOUT_MS },
  })
}

export async function roundTrip(client: pg.ClientBase): Promise<void> {
  await client.query('select 1')
}

/**
 * Size of the message in bytes, which is about the size of an entry's envelope. So the commit of the message writes
 * about as much log as the commit of one record.
 */
const MESSAGE_BYTES = 600

/**
 * Commits a transaction that writes to no table. It only writes a message to the log, which nobody reads.
 *
 * With `flushed`, the commit waits as the login's settings require. Otherwise it waits neither for a flush nor for a
 * standby.
 *
 * The setting is part of the same statement and ends with the transaction. A separate `set` would be unsafe: a pooler
 * could give the session to another client, whose commits would then not wait for a flush either.
 */
export async function commitMessage(client: pg.ClientBase, flushed: boolean): Promise<void> {
  await client.query(
    `select set_config('synchronous_commit',
         case when $1 then current_setting('synchronous_commit') else 'off' end, true),
       pg_logical_emit_message(true, 'tallystick preflight', repeat('.', ${MESSAGE_BYTES}))`,
    [flushed],
  )
}

export type ServerFacts = {
  readonly version: string
  readonly versionNumber: number
  readonly login: string
  readonly database: string
  readonly inRecovery: boolean
  /** Maps the name of a setting to its value as `show` prints it. Settings that this login may not read are missing. */
  readonly settings: Readonly<Record<string, string>>
  readonly maxWalBytes: number
  readonly sharedBuffersBytes: number
}

export async function readServerFacts(
  client: pg.ClientBase,
  settings: readonly string[],
): Promise<ServerFacts> {
  const { rows } = await client.query<ServerFacts>(
    `select current_setting('server_version') as version,
       current_setting('server_version_num')::int as "versionNumber",
       session_user as login, current_database() as database, pg_is_in_recovery() as "inRecovery",
       pg_size_bytes(current_setting('max_wal_size'))::float8 as "maxWalBytes",
       pg_size_bytes(current_setting('shared_buffers'))::float8 as "sharedBuffersBytes",
       -- Settings of this session alone do not apply to other sessions.
       (select jsonb_object_agg(name, case source when 'session' then reset_val else current_setting(name) end)
        from pg_settings where name = any($1)) as settings`,
    [settings],
  )
  return rows[0]!
}

/**
 * Returns the guards that are missing, from the SQL function missing_guards. Returns null if the schema does not exist,
 * or if this login may not call the function.
 */
export async function readMissingGuards(client: pg.ClientBase): Promise<readonly string[] | null> {
  try {
    const { rows } = await client.query<{ missing: string[] }>(
      'select tallystick.missing_guards() as missing',
    )
    return rows[0]!.missing
  } catch (error) {
    if (NOT_MIGRATED.includes((error as { code?: string }).code ?? '')) return null
    throw error
  }
}

/** Returns the system identifier of the Postgres cluster. Returns null if this login may not read the identifier. */
export async function findSystemIdentifier(client: pg.ClientBase): Promise<bigint | null> {
  const { rows } = await client.query<{ id: string | null }>(
    `select case when has_function_privilege('pg_control_system()', 'execute')
       then (select system_identifier::text from pg_control_system()) end as id`,
  )
  return rows[0]!.id === null ? null : BigInt(rows[0]!.id!)
}

/**
 * Returns the names of the two logins, for servers and for workers. Before the first migration these are the default
 * logins.
 */
async function readLoginNames(client: pg.ClientBase): Promise<LoginNames> {
  const { api, worker } = await findLogins(client)
  return { api: api[0] ?? DEFAULT_LOGINS.api, worker: worker[0] ?? DEFAULT_LOGINS.worker }
}

export type LoginSetting = { readonly login: string | null; readonly name: string; readonly value: string }

/**
 * Lists the settings among `names` that `alter role` or `alter database` has set for the logins of servers and
 * workers.
 */
export async function listLoginSettings(
  client: pg.ClientBase,
  names: readonly string[],
): Promise<LoginSetting[]> {
  const { api, worker } = await readLoginNames(client)
  const { rows } = await client.query<LoginSetting>(
    `select r.rolname as login, split_part(c.setting, '=', 1) as name,
       substr(c.setting, strpos(c.setting, '=') + 1) as value
     from pg_db_role_setting s left join pg_roles r on r.oid = s.setrole cross join unnest(s.setconfig) as c(setting)
     where s.setdatabase in (0, (select oid from pg_database where datname = current_database()))
       and (s.setrole = 0 or r.rolname = any($1)) and split_part(c.setting, '=', 1) = any($2)
     order by r.rolname nulls first, c.setting`,
    [[api, worker], names],
  )
  return rows
}

/** Limits and counts of connections. A limit of -1 means that there is no limit. */
export type ConnectionFacts = {
  readonly max: number
  readonly reserved: number
  /** Number of connections to all databases of the Postgres server. */
  readonly inUse: number
  readonly databaseMax: number
  readonly databaseInUse: number
  /** Number of connections that running servers and workers have to this database. */
  readonly ours: number
  readonly names: LoginNames
  /** The login of this connection, and the logins of servers and workers if they exist. */
  readonly logins: readonly {
    readonly login: string
    readonly max: number
    readonly inUse: number
    readonly isSuperuser: boolean
  }[]
}

export async function readConnectionFacts(client: pg.ClientBase): Promise<ConnectionFacts> {
  const names = await readLoginNames(client)
  const { rows } = await client.query<Omit<ConnectionFacts, 'names'>>(
    `select current_setting('max_connections')::int as max,
       current_setting('superuser_reserved_connections')::int
         + coalesce(current_setting('reserved_connections', true)::int, 0) as reserved,
       (select coalesce(sum(numbackends), 0)::int from pg_stat_database) as "inUse",
       d.datconnlimit as "databaseMax",
       (select count(*)::int from pg_stat_activity a where a.datid = d.oid) as "databaseInUse",
       (select count(*)::int from pg_stat_activity a join pg_roles r on r.oid = a.usesysid
        where a.datid = d.oid and a.pid <> pg_backend_pid() and r.rolname = any($1)) as ours,
       (select jsonb_agg(jsonb_build_object('login', r.rolname, 'max', r.rolconnlimit, 'isSuperuser', r.rolsuper,
          'inUse', (select count(*) from pg_stat_activity a where a.usesysid = r.oid)) order by r.rolname)
        from pg_roles r where r.rolname = session_user or r.rolname = any($1)) as logins
     from pg_database d where d.datname = current_database()`,
    [[names.api, names.worker]],
  )
  return { ...rows[0]!, names }
}

/** Facts about the Postgres server at TALLYSTICK_REPLICA_URL. */
export type ReplicaFacts = {
  readonly isStandby: boolean
  readonly isPaused: boolean
  /** System identifier of the replica's cluster. null if this login may not read it. */
  readonly system: bigint | null
  /** `denied`: this login may not read ledgers. `none`: the database has no ledgers. */
  readonly ledgers: 'readable' | 'denied' | 'none'
}

export async function readReplicaFacts(client: pg.ClientBase): Promise<ReplicaFacts> {
  const { rows } = await client.query<Pick<ReplicaFacts, 'isStandby' | 'isPaused'>>(
    `select pg_is_in_recovery() as "isStandby",
       case when pg_is_in_recovery() then pg_is_wal_replay_paused() else false end as "isPaused"`,
  )
  return { ...rows[0]!, system: await findSystemIdentifier(client), ledgers: await readLedgers(client) }
}

async function readLedgers(client: pg.ClientBase): Promise<ReplicaFacts['ledgers']> {
  try {
    await client.query('select size from tallystick.chain_heads limit 1')
    return 'readable'
  } catch (error) {
    const { code } = error as { code?: string }
    if (code === '42501') return 'denied'
    if (code === '42P01' || code === '3F000') return 'none'
    throw error
  }
}

/** Returns how many bytes of log the primary has written and flushed. Standbys receive only flushed log. */
export async function readFlushedLog(client: pg.ClientBase): Promise<number> {
  const { rows } = await client.query<{ bytes: number }>(
    "select pg_wal_lsn_diff(pg_current_wal_flush_lsn(), '0/0') as bytes",
  )
  return rows[0]!.bytes
}

/** Returns how many bytes of log a standby has replayed. Returns null if the number is unknown. */
export async function readReplayedLog(client: pg.ClientBase): Promise<number | null> {
  const { rows } = await client.query<{ bytes: number | null }>(
    "select pg_wal_lsn_diff(pg_last_wal_replay_lsn(), '0/0') as bytes",
  )
  return rows[0]!.bytes
}
