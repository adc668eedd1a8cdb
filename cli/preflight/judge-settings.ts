import type { Acceptable } from '../../src/db/connect/acceptable.ts'
import {
  describeGuards,
  findUnmet,
  type SessionFacts,
  type Unmet,
  WEAK_COMMITS,
} from '../../src/db/connect/session.ts'
import type { LoginSetting, ServerFacts } from '../../src/db/schema/preflight.ts'
import { type Finding, fail, ok, warn } from './finding.ts'
import { bytesText, listText } from './text.ts'

/** Settings that the report always shows. */
export const SETTINGS = [
  'autovacuum',
  'data_checksums',
  'data_directory',
  'data_sync_retry',
  'default_transaction_read_only',
  'fsync',
  'full_page_writes',
  'max_connections',
  'max_wal_size',
  'server_encoding',
  'session_replication_role',
  'shared_buffers',
  'synchronous_commit',
  'synchronous_standby_names',
  'track_io_timing',
  'wal_compression',
  'wal_level',
  'wal_sync_method',
  'zero_damaged_pages',
] as const

/**
 * Settings that servers and workers do not set in their sessions. `alter role` or `alter database` can therefore weaken
 * these settings for servers and workers, although preflight's own session has safe values.
 */
export const LOGIN_SETTINGS = [
  'default_transaction_read_only',
  'session_replication_role',
  'zero_damaged_pages',
]

const GIB = 1024 ** 3
/**
 * Minimum of max_wal_size, which is Postgres' default. At one record per millisecond, 1 GiB of log is filled every few
 * minutes.
 */
const MAX_WAL_BYTES_MIN = GIB
const SHARED_BUFFERS_BYTES_MIN = GIB / 8

/** Judges the settings. `missing`: guards that the schema lacks, or null if there is no schema or it cannot be read. */
export function judgeSettings(
  facts: ServerFacts,
  logins: readonly LoginSetting[],
  missing: readonly string[] | null,
  accepted: readonly Acceptable[],
): Finding[] {
  const session = { ...facts.settings, server_version_num: String(facts.versionNumber) } as SessionFacts
  const unmet = findUnmet(session, accepted)
  return [
    judgeVersion(facts, unmet),
    judgeWriter(facts),
    ...judgeDurability(facts, unmet),
    ...tellAccepted(session, accepted),
    ...judgeGuards(missing),
    ...judgeLogins(logins),
    ...judgeTuning(facts, unmet),
  ]
}

function judgeVersion({ version, database, login }: ServerFacts, unmet: readonly Unmet[]): Finding {
  const detail = `Postgres ${version}; database ${database}, login ${login}`
  const old = unmet.find(({ name }) => name === 'server_version_num')
  return old ? fail('version', detail, 'Postgres 15 or newer is needed') : ok('version', detail)
}

function judgeWriter({ inRecovery, settings }: ServerFacts): Finding {
  if (inRecovery)
    return fail('writer', 'this is a standby: it accepts no writes', 'use the address of the primary')
  if (settings['default_transaction_read_only'] === 'on')
    return fail(
      'writer',
      'default_transaction_read_only = on: every write is refused',
      'is this the address of a read replica? If not, turn the setting off for this database and login',
    )
  return ok('writer', 'it accepts writes')
}

/** Settings of the session that corrupt rows if they are wrong. All other settings only endanger durability. */
const OF_ROWS = ['server_encoding', 'session_replication_role']

/** Judges durability. If a record is acknowledged before it is on disk, a power cut loses the record. */
function judgeDurability({ settings }: ServerFacts, unmet: readonly Unmet[]): Finding[] {
  const standbys = settings['synchronous_standby_names'] ?? ''
  const commits = settings['synchronous_commit'] ?? 'unknown'
  const findings = unmet
    .filter(({ name }) => name !== 'server_version_num' && !OF_ROWS.includes(name))
    .map(({ detail, advice }) => fail('durability', detail, advice))
  if (WEAK_COMMITS.includes(commits))
    findings.push(
      warn(
        'durability',
        `synchronous_commit = ${commits}: servers and workers set it to on, but only for their own sessions`,
        'set it to on if other programs that write to this Postgres need it',
      ),
    )
  if (findings.length > 0) return findings
  const sync = settings['wal_sync_method'] ?? 'unknown'
  const waits = standbys === '' ? '' : `; commits wait for standbys too (${standbys})`
  return [
    ok(
      'durability',
      `fsync ${settings['fsync']}, synchronous_commit ${commits}, wal_sync_method ${sync}${waits}`,
    ),
  ]
}

/** Reports each setting that the operator has accepted and that would otherwise be refused. */
function tellAccepted(session: SessionFacts, accepted: readonly Acceptable[]): Finding[] {
  return findUnmet(session)
    .filter(({ name }) => (accepted as readonly string[]).includes(name))
    .map(({ name }) => ok('durability', `${name} ${session[name]} (accepted)`))
}

function judgeGuards(missing: readonly string[] | null): Finding[] {
  if (missing === null || missing.length === 0) return []
  const { detail, advice } = describeGuards(missing)
  return [fail('guards', detail, advice)]
}

function judgeLogins(settings: readonly LoginSetting[]): Finding[] {
  return settings
    .filter(({ name, value }) => WEAK[name]?.includes(value.toLowerCase()) === true)
    .map(({ login, name, value }) =>
      fail(
        'logins',
        `${login ?? 'every login of this database'} has ${name} = ${value}`,
        `alter ${login === null ? 'database …' : `role ${login}`} reset ${name}`,
      ),
    )
}

const YES = ['on', 'true', 'yes', '1']

const WEAK: Readonly<Record<string, readonly string[]>> = {
  default_transaction_read_only: YES,
  session_replication_role: ['replica'],
  zero_damaged_pages: YES,
}

function judgeTuning(facts: ServerFacts, unmet: readonly Unmet[]): Finding[] {
  const { settings, maxWalBytes, sharedBuffersBytes } = facts
  const findings = unmet
    .filter(({ name }) => OF_ROWS.includes(name))
    .map(({ detail, advice }) => fail('settings', detail, advice))
  const advise = (detail: string, advice: string) => findings.push(warn('settings', detail, advice))
  if (settings['autovacuum'] === 'off')
    advise('autovacuum = off: tables grow, and Postgres stops in the end', 'turn it on')
  if (settings['data_checksums'] === 'off')
    advise(
      'data_checksums = off: errors of the disk are only found by the next audit',
      'pg_checksums --enable, while Postgres is stopped; a new cluster: initdb --data-checksums',
    )
  if (maxWalBytes < MAX_WAL_BYTES_MIN)
    advise(
      `max_wal_size = ${settings['max_wal_size']}: checkpoints are frequent, and after each one every changed page is written whole`,
      'set it to 4GB or more, and checkpoint_timeout to 15min',
    )
  if (sharedBuffersBytes < SHARED_BUFFERS_BYTES_MIN)
    advise(
      `shared_buffers = ${settings['shared_buffers']}: many records need reads of indexes from disk`,
      'set it to a quarter of the memory',
    )
  const sizes = [`shared_buffers ${bytesText(sharedBuffersBytes)}`, `max_wal_size ${bytesText(maxWalBytes)}`]
  return findings.length > 0 ? findings : [ok('settings', `${listText(sizes)}, checksums on`)]
}
