import { Database } from '../db/connect/connection.ts'
import type { ReleasedContent } from '../db/connect/released-content.ts'
import { type Config, required } from './config.ts'

/** As the operators' commands come to it: what a server may not do, they may. */
export function getOwnerDatabase(
  config: Config,
  what = 'the database',
  released: ReleasedContent | null = null,
): Database {
  return open(config, required(config.ownerUrl, 'DATABASE_URL', `${what}, as its owner's login`), released)
}

/** The database that gets a ledger that is moved, as its owner. */
export function getTargetDatabase(config: Config, released: ReleasedContent | null = null): Database {
  const meaning = "the database that gets the ledger, as its owner's login"
  return open(config, required(config.targetOwnerUrl, 'TALLYSTICK_TARGET_DATABASE_URL', meaning), released)
}

function open(config: Config, url: string, released: ReleasedContent | null): Database {
  const database = new Database(url, config.database, null, released)
  if (database.isUnverified)
    console.error(`the database ${database.where} does not prove who it is: docs/databases.md, sslmode`)
  return database
}
