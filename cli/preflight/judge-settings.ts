import type { LoginSetting, ServerFacts } from '../../src/db/schema/preflight.ts'
import { type Finding, fail, ok, warn } from './finding.ts'
import { bytesText, listText } from './text.ts'

/** Settings that are shown in any case, and judged below. */
export const SETTINGS = [
  'autovacuum',
  'data_checksums',
  'data_directory',
  'default_transaction_isolation',
  'default_transaction_read_only',
  'fsync',
  'full_page_writes',
  'max_connections',
  'max_wal_size',
  'server_encoding',
  'shared_buffers',
  'synchronous_commit',
  'synchronous_standby_names',
  'track_io_timing',
  'wal_compression',
  'wal_level',
  'wal_sync_method',
] as const

/** Settings that `alter role` and `alter database` could weaken for servers and workers alone. */
export const LOGIN_SETTINGS = [
  'synchronous_commit',
  'default_transaction_read_only',
  'default_transaction_isolation',
]

const VERSION_MIN = 150_000
const GIB = 1024 ** 3
/** Postgres' own default; a record a millisecond fills it every few minutes. */
const MAX_WAL_BYTES_MIN = GIB
const SHARED_BUFFERS_BYTES_MIN = GIB / 8

export function judgeSettings(facts: ServerFacts, logins: readonly LoginSetting[]): Finding[] {
  return [
    judgeVersion(facts),
    judgeWriter(facts),
    ...judgeDurability(facts),
    ...judgeLogins(logins),
    ...judgeTuning(facts),
  ]
}

function judgeVersion({ version, versionNumber, database, login }: ServerFacts): Finding {
  const detail = `Postgres ${version}; database ${database}, login ${login}`
  if (versionNumber >= VERSION_MIN) return ok('version', detail)
  return fail('version', detail, 'Postgres 15 or newer is needed')
}

function judgeWriter({ inRecovery, settings }: ServerFacts): Finding {
  if (inRecovery)
    return fail('writer', 'this is a standby: it takes no writes', 'name the primary in the address')
  if (settings['default_transaction_read_only'] === 'on')
    return fail(
      'writer',
      'default_transaction_read_only = on: every write is refused',
      'is the address a read replica’s? Otherwise turn it off for this database and login',
    )
  return ok('writer', 'it takes writes')
}

/** Judges durability: a record that is acknowledged before it is on disk is lost with the power. */
function judgeDurability({ settings }: ServerFacts): Finding[] {
  const standbys = settings['synchronous_standby_names'] ?? ''
  const commits = settings['synchronous_commit']
  const findings: Finding[] = []
  if (settings['fsync'] === 'off')
    findings.push(
      fail(
        'durability',
        'fsync = off: with the power goes what was acknowledged, or the whole database',
        'set fsync = on and restart Postgres; for a database that ran without it, make it anew',
      ),
    )
  if (commits === 'off')
    findings.push(
      fail(
        'durability',
        'synchronous_commit = off: a crash of Postgres loses what was acknowledged in the last moments',
        'set synchronous_commit = on, for the server and wherever alter role or alter database say otherwise',
      ),
    )
  if (settings['full_page_writes'] === 'off')
    findings.push(
      warn(
        'durability',
        'full_page_writes = off: a page that is half written when the power goes stays so',
        'set it on, unless the file system writes pages whole or not at all (ZFS)',
      ),
    )
  if (commits === 'local' && standbys !== '')
    findings.push(
      warn(
        'durability',
        'synchronous_commit = local: commits do not wait for the standbys that synchronous_standby_names lists',
        'what only the primary has is lost in a failover: set synchronous_commit = on',
      ),
    )
  if (findings.length > 0) return findings
  const sync = settings['wal_sync_method'] ?? 'unknown'
  const waits = standbys === '' ? '' : `; commits wait for standbys too (${standbys})`
  return [ok('durability', `fsync on, synchronous_commit ${commits}, wal_sync_method ${sync}${waits}`)]
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

const WEAK: Readonly<Record<string, readonly string[]>> = {
  synchronous_commit: ['off', 'false', 'no', '0'],
  default_transaction_read_only: ['on', 'true', 'yes', '1'],
  default_transaction_isolation: ['repeatable read', 'serializable'],
}

function judgeTuning(facts: ServerFacts): Finding[] {
  const { settings, maxWalBytes, sharedBuffersBytes } = facts
  const findings: Finding[] = []
  const advise = (detail: string, advice: string) => findings.push(warn('settings', detail, advice))
  if (settings['default_transaction_isolation'] !== 'read committed')
    findings.push(
      fail(
        'settings',
        `default_transaction_isolation = ${settings['default_transaction_isolation']}: writers to one ledger would fail each other`,
        'leave it at read committed',
      ),
    )
  if (settings['server_encoding'] !== 'UTF8')
    findings.push(
      fail(
        'settings',
        `the database's encoding is ${settings['server_encoding']}: names beyond it cannot be written`,
        "make the database anew, with encoding 'UTF8' and template template0",
      ),
    )
  if (settings['autovacuum'] === 'off')
    advise('autovacuum = off: tables bloat, and some day Postgres stops', 'turn it on')
  if (settings['data_checksums'] === 'off')
    advise(
      'data_checksums = off: what a disk garbles is found by the next audit only',
      'pg_checksums --enable, while Postgres is stopped; a new cluster: initdb --data-checksums',
    )
  if (maxWalBytes < MAX_WAL_BYTES_MIN)
    advise(
      `max_wal_size = ${settings['max_wal_size']}: checkpoints come often, and after each every page is written whole`,
      'set it to 4GB or more, and checkpoint_timeout to 15min',
    )
  if (sharedBuffersBytes < SHARED_BUFFERS_BYTES_MIN)
    advise(
      `shared_buffers = ${settings['shared_buffers']}: indexes are read from disk for each record`,
      'set it to a quarter of the memory',
    )
  const sizes = [`shared_buffers ${bytesText(sharedBuffersBytes)}`, `max_wal_size ${bytesText(maxWalBytes)}`]
  return findings.length > 0 ? findings : [ok('settings', `${listText(sizes)}, checksums on`)]
}
