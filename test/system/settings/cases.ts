/** A setting that a user may have, and how it reaches sessions. */
export type Case = {
  readonly name: string
  /**
   * How the setting is made:
   *
   * - `database` or `role`: by SQL's `set`, for the database or for the role of the servers.
   * - `file`: in the configuration file of the whole server.
   * - `environment`: in the environment of our process.
   * - `encoding`: as the encoding of the database.
   */
  readonly by: 'database' | 'role' | 'file' | 'environment' | 'encoding'
  readonly settings: Readonly<Record<string, string>>
  /** Matches the text of the expected refusal; null if the setting must work. */
  readonly refused: RegExp | null
  /** Major version of Postgres that introduced the setting. */
  readonly since?: number
  readonly isQuick?: boolean
}

const works = (by: Case['by'], name: string, value: string, more: Partial<Case> = {}): Case => ({
  name: `${name} = ${value}`,
  by,
  settings: { [name]: value },
  refused: null,
  ...more,
})
const refused = (by: Case['by'], name: string, value: string, more: Partial<Case> = {}): Case =>
  works(by, name, value, { refused: new RegExp(`${name} = ${value}: `), ...more })

export const CASES: readonly Case[] = [
  // Settings of durability, on which the chain depends.
  works('database', 'synchronous_commit', 'off', { isQuick: true }),
  works('database', 'synchronous_commit', 'local'),
  works('database', 'synchronous_commit', 'remote_write'),
  works('role', 'synchronous_commit', 'off'),
  works('file', 'synchronous_commit', 'off'),
  works('environment', 'PGOPTIONS', '-c synchronous_commit=off', { isQuick: true }),
  refused('file', 'fsync', 'off', { isQuick: true }),
  refused('file', 'full_page_writes', 'off'),
  refused('file', 'data_sync_retry', 'on'),
  refused('database', 'zero_damaged_pages', 'on'),
  refused('database', 'session_replication_role', 'replica', { isQuick: true }),
  refused('role', 'session_replication_role', 'replica'),
  refused('file', 'session_replication_role', 'replica'),
  works('database', 'session_replication_role', 'local'),
  refused('encoding', 'server_encoding', 'LATIN1', { isQuick: true }),
  refused('encoding', 'server_encoding', 'WIN1252'),
  refused('encoding', 'server_encoding', 'SQL_ASCII'),
  works('database', 'default_transaction_read_only', 'on', { refused: /read-only|503/, isQuick: true }),
  works('role', 'default_transaction_read_only', 'on', { refused: /read-only|503/ }),
  works('database', 'statement_timeout', '2ms', { isQuick: true }),
  works('database', 'lock_timeout', '1ms'),
  works('database', 'idle_in_transaction_session_timeout', '2ms'),
  works('database', 'idle_session_timeout', '2s'),
  works('database', 'transaction_timeout', '2ms', { since: 17, isQuick: true }),
  // Settings of text and values.
  works('database', 'standard_conforming_strings', 'off', { isQuick: true }),
  works('database', 'bytea_output', 'escape'),
  works('database', 'datestyle', 'SQL, DMY'),
  works('database', 'intervalstyle', 'sql_standard'),
  works('database', 'timezone', 'Asia/Kathmandu'),
  works('database', 'extra_float_digits', '-15'),
  works('database', 'client_encoding', 'LATIN1'),
  works('database', 'client_min_messages', 'error'),
  works('database', 'array_nulls', 'off'),
  works('database', 'transform_null_equals', 'on'),
  works('database', 'quote_all_identifiers', 'on'),
  works('database', 'escape_string_warning', 'off'),
  // Settings of transactions, names, functions and plans.
  works('database', 'default_transaction_isolation', 'serializable', { isQuick: true }),
  works('database', 'default_transaction_isolation', 'repeatable read'),
  works('database', 'default_transaction_deferrable', 'on'),
  works('database', 'search_path', 'nowhere'),
  works('database', 'row_security', 'off'),
  works('database', 'check_function_bodies', 'off'),
  works('database', 'plpgsql.extra_errors', 'all'),
  works('database', 'plpgsql.variable_conflict', 'use_column'),
  works('database', 'plan_cache_mode', 'force_custom_plan'),
  works('database', 'enable_indexscan', 'off'),
  works('database', 'jit_above_cost', '0'),
  works('database', 'work_mem', '64kB'),
  works('database', 'event_triggers', 'off', { since: 17 }),
  // Settings of the server.
  works('file', 'wal_level', 'minimal', { settings: { wal_level: 'minimal', max_wal_senders: '0' } }),
  works('file', 'wal_compression', 'on'),
  works('file', 'commit_delay', '1000', { settings: { commit_delay: '1000', commit_siblings: '1' } }),
  works('file', 'password_encryption', 'md5'),
  works('file', 'scram_iterations', '1', { since: 16 }),
  works('file', 'createrole_self_grant', 'set, inherit', { since: 16 }),
  works('file', 'file_copy_method', 'clone', { since: 18 }),
  works('file', 'io_method', 'sync', { since: 18 }),
  // Variables that libpq and pg read by themselves.
  works('environment', 'PGSSLNEGOTIATION', 'direct', { isQuick: true }),
  works('environment', 'PGSSLMODE', 'verify-full'),
  works('environment', 'PGCLIENTENCODING', 'LATIN1'),
  works('environment', 'PGDATABASE', 'elsewhere'),
  works('environment', 'PGHOST', '192.0.2.1'),
  works('environment', 'PGPASSWORD', 'wrong'),
  works('environment', 'PGPASSFILE', '/nowhere'),
  works('environment', 'PGAPPNAME', 'somebody'),
  works('environment', 'PGREPLICATION', 'database'),
  works('environment', 'PGTARGETSESSIONATTRS', 'read-only'),
]
