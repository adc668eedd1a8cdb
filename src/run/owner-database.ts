import type { ArchiveContent } from '../db/connect/archive.ts'
import { Database } from '../db/connect/connection.ts'
import { type Config, required } from './config.ts'

/** As the operators' commands come to it: what a server may not do, they may. */
export function getOwnerDatabase(
  config: Config,
  what = 'the database',
  archive: ArchiveContent | null = null,
): Database {
  return open(config, required(config.ownerUrl, 'DATABASE_URL', `${what}, as its owner's login`), archive)
}

/** The database that gets a ledger that is moved, as its owner. */
export function getTargetDatabase(config: Config, archive: ArchiveContent | null = null): Database {
  const meaning = "the database that gets the ledger, as its owner's login"
  return open(config, required(config.targetOwnerUrl, 'TALLYSTICK_TARGET_DATABASE_URL', meaning), archive)
}

function open(config: Config, url: string, archive: ArchiveContent | null): Database {
  const database = new Database(url, config.database, null, archive)
  if (database.isUnverified)
    console.error(
      `the database ${database.where} does not prove who it is: docs/operate/postgres.md, sslmode`,
    )
  return database
}
