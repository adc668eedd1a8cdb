import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import type { Database } from '../connect/connection.ts'
import { isUnavailable } from '../connect/failures.ts'
import { type Pooler, refuseTransactionPooler } from '../connect/pooler.ts'
import { SCHEMA_WAIT_EVERY_MS } from '../limits.ts'
import { checkSchema } from './migrate.ts'
import { SchemaBehindError } from './schema-behind.ts'

type StartLog = {
  info(details: object, message: string): void
  warn(details: object, message: string): void
}

/**
 * Checks, as the process's own login and before anything else, that it can connect, that each of its connections is a session
 * of Postgres, and that the schema is this version's. Throws, saying what to do.
 *
 * Connections opened until then may have proven nothing: there was no schema, or Postgres knows the other of two master keys.
 * The caller MUST renew them after it has read the deployment's keys, which say which master key is in use.
 */
export async function checkDatabase(
  database: Database,
  pool: pg.Pool,
  log: StartLog,
  waitMs: number,
): Promise<Pooler> {
  if (database.isUnverified)
    log.warn({}, `the database ${database.where} does not prove who it is: docs/operate/postgres.md, sslmode`)
  const look = async () => {
    await database.prepare()
    const pooler = await refusePooler(pool, database)
    await checkSchema(pool)
    return pooler
  }
  return untilMigrated(look, log, waitMs)
}

/**
 * In a cluster everything starts at once: for `migrate`, which makes the schema and the logins too, and for a database that is
 * not there yet, `look` is repeated until it passes or `waitMs` are over.
 */
export async function untilMigrated<T>(look: () => Promise<T>, log: StartLog, waitMs: number): Promise<T> {
  const giveUpAt = performance.now() + waitMs
  for (let isSaid = false; ; isSaid = true) {
    try {
      return await look()
    } catch (error) {
      if (performance.now() >= giveUpAt || !isWorthWaiting(error as Error)) throw error
      if (!isSaid)
        log.info({ reason: (error as Error).message, waitMs }, 'waits for the database to be migrated')
      await sleep(SCHEMA_WAIT_EVERY_MS)
    }
  }
}

async function refusePooler(pool: pg.Pool, database: Database): Promise<Pooler> {
  const client = await pool.connect()
  try {
    return await refuseTransactionPooler(client, database)
  } finally {
    client.release()
  }
}

/** Waiting does not help if the schema is newer. */
function isWorthWaiting(error: Error): boolean {
  return error instanceof SchemaBehindError || isUnavailable(error)
}
