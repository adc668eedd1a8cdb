import pg from 'pg'
import type { Acceptable } from './acceptable.ts'

/*
 * Settings of a Postgres session. A session sets some of them, and only checks the others. A server may answer 201 only
 * if all of them are safe, because 201 promises that the entry survives a crash.
 *
 * Servers, workers, `migrate`, the operator's commands and preflight all check them with `findUnmet`.
 */

type Settings = Readonly<Record<string, string | number>>

/**
 * Settings that every session sets. They override values of the server, the database, the login and the environment.
 * They stay the same when Postgres reloads its configuration.
 *
 * Timeouts are set first, because a timeout of the database could end the statements that set the rest.
 *
 * - Timeouts are 0 because the pools have their own timeouts.
 * - Formats must be those that this code parses. With `bytea_output` escape, an append would be committed, but its
 *   answer would be unreadable.
 * - `client_min_messages` is `warning`, because a warning reports a commit that was not replicated.
 */
const SESSION_SETTINGS: Settings = {
  statement_timeout: 0,
  lock_timeout: 0,
  idle_in_transaction_session_timeout: 0,
  idle_session_timeout: 0,
  client_encoding: 'UTF8',
  client_min_messages: 'warning',
  standard_conforming_strings: 'on',
  datestyle: 'ISO',
  intervalstyle: 'postgres',
  timezone: 'UTC',
  bytea_output: 'hex',
  extra_float_digits: 1,
  array_nulls: 'on',
  transform_null_equals: 'off',
  row_security: 'on',
  default_transaction_isolation: 'read committed',
  default_transaction_deferrable: 'off',
  'plpgsql.extra_errors': 'none',
}

/**
 * More settings of the owner's sessions, so that the schema does not depend on the database's defaults. Only the owner
 * sets `default_transaction_read_only` to off. Servers do not write to a database that is set to read-only.
 */
export const OWNER_SETTINGS: Settings = {
  default_transaction_read_only: 'off',
  search_path: 'pg_catalog',
  check_function_bodies: 'on',
  default_table_access_method: 'heap',
}

/**
 * Values of synchronous_commit that are too weak for a response 201. `off` does not wait for the disk, and `local` does
 * not wait for a standby. `remote_write` and `remote_apply` wait for both.
 */
export const WEAK_COMMITS: readonly string[] = ['off', 'local']

/**
 * SQL for settings that not every session needs or has. `transaction_timeout` exists since Postgres 17.
 * `synchronous_commit` is changed only if its value is too weak.
 */
const CONDITIONAL_SETTINGS = `
  select pg_catalog.set_config('transaction_timeout', '0', false)
  where pg_catalog.current_setting('transaction_timeout', true) is not null;
  select pg_catalog.set_config('synchronous_commit',
    case when s in (${WEAK_COMMITS.map(pg.escapeLiteral).join(', ')}) then 'on' else s end, false)
  from pg_catalog.current_setting('synchronous_commit') s`

export type SessionFacts = {
  readonly server_version_num: string
  readonly server_encoding: string
  readonly fsync: string
  readonly full_page_writes: string
  readonly data_sync_retry: string
  readonly zero_damaged_pages: string
  readonly session_replication_role: string
}

type FactName = keyof SessionFacts

const FACT_NAMES: readonly FactName[] = [
  'server_version_num',
  'server_encoding',
  'fsync',
  'full_page_writes',
  'data_sync_retry',
  'zero_damaged_pages',
  'session_replication_role',
]

const FACT_PAIRS = FACT_NAMES.map((name) => `'${name}', pg_catalog.current_setting('${name}')`).join(', ')

/** SQL that reads the settings to check. Every login may read them. */
const FACTS = `select pg_catalog.pg_backend_pid() as pid, pg_catalog.json_build_object(${FACT_PAIRS}) as facts,
  pg_catalog.current_setting('synchronous_standby_names') as standbys`

/** `standbys`: names of the synchronous standbys; empty if there are none. */
export type SessionState = { readonly pid: number; readonly facts: SessionFacts; readonly standbys: string }

/** Applies the settings and returns the session's state. Takes one round trip, in one implicit transaction. */
export async function setUpSession(client: pg.ClientBase, settings: Settings): Promise<SessionState> {
  const all = Object.entries({ ...SESSION_SETTINGS, ...settings }).map(setStatement)
  const text = [...all, CONDITIONAL_SETTINGS, FACTS].join('; ')
  const results = (await client.query(text)) as unknown as pg.QueryResult<SessionState>[]
  return results.at(-1)!.rows[0]!
}

/**
 * Returns a `set` statement. After `set`, every pooler reserves the session for its client. After `set_config`, some
 * poolers do not.
 */
export function setStatement([name, value]: readonly [string, string | number]): string {
  return `set ${name.split('.').map(pg.escapeIdentifier).join('.')} = ${pg.escapeLiteral(String(value))}`
}

export type Unmet = {
  readonly name: FactName
  readonly detail: string
  readonly advice: string
}

const VERSION_MIN = 150_000

/**
 * Returns the requirements that the session does not meet, but that a response 201 needs. `accepted` lists settings
 * that the operator declares unnecessary for the storage.
 */
