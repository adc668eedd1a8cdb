import pg from 'pg'
import { CONNECT_TIMEOUT_MS } from '../limits.ts'

const VERSION_MIN = 150_000

/** Throws, saying what to do and never the password, unless a Postgres 15 or newer takes this login. */
export async function checkConnection(url: string): Promise<void> {
  const { host, username, pathname } = new URL(url)
  const where = `DATABASE_URL (${username}@${host}${pathname})`
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: CONNECT_TIMEOUT_MS })
  client.on('error', () => {})
  try {
    await client.connect()
    const { rows } = await client.query<{ version: number }>(
      "select current_setting('server_version_num')::int as version",
    )
    if (rows[0]!.version < VERSION_MIN) {
      throw new Error(`is Postgres ${Math.floor(rows[0]!.version / 10_000)}: Postgres 15 or newer is needed`)
    }
  } catch (error) {
    throw new Error(`${where} ${explain(error as Error & { code?: string })}`)
  } finally {
    await client.end().catch(() => {})
  }
}

function explain(error: Error & { code?: string }): string {
  switch (error.code) {
    case 'ECONNREFUSED':
      return 'cannot be reached (connection refused): is Postgres running there? Or unset DATABASE_URL to use a Postgres of our own'
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return 'cannot be reached: its host name is not known'
    case '28P01':
    case '28000':
      return `refuses the login (${error.message}): check user and password`
    case '3D000':
      return 'has no such database: make it first'
    default:
      return error.message.startsWith('is Postgres') ? error.message : `cannot be used: ${error.message}`
  }
}
