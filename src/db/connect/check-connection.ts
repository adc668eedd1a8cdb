import { withOwner } from './client.ts'
import type { ConnectError } from './connect-error.ts'
import type { DatabaseOrUrl } from './connection.ts'

/** Throws, saying what to do and never the password, unless the database takes this login, which is its owner's, and is fit for 201s. */
export async function checkConnection(database: DatabaseOrUrl): Promise<void> {
  try {
    await withOwner(database, async () => {})
  } catch (error) {
    const { message, code } = error as ConnectError
    const orOwn = code === 'ECONNREFUSED' ? ' Or unset DATABASE_URL to use a Postgres of our own' : ''
    throw new Error(`DATABASE_URL: ${message}${orOwn}`)
  }
}
