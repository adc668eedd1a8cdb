import pg from 'pg'
import { withClient } from './client.ts'
import { makeScramVerifier, SCRAM_ITERATIONS_DEFAULT } from './scram.ts'

export const OWNER_LOGIN = 'tallystick_owner'
export const DATABASE = 'tallystick'

/**
 * Creates the owner's login and its database on the built-in Postgres, if they are missing. Needs a superuser's URL.
 */
export async function ensureOwner(superuserUrl: string, password: string): Promise<void> {
  await withClient(superuserUrl, async (client) => {
    const { rows } = await client.query<{ login: boolean; database: boolean }>(
      `select exists (select from pg_roles where rolname = $1) as login,
        exists (select from pg_database where datname = $2) as database`,
      [OWNER_LOGIN, DATABASE],
    )
    if (!rows[0]!.login) {
      // The owner needs createrole, because it creates the logins of the API and the worker (logins.ts).
      const secret = pg.escapeLiteral(makeScramVerifier(password, SCRAM_ITERATIONS_DEFAULT))
      await client.query(
        `create role ${OWNER_LOGIN} login createrole nosuperuser nocreatedb password ${secret}`,
      )
    }
    if (!rows[0]!.database)
      await client.query(`create database ${DATABASE} owner ${OWNER_LOGIN} template template0`)
  })
}
