import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import type pg from 'pg'
import type { MasterKey } from '../../signing/master-key.ts'
import { type Db, withOwner } from '../connect/client.ts'
import type { DatabaseOrUrl } from '../connect/connection.ts'
import { isUnanswered } from '../connect/failures.ts'
import {
  DEFAULT_LOGINS,
  ensureLogins,
  grantRdsIam,
  type LoginNames,
  type LoginPasswords,
  revokeTemporary,
} from '../connect/logins.ts'
import { addMacKeys, removeOtherMacKeys } from '../connect/mac-keys.ts'
import { refuseTransactionPooler } from '../connect/pooler.ts'
import { withTransaction } from '../connect/transaction.ts'
import { installJobQueues } from '../jobs/job-queues.ts'
import { MIGRATION_LOCK_MS_MAX } from '../limits.ts'
import { applyFunctions, FUNCTIONS_VERSION } from './functions.ts'
import { applyGrants, refuseForeignSchemas } from './grants.ts'
import { turnOnGuards } from './guards.ts'
import { SchemaBehindError } from './schema-behind.ts'
import { ensureServerKeys } from './server-keys.ts'

type Migration = {
  readonly version: number
  readonly name: string
  readonly sql: string
  readonly sha256: string
  /**
   * Version of the oldest migration whose code still works with this schema. null if only code that knows this
   * migration works with it.
   */
  readonly servesFrom: number | null
}

const MIGRATIONS_DIR = new URL('../../../migrations/', import.meta.url)

/** Arbitrary number, the same for all processes that migrate this database. */
const MIGRATION_LOCK = 7_411_957

/**
 * Upgrades the database to this version of the code, as the database's owner. Creates the logins, then the schema, then
 * the deployment's first keys, then the job queues. Returns the names of the applied migrations, and `functions` if a
 * function changed.
 *
 * All changes except the job queues are made in one transaction under a lock, so several processes may call this
 * function at once. After a failure the database is unchanged, but queues may be incomplete. The next call completes
 * them. Privileges are granted again at each call. `notify` is called with a line of text for each change that the
 * operator must know about.
 */
export async function migrate(options: {
  ownerUrl: DatabaseOrUrl
  masterKey: MasterKey
  logins?: LoginNames
  passwords: LoginPasswords
  byRdsIam?: boolean
  notify?: (line: string) => void
}): Promise<string[]> {
  const { logins = DEFAULT_LOGINS, notify = () => {} } = options
  return withOwner(options.ownerUrl, async (client) => {
    await refuseTransactionPooler(client, options.ownerUrl)
    const { applied, former, guardsTurnedOn } = await withTransaction(client, async () => {
      await lockMigrations(client)
      await refuseForeignSchemas(client)
      await ensureLogins(client, options.ownerUrl, logins, options.passwords)
      await revokeTemporary(client)
      if (options.byRdsIam) await grantRdsIam(client, logins)
      const done = await applyPending(client, logins)
      const guardsTurnedOn = await turnOnGuards(client)
      await ensureServerKeys(client, options.masterKey)
      const macKeys = options.masterKey.databaseKeys()
      await addMacKeys(client, macKeys)
      await removeOtherMacKeys(client, macKeys)
      return { ...done, guardsTurnedOn }
    })
    if (former.length > 0)
      notify(
        `revoked the privileges of ${former.join(' and ')}: processes that use these logins are refused from now on`,
      )
    if (guardsTurnedOn > 0)
      notify(
        `triggers that were off are on again (${guardsTurnedOn}): audit each ledger, because writes meanwhile were not checked ` +
          '(docs/operate/postgres.md#guards)',
      )
    await installJobQueues(client, logins.worker)
    return applied
  })
}

/**
 * Takes a lock until the end of the transaction, for migrations and for other work that no other process may do at the
 * same time.
 */
export async function lockMigrations(client: pg.ClientBase): Promise<void> {
  await client.query('select pg_advisory_xact_lock($1)', [MIGRATION_LOCK])
}

export function listMigrations(): Migration[] {
  return readdirSync(MIGRATIONS_DIR)
    .filter((name) => /^\d{4}-.+\.sql$/.test(name))
    .sort()
    .map((name) => {
      const sql = readFileSync(new URL(name, MIGRATIONS_DIR), 'utf8')
      return {
        version: Number(name.slice(0, 4)),
        name,
        sql,
        sha256: createHash('sha256').update(sql).digest('hex'),
        servesFrom: parseServes(sql),
      }
    })
}

/** Parses `-- serves: 0007` in a migration's first line (docs/operate/operations.md#upgrading). */
function parseServes(sql: string): number | null {
  const found = /^-- serves: (\d{4})\n/.exec(sql)
  return found && Number(found[1])
}

/**
 * Checks that this code works with the schema: it has the version of this code, or a newer version that this code also
 * works with. Throws otherwise. The error message says what to do.
 *
 * A newer schema is normal during a rollout: processes of the previous version keep running, and may have to start
 * again.
 */
