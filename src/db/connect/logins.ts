import pg from 'pg'
import type { Db } from './client.ts'

export const API_LOGIN = 'tallystick_api'
export const WORKER_LOGIN = 'tallystick_worker'

const PASSWORD_TRIES_MAX = 50

/** null: the login exists and its password is somebody else's business. */
export type LoginPasswords = { readonly api: string | null; readonly worker: string | null }

/** Makes the two logins that are not the owner's, and sets their passwords where given. Needs CREATEROLE. */
export async function ensureLogins(client: pg.ClientBase, passwords: LoginPasswords): Promise<void> {
  await ensureLogin(client, API_LOGIN, passwords.api)
  await ensureLogin(client, WORKER_LOGIN, passwords.worker)
}

async function ensureLogin(client: pg.ClientBase, login: string, password: string | null): Promise<void> {
  // Roles belong to the whole cluster: another database's migration may be making the same one right now.
  await client.query(`do $$ begin
    if not exists (select from pg_roles where rolname = '${login}') then
      create role ${login} login nosuperuser nocreatedb nocreaterole noinherit;
    end if;
  exception when duplicate_object or unique_violation then null;
  end $$`)
  if (password === null) return
  // Migrations of other databases may be changing it too ("tuple concurrently updated", once the other one has
  // committed): as many tries as there may be of them.
  const body = `begin
    for try in 1 .. ${PASSWORD_TRIES_MAX} loop
      begin
        alter role ${login} with password ${pg.escapeLiteral(password)};
        return;
      exception when internal_error then
        if try = ${PASSWORD_TRIES_MAX} then raise; end if;
      end;
    end loop;
  end`
  // A literal too: a password with two dollars in it would end a body between dollars, and what follows would be run.
  await client.query(`do ${pg.escapeLiteral(body)}`)
}

/** Nobody needs temporary tables, and a stolen login could fill the disk with them. Where the database is somebody else's, it stays. */
export async function revokeTemporary(client: pg.ClientBase): Promise<void> {
  await client.query(`do $$ begin
    if exists (select from pg_database d where d.datname = current_database() and pg_has_role(d.datdba, 'member')) then
      execute format('revoke temporary on database %I from public', current_database());
    end if;
  end $$`)
}

/** On RDS a member of `rds_iam` logs in with a token, and with no password any more. */
export async function grantRdsIam(client: pg.ClientBase): Promise<void> {
  const { rows } = await client.query<{ login: string; isMember: boolean | null }>(
    `select l.rolname as login, pg_has_role(l.oid, r.oid, 'member') as "isMember"
     from pg_roles l left join pg_roles r on r.rolname = 'rds_iam' where l.rolname = any($1)`,
    [[API_LOGIN, WORKER_LOGIN]],
  )
  for (const { login, isMember } of rows) {
    if (isMember) continue
    if (isMember === null)
      throw new Error('TALLYSTICK_DATABASE_LOGINS=rds-iam: only a Postgres of RDS has the role rds_iam')
    await client.query(`grant rds_iam to ${login}`).catch((error: Error & { code?: string }) => {
      if (error.code !== INSUFFICIENT_PRIVILEGE) throw error
      throw new Error(`${error.message}: let the master user of RDS say once \`grant rds_iam to ${login}\``)
    })
  }
}

const INSUFFICIENT_PRIVILEGE = '42501'

/**
 * Throws unless the connected login is as weak as an API pod or a worker must be (docs/ARCHITECTURE.md), because this
 * bounds the harm of a stolen pod.
 */
export async function checkLogin(db: Db, part: 'server' | 'worker'): Promise<void> {
  const { rows } = await db.query<Record<string, boolean | string>>(LOGIN_POWERS)
  const { login, ...all } = rows[0]!
  const { [WORKERS_POWER]: readsNoteKey, ...powers } = all
  if (part === 'server' && readsNoteKey === true) powers[WORKERS_POWER] = true
  const found = Object.keys(powers).filter((power) => powers[power] === true)
  if (found.length > 0) {
    throw new Error(
      `the login ${login} is too powerful to serve with: it ${found.join(', and it ')}; ` +
        `use the login ${API_LOGIN} for servers and ${WORKER_LOGIN} for workers`,
    )
  }
}

/** Privilege of the worker that a server must not have: a signer of entries must not sign checkpoints. */
const WORKERS_POWER = 'may read the note key'

const LOGIN_POWERS = `
  select session_user as login,
    bool_or(r.rolsuper) as "is or may become a superuser",
    bool_or(r.rolcreaterole) as "may create roles",
    bool_or(has_table_privilege(r.oid, 'tallystick.entries', 'insert,update,delete,truncate,trigger'))
      as "may write into entries",
    bool_or(has_any_column_privilege(r.oid, 'tallystick.entries', 'insert,update')) as "may write columns of entries",
    bool_or(exists (select from pg_class c where c.relnamespace = 'tallystick'::regnamespace and c.relowner = r.oid))
      as "owns a table or may become its owner",
    bool_or(exists (select from pg_proc f where f.pronamespace = 'tallystick'::regnamespace and f.proowner = r.oid))
      as "owns a function or may become its owner",
    -- the owner of a schema may drop what is in it; what is made in it could stand in for what is called in it
    bool_or(has_schema_privilege(r.oid, 'tallystick', 'create')) as "may create in the schema",
    bool_or(has_table_privilege(r.oid, 'tallystick.note_key_secrets', 'select')) as "${WORKERS_POWER}",
    bool_or(r.rolname in ('pg_write_all_data', 'pg_execute_server_program', 'pg_write_server_files'))
      as "may write everything"
  from pg_roles r
  -- every role that the login is, or could become by SET ROLE
  where pg_has_role(session_user, r.oid, 'member')`
