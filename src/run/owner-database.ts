import { Database } from '../db/connect/connection.ts'
import { type Config, required } from './config.ts'

/** As the operators' commands come to it: what a server may not do, they may. */
export function getOwnerDatabase(config: Config, what = 'the database'): Database {
  const url = required(config.ownerUrl, 'DATABASE_URL', `${what}, as its owner's login`)
  const database = new Database(url, config.database)
  if (database.isUnverified)
    console.error(`the database ${database.where} does not prove who it is: docs/databases.md, sslmode`)
  return database
}
