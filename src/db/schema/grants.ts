import { readFileSync } from 'node:fs'
import pg from 'pg'
import { findLogins, grantConnect, type LoginNames, revokeConnect } from '../connect/logins.ts'
import { JOBS_SCHEMA } from '../jobs/job-queues.ts'

const GRANTS_FILE = new URL('../../../migrations/grants.sql', import.meta.url)
const OUR_SCHEMAS = ['tallystick', JOBS_SCHEMA]

/**
 * Grants the two logins their privileges (migrations/grants.sql). Revokes all privileges of PUBLIC and of former
 * logins. Returns the former logins.
 *
 * So if the database is a copy of another deployment's database, only the new deployment's logins can use it. Must be
 * called with the login of the database's owner, after the migrations. Throws if a former login has a session in this
 * database, because then another deployment still uses the database.
 */
export async function applyGrants(client: pg.ClientBase, logins: LoginNames): Promise<string[]> {
  const { api, worker } = await findLogins(client)
  const all = new Set([...api, ...worker])
  const former = [...all].filter((name) => name !== logins.api && name !== logins.worker).sort()
  await refuseInUse(client, former)
  for (const name of former) await revokeAll(client, name)
  const sql = readFileSync(GRANTS_FILE, 'utf8')
  await client.query(
    sql.replace(/:(api|worker)\b/g, (_, part: keyof LoginNames) => pg.escapeIdentifier(logins[part])),
  )
  await grantConnect(client, logins)
  return former
}

async function refuseInUse(client: pg.ClientBase, logins: readonly string[]): Promise<void> {
  const { rowCount } = await client.query(
    'select from pg_stat_activity where datname = current_database() and usename = any ($1) limit 1',
    [logins],
  )
  if (rowCount === 0) return
  throw new Error(
    `the logins ${logins.join(', ')} of this database are in use. Name them in TALLYSTICK_API_DATABASE_URL and ` +
      'TALLYSTICK_WORKER_DATABASE_URL, or stop what uses them. Nothing was changed',
  )
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
 * Throws if one of our schemas exists but was not made by `migrate`, or if `migrate` made it with another login. A role
 * of which this login is a member is allowed too.
 *
 * The check is needed because our logins get privileges on everything in the schemas, and triggers in the schemas run
 * as this login. Must be called with the login of the database's owner, before anything is created.
 */
export async function refuseForeignSchemas(client: pg.ClientBase): Promise<void> {
  await refuseOtherOwner(client)
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
    `the database has a schema ${rows[0]!.name} that Tallystick did not create: nothing was changed. Rename that schema, or give ` +
      'Tallystick a database of its own',
  )
}

/**
 * Throws if another role owns the schema or its table `schema_migrations`. Such a schema may come from a backup, or may
 * be an attacker's imitation.
 */
async function refuseOtherOwner(client: pg.ClientBase): Promise<void> {
  const { rows } = await client.query<{ owner: string; me: string }>(
    `select pg_get_userbyid(o.owner)::text as owner, session_user::text as me
     from pg_class c join pg_namespace n on n.oid = c.relnamespace, unnest(array[n.nspowner, c.relowner]) o (owner)
     where n.nspname = 'tallystick' and c.relname = 'schema_migrations' and not pg_has_role(session_user, o.owner, 'member')`,
  )
  if (rows.length === 0) return
  const { owner, me } = rows[0]!
  throw new Error(
    `the schema tallystick, or its table schema_migrations, belongs to ${owner}, and migrate runs as ${me}: nothing was changed. If it ` +
      `was restored, restore it as ${me}; otherwise rename that schema, or give Tallystick a database of its own`,
  )
}
