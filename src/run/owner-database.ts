import type { ArchiveContent } from '../db/connect/archive.ts'
import { Database } from '../db/connect/connection.ts'
import { type Config, required } from './config.ts'

/**
 * Opens the database with the owner's login. Operators' commands need this login, because they may do more than a
 * server.
 */
export function getOwnerDatabase(
  config: Config,
  what = 'the database',
  archive: ArchiveContent | null = null,
): Database {
  return open(config, required(config.ownerUrl, 'DATABASE_URL', `${what}, as its owner's login`), archive)
}

/** Opens the database to which a ledger is moved, with the owner's login. */
export function getTargetDatabase(config: Config, archive: ArchiveContent | null = null): Database {
  const meaning = "the database that gets the ledger, as its owner's login"
  return open(config, required(config.targetOwnerUrl, 'TALLYSTICK_TARGET_DATABASE_URL', meaning), archive)
}

function open(config: Config, url: string, archive: ArchiveContent | null): Database {
  const database = new Database(url, config.database, null, archive)
  if (database.isUnverified)
    console.error(
      `the database ${database.where} is not authenticated by a certificate: see sslmode in docs/operate/postgres.md`,
    )
  return database
}
