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
 * Checks that the process can connect, that each connection is a Postgres session, and that the schema has this
 * version. Throws, saying what to do.
 *
 * Runs first, with the process's own login. Connections opened until then may be unproven, because there was no
 * schema, or Postgres knows the other of two master keys. The caller MUST renew them after it has read the
 * deployment's keys, which determine the master key in use.
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
 * Repeats `look` until it passes or `waitMs` are over.
 *
 * In a cluster everything starts at once, so the database may not be there yet, nor the schema and logins that
 * `migrate` creates.
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

/** Waiting does not help if the schema is newer. */
function isWorthWaiting(error: Error): boolean {
  return error instanceof SchemaBehindError || isUnavailable(error)
}
