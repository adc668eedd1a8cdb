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
 * Checks that the process can connect, that each connection is a Postgres session of its own, and that the schema fits
 * this code. Throws if a check fails. The error message says what to do.
 *
 * This check runs before all others, with the process's own login. The process has not read the deployment's keys yet.
 * So a connection opened now may lack a valid proof that this process knows the master key. After reading the keys, the
 * caller MUST renew these connections.
 */
export async function checkDatabase(
  database: Database,
  pool: pg.Pool,
  log: StartLog,
  waitMs: number,
): Promise<Pooler> {
  if (database.isUnverified)
    log.warn(
      {},
      `the database ${database.where} is not authenticated by a certificate: see sslmode in docs/operate/postgres.md`,
    )
  const check = async () => {
    await database.prepare()
    const pooler = await refusePooler(pool, database)
    await checkSchema(pool)
    return pooler
  }
  return untilMigrated(check, log, waitMs)
}

/**
 * Calls `check` again and again until it passes or `waitMs` have passed.
 *
 * In a cluster everything starts at the same time. So the database may not be reachable yet, or `migrate` may not have
 * created the schema and the logins yet.
 */
export async function untilMigrated<T>(check: () => Promise<T>, log: StartLog, waitMs: number): Promise<T> {
  const giveUpAt = performance.now() + waitMs
  for (let isLogged = false; ; isLogged = true) {
    try {
      return await check()
    } catch (error) {
      if (performance.now() >= giveUpAt || !isWorthWaiting(error as Error)) throw error
      if (!isLogged)
        log.info({ reason: (error as Error).message, waitMs }, 'waiting for the database to be migrated')
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

/** Returns true if the check may succeed later. Returns false, for example, if the schema is newer than this code. */
function isWorthWaiting(error: Error): boolean {
  return error instanceof SchemaBehindError || isUnavailable(error)
}
