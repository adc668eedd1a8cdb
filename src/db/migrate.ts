import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import type pg from 'pg'
import type { MasterKey } from '../signing/master-key.ts'
import { type Db, withClient } from './client.ts'
import { installJobQueues } from './job-queues.ts'
import { ensureLogins, type LoginPasswords } from './logins.ts'
import { ensureServerKeys } from './server-keys.ts'
import { withTransaction } from './transaction.ts'

type Migration = {
  readonly version: number
  readonly name: string
  readonly sql: string
  readonly sha256: string
}

const MIGRATIONS_DIR = new URL('../../migrations/', import.meta.url)

/** Any number; the same for every process that migrates this database. */
const MIGRATION_LOCK = 7_411_957

/**
 * Brings the database to this version of the code, as its owner: logins, schema, the deployment's first keys; then the job
 * queues. One transaction under a lock, so several processes may call it at once and a failure leaves nothing behind
 * (of the queues it may: the next call finishes them). Returns the names of the migrations that it applied.
 */
export async function migrate(options: {
  ownerUrl: string
  masterKey: MasterKey
  passwords: LoginPasswords
}): Promise<string[]> {
  return withClient(options.ownerUrl, async (client) => {
    const applied = await withTransaction(client, async () => {
      await lockMigrations(client)
      await ensureLogins(client, options.passwords)
      const applied = await applyPending(client)
      await ensureServerKeys(client, options.masterKey)
      return applied
    })
    await installJobQueues(client, options.ownerUrl)
    return applied
  })
}

/** Until the end of the transaction: migrations, and whatever else the owner does one at a time. */
export async function lockMigrations(client: pg.ClientBase): Promise<void> {
  await client.query('select pg_advisory_xact_lock($1)', [MIGRATION_LOCK])
}

/** Every migration of this version of the code, in order. */
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
      }
    })
}

/** Throws, saying what to do, unless the database's schema is exactly the one that this code was written for. */
export async function checkSchema(db: Db): Promise<void> {
  const exists = await db.query("select to_regclass('tallystick.schema_migrations') is not null as migrated")
  if (!exists.rows[0].migrated) throw new Error('the database is not migrated: run `npm run migrate` first')
  const known = listMigrations()
  const applied = await readApplied(db)
  refuseUnknown(applied, known)
  const missing = known.filter((migration) => !applied.has(migration.version))
  if (missing.length > 0) {
    throw new Error(
      `the database lacks ${missing.map((m) => m.name).join(', ')}: run \`npm run migrate\` first`,
    )
  }
}

/** Whether a migrated database answers in time. */
export async function canRead(pool: pg.Pool, timeoutMs: number): Promise<boolean> {
  const query = { text: 'select from tallystick.schema_migrations limit 1', query_timeout: timeoutMs }
  return await pool.query(query).then(
    () => true,
    () => false,
  )
}

async function applyPending(client: pg.ClientBase): Promise<string[]> {
  await client.query('create schema if not exists tallystick')
  await client.query(`create table if not exists tallystick.schema_migrations (
    version int4 primary key, name text not null, sha256 text not null, applied_at timestamptz not null default now())`)
  const known = listMigrations()
  const applied = await readApplied(client)
  refuseUnknown(applied, known)
  const pending = known.filter((migration) => !applied.has(migration.version))
  for (const migration of pending) {
    await client.query(migration.sql)
    await client.query(
      'insert into tallystick.schema_migrations (version, name, sha256) values ($1, $2, $3)',
      [migration.version, migration.name, migration.sha256],
    )
  }
  return pending.map((migration) => migration.name)
}

async function readApplied(db: Db): Promise<Map<number, string>> {
  const { rows } = await db.query<{ version: number; sha256: string }>(
    'select version, sha256 from tallystick.schema_migrations',
  )
  return new Map(rows.map((row) => [row.version, row.sha256]))
}

/** A newer schema, or a migration that was edited after it landed: both mean that this code is the wrong one. */
function refuseUnknown(applied: Map<number, string>, known: Migration[]): void {
  for (const [version, sha256] of applied) {
    const migration = known.find((candidate) => candidate.version === version)
    if (!migration) {
      throw new Error(`the database's schema (migration ${version}) is newer than this version of Tallystick`)
    }
    if (migration.sha256 !== sha256) {
      throw new Error(`migrations/${migration.name} is not the file that the database was migrated with`)
    }
  }
}
