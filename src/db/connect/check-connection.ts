import { withClient } from './client.ts'
import type { ConnectError } from './connect-error.ts'
import { Database, type DatabaseOrUrl } from './connection.ts'

const VERSION_MIN = 150_000

/** Throws, saying what to do and never the password, unless a Postgres 15 or newer takes this login. */
export async function checkConnection(database: DatabaseOrUrl): Promise<void> {
  try {
    await withClient(database, async (client) => {
      const { rows } = await client.query<{ version: number }>(
        "select current_setting('server_version_num')::int as version",
      )
      const { version } = rows[0]!
      if (version < VERSION_MIN) {
        const { where } = Database.of(database)
        throw new Error(
          `the database ${where} is Postgres ${Math.floor(version / 10_000)}: Postgres 15 or newer is needed`,
        )
      }
    })
  } catch (error) {
    const { message, code } = error as ConnectError
    const orOwn = code === 'ECONNREFUSED' ? ' Or unset DATABASE_URL to use a Postgres of our own' : ''
    throw new Error(`DATABASE_URL: ${message}${orOwn}`)
  }
}
