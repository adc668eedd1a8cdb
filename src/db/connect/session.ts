import pg from 'pg'

/*
 * A session of Postgres as this code needs it: the settings that it sets for itself, and what it can only ask for, because a 201 rests on
 * it. Servers, workers, `migrate`, the operators' commands and preflight all judge by `findUnmet`.
 */

type Settings = Readonly<Record<string, string | number>>

/**
 * Set in every session, whatever the server, the database, the login or the environment have for others. First what could end the other
 * statements. A setting of the session stays when Postgres reads its files anew.
 *
 * Limits of time are the pools' own, because they answer a request in time. Formats decide how values are written that this side reads: with
 * `bytea_output` escape an append is committed, and its answer can't be read. The warning of a commit that is not replicated must come.
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

/** Besides, for the owner: what is made must not depend on the database's habits. A server leaves a database read-only that is. */
export const OWNER_SETTINGS: Settings = {
  default_transaction_read_only: 'off',
  search_path: 'pg_catalog',
  check_function_bodies: 'on',
  default_table_access_method: 'heap',
}

/** Weaker than the promise of a 201: nothing, or no standby, is waited for. `remote_write` and `remote_apply` wait for both. */
export const WEAK_COMMITS: readonly string[] = ['off', 'local']

/** `transaction_timeout` came with Postgres 17. */
const CONDITIONAL_SETTINGS = `
  select pg_catalog.set_config('transaction_timeout', '0', false)
  where pg_catalog.current_setting('transaction_timeout', true) is not null;
  select pg_catalog.set_config('synchronous_commit',
    case when s in (${WEAK_COMMITS.map(pg.escapeLiteral).join(', ')}) then 'on' else s end, false)
  from pg_catalog.current_setting('synchronous_commit') s`

/** Facts of a session, by the names of Postgres. */
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

/** Every login may read these. */
const FACTS = `select pg_catalog.pg_backend_pid() as pid, pg_catalog.json_build_object(${FACT_PAIRS}) as facts`

/** Sets the session up, and returns its facts: one round trip, and one of Postgres' implicit transactions. */
export async function setUpSession(
  client: pg.ClientBase,
  settings: Settings,
): Promise<{ readonly pid: number; readonly facts: SessionFacts }> {
  const all = Object.entries({ ...SESSION_SETTINGS, ...settings }).map(setStatement)
  const text = [...all, CONDITIONAL_SETTINGS, FACTS].join('; ')
  const results = (await client.query(text)) as unknown as pg.QueryResult<{
    pid: number
    facts: SessionFacts
  }>[]
  return results.at(-1)!.rows[0]!
}

/** `set`, not `set_config` alone: every pooler knows that a session with a `set` is its client's own from then on. */
export function setStatement([name, value]: readonly [string, string | number]): string {
  return `set ${name.split('.').map(pg.escapeIdentifier).join('.')} = ${pg.escapeLiteral(String(value))}`
}

/** Settings that a storage may make good: ZFS writes pages whole, and some managed services flush their log by themselves. */
export const ACCEPTABLE = ['fsync', 'full_page_writes'] as const
export type Acceptable = (typeof ACCEPTABLE)[number]

export type Unmet = {
  readonly name: FactName
  /** The state, and what it costs. */
  readonly detail: string
  readonly advice: string
}

const VERSION_MIN = 150_000

/** Everything that a 201 rests on and a session does not have. `accepted`: what an operator says the storage makes good. */
export function findUnmet(facts: SessionFacts, accepted: readonly Acceptable[] = []): Unmet[] {
  return FACT_NAMES.filter((name) => !(accepted as readonly string[]).includes(name)).flatMap((name) => {
    const value = facts[name]
    const { isMet, costs, advice } = REQUIREMENTS[name]
    return isMet(value) ? [] : [{ name, detail: `${name} = ${value}: ${costs}`, advice }]
  })
}

