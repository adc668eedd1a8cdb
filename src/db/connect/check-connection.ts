import { withOwner } from './client.ts'
import type { ConnectError } from './connect-error.ts'
import type { DatabaseOrUrl } from './connection.ts'

/**
 * Throws if the owner cannot reach `database`, or if the session's settings are not safe (session.ts). The message says
 * what to do and never contains the password.
 */
export async function checkConnection(database: DatabaseOrUrl): Promise<void> {
  try {
    await withOwner(database, async () => {})
  } catch (error) {
    const { message, code } = error as ConnectError
    const orOwn = code === 'ECONNREFUSED' ? '. Or unset DATABASE_URL to use the built-in Postgres' : ''
    throw new Error(`DATABASE_URL: ${message}${orOwn}`)
  }
}
