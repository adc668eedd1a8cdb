import { readFileSync } from 'node:fs'
import pg from 'pg'
import { findLogins, grantConnect, type LoginNames, revokeConnect } from '../connect/logins.ts'
import { JOBS_SCHEMA } from '../jobs/job-queues.ts'

const GRANTS_FILE = new URL('../../../migrations/grants.sql', import.meta.url)
const OUR_SCHEMAS = ['tallystick', JOBS_SCHEMA]

/**
 * Grants the two logins the privileges in migrations/grants.sql. Revokes all from PUBLIC and from earlier logins, so that a copy
 * of another deployment's database is open to its own logins alone. Runs as the owner, after the migrations.
 */
export async function applyGrants(client: pg.ClientBase, logins: LoginNames): Promise<void> {
  const { api, worker } = await findLogins(client)
  const former = new Set([...api, ...worker].filter((name) => name !== logins.api && name !== logins.worker))
  for (const name of former) await revokeAll(client, name)
  const sql = readFileSync(GRANTS_FILE, 'utf8')
  await client.query(
    sql.replace(/:(api|worker)\b/g, (_, part: keyof LoginNames) => pg.escapeIdentifier(logins[part])),
  )
  await grantConnect(client, logins)
}

async function revokeAll(client: pg.ClientBase, login: string): Promise<void> {
  const { rows } = await client.query<{ name: string }>(
    'select nspname as name from pg_namespace where nspname = any ($1)',
    [OUR_SCHEMAS],
  )
  const from = pg.escapeIdentifier(login)
  for (const { name } of rows) {
    for (const what of [
      'schema',
      'all tables in schema',
      'all sequences in schema',
      'all functions in schema',
    ])
      await client.query(`revoke all on ${what} ${name} from ${from}`)
  }
  await revokeConnect(client, login)
}

/**
 * Throws if somebody else made a schema of one of our names: our logins would get privileges on its content. Runs as the owner,
 * before anything is made.
 */
export async function refuseForeignSchemas(client: pg.ClientBase): Promise<void> {
  const { rows } = await client.query<{ name: string }>(
    `select n.nspname as name
     from pg_namespace n left join (pg_class c join pg_namespace ours on ours.oid = c.relnamespace)
       on ours.nspname = 'tallystick' and c.relname = 'schema_migrations'
     where n.nspname = any ($1) and n.nspowner is distinct from ours.nspowner
       and exists (select from pg_depend d where d.refclassid = 'pg_namespace'::regclass and d.refobjid = n.oid)
     order by 1`,
    [OUR_SCHEMAS],
  )
  if (rows.length === 0) return
  throw new Error(
    `the database has a schema ${rows[0]!.name} that Tallystick did not make: nothing was changed. Rename that schema, or give ` +
      'Tallystick a database of its own',
  )
}