export function findUnmet(facts: SessionFacts, accepted: readonly Acceptable[] = []): Unmet[] {
  return FACT_NAMES.filter((name) => !(accepted as readonly string[]).includes(name)).flatMap((name) => {
    const value = facts[name]
    const { isMet, costs, advice } = REQUIREMENTS[name]
    return isMet(value) ? [] : [{ name, detail: `${name} = ${value}: ${costs}`, advice }]
  })
}

type Requirement = {
  readonly isMet: (value: string) => boolean
  /**
   * True if this is a setting of the whole server and a reload changes it. A finding of one connection then applies to
   * all connections.
   */
  readonly changesByReload?: true
  readonly costs: string
  readonly advice: string
}

const isOn = (value: string) => value === 'on'
const isOff = (value: string) => value === 'off'

const REQUIREMENTS: Readonly<Record<FactName, Requirement>> = {
  server_version_num: {
    isMet: (value) => Number(value) >= VERSION_MIN,
    costs: 'Postgres 15 or newer is needed',
    advice: 'use a newer Postgres',
  },
  server_encoding: {
    isMet: (value) => value === 'UTF8',
    costs: 'some names and values cannot be stored, and a database cannot change its encoding',
    advice: "create another database with encoding 'UTF8' and template template0",
  },
  fsync: {
    isMet: isOn,
    changesByReload: true,
    costs: 'a power cut may lose acknowledged records, or the whole database',
    advice:
      'set fsync = on and restart Postgres; do not go on with a database that ran without it. If the storage flushes by itself, set ' +
      'TALLYSTICK_DATABASE_ACCEPT=fsync (docs/operate/postgres.md)',
  },
  full_page_writes: {
    isMet: isOn,
    changesByReload: true,
    costs: 'a page that was half written at a power cut stays damaged',
    advice:
      'set full_page_writes = on and reload Postgres; if the file system writes whole pages (ZFS), set ' +
      'TALLYSTICK_DATABASE_ACCEPT=full_page_writes (docs/operate/postgres.md)',
  },
  data_sync_retry: {
    isMet: isOff,
    costs: 'after a failed write to the disk Postgres continues as if the write had succeeded',
    advice: 'set data_sync_retry = off and restart Postgres',
  },
  zero_damaged_pages: {
    isMet: isOff,
    costs: 'Postgres silently empties a damaged page',
    advice: 'set zero_damaged_pages = off',
  },
  session_replication_role: {
    // The value `local` is safe, because it turns off none of our triggers.
    isMet: (value) => value !== 'replica',
    costs: 'triggers and foreign keys are off, and they protect the chain',
    advice:
      "remove the setting from the database, the login or the server's configuration: " +
      '`alter database … reset session_replication_role`, `alter role … reset session_replication_role`',
  },
}

/** Returns whether a reload changes the setting for open connections too. */
export function isOfWholeServer({ name }: Unmet): boolean {
  return REQUIREMENTS[name].changesByReload === true
}

export function refusalOf(unmet: readonly Omit<Unmet, 'name'>[]): Error {
  return new Error(unmet.map(({ detail, advice }) => `${detail}: ${advice}`).join('; '))
}

/**
 * Maximum number of guards that a message lists. After `pg_restore --disable-triggers` all guards are off, and the list
 * would be long.
 */
const GUARDS_SHOWN_MAX = 3

/** Describes missing guards and says what to do. `missing` contains sentences of the SQL function `missing_guards`. */
export function describeGuards(missing: readonly string[]): Omit<Unmet, 'name'> {
  const shown = missing.slice(0, GUARDS_SHOWN_MAX).join(', ')
  const more = missing.length > GUARDS_SHOWN_MAX ? `, and ${missing.length - GUARDS_SHOWN_MAX} more` : ''
  const advice = GUARD_ADVICE.flatMap(([kind, advise]) => {
    const found = missing.flatMap((guard) => kind.exec(guard)?.[1] ?? [])
    return found.length === 0 ? [] : [advise(found.slice(0, GUARDS_SHOWN_MAX))]
  })
  return { detail: shown + more, advice: `${advice.join('; ')} (docs/operate/postgres.md#guards)` }
}

/**
 * Advice for each kind of guard. Each pattern matches a sentence of `missing_guards`, and its group captures the
 * table. The advice is listed in the order in which to follow it.
 */
const GUARD_ADVICE: readonly (readonly [RegExp, (tables: readonly string[]) => string])[] = [
  [
    /^foreign keys of (\S+) are off$/,
    (tables) =>
      `let a superuser run ${inSql(tables, 'enable trigger all')}, then run \`npm run op -- migrate\``,
  ],
  [
    /^the trigger \S+ of (\S+) is missing$/,
    () =>
      'run the `create trigger` of each missing trigger (migrations/schema.sql) as the owner, then `npm run op -- migrate`',
  ],
  [
    /^the trigger \S+ of (\S+) is off$/,
    () =>
      'run `npm run op -- migrate`, which turns triggers on again, with your usual two URLs and data folder; in a ' +
      'cluster run helm upgrade',
  ],
  [/^the table (\S+) is unlogged$/, (tables) => `as the owner run ${inSql(tables, 'set logged')}`],
]

function inSql(tables: readonly string[], action: string): string {
  return tables.map((table) => `\`alter table tallystick.${table} ${action}\``).join(', ')
}

export const HANDED_ON =
  'it is behind a pooler that shares connections between sessions: set its pool mode to session, or ' +
  'connect to Postgres directly (docs/operate/postgres.md)'