export async function checkSchema(db: Db): Promise<void> {
  const exists = await db.query("select to_regclass('tallystick.schema_migrations') is not null as migrated")
  if (!exists.rows[0].migrated) throw new SchemaBehindError('the database is not migrated')
  const known = listMigrations()
  const applied = await readApplied(db)
  await refuseUnknown(db, applied, known)
  const missing = known.filter((migration) => !applied.has(migration.version))
  if (missing.length > 0) {
    throw new SchemaBehindError(`the database lacks ${missing.map((m) => m.name).join(', ')}`)
  }
}

/**
 * Reads one row of a migrated database. Returns null on success. Returns the error if the read fails or takes longer
 * than `timeoutMs`. Never throws.
 *
 * After a timeout the pool's other connections stay open, because renewing all of them would add load to a slow
 * database.
 */
export async function probeRead(pool: pg.Pool, timeoutMs: number): Promise<Error | null> {
  const query = { text: 'select from tallystick.schema_migrations limit 1', query_timeout: timeoutMs }
  let client: pg.PoolClient
  try {
    client = await pool.connect()
  } catch (error) {
    return error as Error
  }
  try {
    await client.query(query)
    client.release()
    return null
  } catch (error) {
    client.release(isUnanswered(error as Error) || (error as Error))
    return error as Error
  }
}

/**
 * Applies the functions and migrations that are not applied yet. Returns, as `former`, the logins that have lost their
 * privileges.
 */
async function applyPending(
  client: pg.ClientBase,
  logins: LoginNames,
): Promise<{ readonly applied: string[]; readonly former: readonly string[] }> {
  await client.query('create schema if not exists tallystick')
  await client.query(`create table if not exists tallystick.schema_migrations (
    version int4 primary key, name text not null, sha256 text not null, applied_at timestamptz not null default now())`)
  const known = listMigrations()
  const applied = await readApplied(client)
  await refuseUnknown(client, applied, known)
  // A newer version of the code has its own functions and grants, so this code must not replace them.
  const isOurs = !isNewer(applied, known)
  const functions = isOurs && (await applyFunctions(client)) ? ['functions'] : []
  const pending = known.filter((migration) => !applied.has(migration.version))
  await client.query(`set local lock_timeout = ${MIGRATION_LOCK_MS_MAX}`)
  for (const migration of pending) {
    await client.query(migration.sql).catch((error) => throwExplained(error, migration))
    await client.query(
      'insert into tallystick.schema_migrations (version, name, sha256) values ($1, $2, $3)',
      [migration.version, migration.name, migration.sha256],
    )
    if (migration.servesFrom === null) continue
    await client.query('insert into tallystick.schema_serves (version, serves_from) values ($1, $2)', [
      migration.version,
      migration.servesFrom,
    ])
  }
  const former = isOurs ? await applyGrants(client, logins) : []
  return { applied: [...functions, ...pending.map((migration) => migration.name)], former }
}

/**
 * Throws the error. A lock timeout gets an explanation. The migration must not wait longer for a lock: while it waits,
 * everything else that uses the table waits too, also appends. The lock may stay taken for long, because an audit of a
 * large ledger reads for an hour.
 */
function throwExplained(error: Error & { code?: string }, { name }: Migration): never {
  if (error.code !== '55P03') throw error
  throw new Error(
    `${name} changes a table that has been read for longer than ${MIGRATION_LOCK_MS_MAX} ms (an audit, a dump?): ` +
      'nothing was changed. Run `npm run op -- migrate` again; if that does not help, see pg_stat_activity',
    { cause: error },
  )
}

async function readApplied(db: Db): Promise<Map<number, string>> {
  const { rows } = await db.query<{ version: number; sha256: string }>(
    'select version, sha256 from tallystick.schema_migrations where version <> $1',
    [FUNCTIONS_VERSION],
  )
  return new Map(rows.map((row) => [row.version, row.sha256]))
}

function isNewer(applied: Map<number, string>, known: Migration[]): boolean {
  return [...applied.keys()].some((version) => version > known.at(-1)!.version)
}

async function readServes(db: Db): Promise<Map<number, number>> {
  const { rows } = await db.query<{ version: number; servesFrom: number }>(
    'select version, serves_from from tallystick.schema_serves',
  )
  return new Map(rows.map((row) => [row.version, row.servesFrom]))
}

/**
 * Throws if the schema is newer and does not work with this code, or if a migration was edited after it was applied. In
 * both cases this is the wrong version of the code.
 */
async function refuseUnknown(db: Db, applied: Map<number, string>, known: Migration[]): Promise<void> {
  const newest = known.at(-1)!.version
  const serves = isNewer(applied, known) ? await readServes(db) : new Map<number, number>()
  for (const [version, sha256] of applied) {
    const migration = known.find((candidate) => candidate.version === version)
    if (!migration && newest >= (serves.get(version) ?? version)) continue
    if (!migration) {
      throw new Error(
        `the database's schema (migration ${version}) is newer than this version of Tallystick supports: ` +
          'run the version that migrated it, or the version before that (docs/operate/operations.md#upgrading)',
      )
    }
    if (migration.sha256 !== sha256) {
      throw new Error(
        `migrations/${migration.name} differs from the file that the database was migrated with: a database of a development version ` +
          'cannot be upgraded (docs/operate/operations.md#upgrading)',
      )
    }
  }
}