type Requirement = {
  readonly isMet: (value: string) => boolean
  /** No database, login or session has a value of its own, and a reload changes it: what one connection finds, all have. */
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
    costs: 'not every name or value can be written, and the encoding of a database cannot be changed',
    advice: "make the database anew, with encoding 'UTF8' and template template0",
  },
  fsync: {
    isMet: isOn,
    changesByReload: true,
    costs: 'with the power goes what was acknowledged, or the whole database',
    advice:
      'set fsync = on and restart Postgres; a database that ran without it: make it anew. Where the storage flushes by itself: ' +
      'TALLYSTICK_DATABASE_ACCEPT=fsync (docs/databases.md)',
  },
  full_page_writes: {
    isMet: isOn,
    changesByReload: true,
    costs: 'a page that is half written when the power goes stays so',
    advice:
      'set full_page_writes = on and reload Postgres; where the file system writes pages whole (ZFS): ' +
      'TALLYSTICK_DATABASE_ACCEPT=full_page_writes (docs/databases.md)',
  },
  data_sync_retry: {
    isMet: isOff,
    costs: 'after a disk that failed to write, Postgres goes on as if it had',
    advice: 'set data_sync_retry = off and restart Postgres',
  },
  zero_damaged_pages: {
    isMet: isOff,
    costs: 'a damaged page is emptied without a word',
    advice: 'set zero_damaged_pages = off',
  },
  session_replication_role: {
    // `local` turns off none of ours.
    isMet: (value) => value !== 'replica',
    costs: 'triggers and foreign keys are off, and the chain rests on them',
    advice:
      "take it away from the database, the login or the server's configuration: " +
      '`alter database … reset session_replication_role`, `alter role … reset session_replication_role`',
  },
}

/** Whether the connections that are open have it too, though it was otherwise when they were made. */
export function isOfWholeServer({ name }: Unmet): boolean {
  return REQUIREMENTS[name].changesByReload === true
}

/** For a connection that is refused. */
export function refusalOf(unmet: readonly Omit<Unmet, 'name'>[]): Error {
  return new Error(unmet.map(({ detail, advice }) => `${detail}: ${advice}`).join('; '))
}

/** They are many where all are off, as after `pg_restore --disable-triggers`. */
const GUARDS_SHOWN_MAX = 3

/** `missing`: as the SQL function `missing_guards` names them. */
export function describeGuards(missing: readonly string[]): Omit<Unmet, 'name'> {
  const shown = missing.slice(0, GUARDS_SHOWN_MAX).join(', ')
  const more = missing.length > GUARDS_SHOWN_MAX ? `, and ${missing.length - GUARDS_SHOWN_MAX} more` : ''
  const advice = GUARD_ADVICE.flatMap(([kind, advise]) => {
    const found = missing.flatMap((guard) => kind.exec(guard)?.[1] ?? [])
    return found.length === 0 ? [] : [advise(found.slice(0, GUARDS_SHOWN_MAX))]
  })
  return { detail: shown + more, advice: `${advice.join('; ')} (docs/databases.md#guards)` }
}

/** Advice for each kind of guard, by its sentence of `missing_guards`; the group is the table. In the order in which it is followed. */
const GUARD_ADVICE: readonly (readonly [RegExp, (tables: readonly string[]) => string])[] = [
  [
    /^foreign keys of (\S+) are off$/,
    (tables) => `let a superuser say ${inSql(tables, 'enable trigger all')}, then run \`npm run migrate\``,
  ],
  [
    /^the trigger \S+ of (\S+) is missing$/,
    () =>
      'the `create trigger` of each that is missing is in migrations/schema.sql: run that as the owner, then `npm run migrate`',
  ],
  [
    /^the trigger \S+ of (\S+) is off$/,
    () =>
      '`npm run migrate` turns triggers on again that are off: with the two URLs and the data folder that you always migrate with; in a ' +
      'cluster by helm upgrade',
  ],
  [/^the table (\S+) is unlogged$/, (tables) => `as the owner: ${inSql(tables, 'set logged')}`],
]

function inSql(tables: readonly string[], action: string): string {
  return tables.map((table) => `\`alter table tallystick.${table} ${action}\``).join(', ')
}

export const HANDED_ON =
  'it is reached through a pooler that hands connections on after each transaction or statement: have it pool by the session, or ' +
  'name Postgres itself (docs/databases.md)'
