import pg from 'pg'
import { type Db, withClient } from './client.ts'
import type { ConnectError } from './connect-error.ts'
import { Database, type DatabaseOrUrl } from './connection.ts'
import { makeScramVerifier, SCRAM_ITERATIONS_DEFAULT } from './scram.ts'

/**
 * Names of a deployment's two restricted logins. One Postgres may serve several deployments, each with its own
 * database.
 */
export type LoginNames = { readonly api: string; readonly worker: string }

export const DEFAULT_LOGINS: LoginNames = { api: 'tallystick_api', worker: 'tallystick_worker' }

const PASSWORD_TRIES_MAX = 50

/** Passwords to set. null if the login exists and its password is managed elsewhere. */
export type LoginPasswords = { readonly api: string | null; readonly worker: string | null }

/** Returns the URL for another login to the same database. `password` is null for a login without a password. */
export function loginUrl(url: string, login: string, password: string | null): string {
  const changed = new URL(url)
  changed.username = encodeURIComponent(login)
  changed.password = encodeURIComponent(password ?? '')
  return changed.href
}

/**
 * Creates the API's and the worker's login, and sets those passwords that are not null. `owner` is the database to
 * which `client` is connected.
 *
 * Needs CREATEROLE. Throws an error that says what to do in three cases:
 *
 * - The owner may not create or change a login.
 * - A login has too many privileges for servers and workers.
 * - Another database of this Postgres uses the login with another password. A new password would lock out the
 *   deployment of the other database.
 */
export async function ensureLogins(
  client: pg.ClientBase,
  owner: DatabaseOrUrl,
  names: LoginNames,
  passwords: LoginPasswords,
): Promise<void> {
  if (names.api === names.worker) {
    throw new Error(
      `servers and workers have the same login ${names.api}: name two logins, in TALLYSTICK_API_DATABASE_URL and ` +
        'TALLYSTICK_WORKER_DATABASE_URL',
    )
  }
  await ensureLogin(client, owner, names.api, passwords.api)
  await ensureLogin(client, owner, names.worker, passwords.worker)
}

async function ensureLogin(
  client: pg.ClientBase,
  owner: DatabaseOrUrl,
  login: string,
  password: string | null,
): Promise<void> {
  // The error for an existing role is ignored. Roles belong to the whole cluster, and another database's migration may
  // create the same role at this moment.
  const made = `begin
    if not exists (select from pg_roles where rolname = ${pg.escapeLiteral(login)}) then
      create role ${pg.escapeIdentifier(login)} login nosuperuser nocreatedb nocreaterole noinherit;
    end if;
  exception when duplicate_object or unique_violation then null;
  end`
  await client.query(`do ${pg.escapeLiteral(made)}`).catch((error) => explainRefusal(error, owner, login))
  const { isPowerful, others } = await readLogin(client, login)
  if (isPowerful)
    throw new Error(
      `the login ${login} has too many privileges: use another one in the URL of servers and workers`,
    )
  if (password === null) return
  if (others.length > 0) return requireSamePassword(owner, login, password, others)
  // The value is null before Postgres 16, which introduced the setting.
  const { rows } = await client.query<{ iterations: string | null }>(
    "select current_setting('scram_iterations', true) as iterations",
  )
  const verifier = makeScramVerifier(password, Number(rows[0]!.iterations ?? SCRAM_ITERATIONS_DEFAULT))
  // The migration of another database may change the role at the same moment. Postgres then fails with "tuple
  // concurrently updated" after that migration has committed, so the statement is tried again. PASSWORD_TRIES_MAX
  // limits the number of such migrations that can run at once.
  const body = `begin
    for try in 1 .. ${PASSWORD_TRIES_MAX} loop
      begin
        alter role ${pg.escapeIdentifier(login)} with password ${pg.escapeLiteral(verifier)};
        return;
      exception when internal_error then
        if try = ${PASSWORD_TRIES_MAX} then raise; end if;
      end;
    end loop;
  end`
  // The body is quoted as a literal, and not with dollar signs. A login name with two dollar signs would end a body
  // that is quoted with dollar signs, and the rest of the name would be executed.
  await client.query(`do ${pg.escapeLiteral(body)}`).catch((error) => explainRefusal(error, owner, login))
}

/**
 * Returns whether a login has too many privileges for servers and workers, and in which other databases (`others`) it
 * has privileges or objects.
 */
async function readLogin(
  client: pg.ClientBase,
  login: string,
): Promise<{ readonly isPowerful: boolean; readonly others: readonly string[] }> {
  const { rows } = await client.query<{ isPowerful: boolean; others: string[] }>(
    `select r.rolsuper or r.rolcreaterole or r.rolreplication or r.rolbypassrls or r.rolname = session_user
         or exists (select from pg_database d where d.datname = current_database() and d.datdba = r.oid) as is_powerful,
       array(select distinct d.datname::text from pg_shdepend s join pg_database d
           on d.oid = case s.classid when 'pg_database'::regclass then s.objid else s.dbid end
         where s.refclassid = 'pg_authid'::regclass and s.refobjid = r.oid and d.datname <> current_database()
         order by 1) as others
     from pg_roles r where r.rolname = $1`,
    [login],
  )
  return rows[0]!
}

/** Throws unless the login already has this password. Tries to log in, because a stored password cannot be read. */
async function requireSamePassword(
  owner: DatabaseOrUrl,
  login: string,
  password: string,
  others: readonly string[],
): Promise<void> {
  const { url, options } = Database.of(owner)
  try {
    await withClient(
      new Database(loginUrl(url, login, password), { ...options, password: null }),
      async () => {},
    )
  } catch (error) {
    const { code, isLoginRefused } = error as ConnectError
    // The password is right, because Postgres checks the privilege to connect after the password. The migration grants
    // that privilege later.
    if (code === INSUFFICIENT_PRIVILEGE) return
    if (!isLoginRefused) throw error
    throw new Error(
      `the login ${login} has another password and is used in ${others.join(', ')} too: a new password would lock that ` +
        'deployment out. Give this deployment logins of its own, in TALLYSTICK_API_DATABASE_URL and TALLYSTICK_WORKER_DATABASE_URL ' +
        '(chart: database.api.user, database.worker.user), or the current password; or change the password for all deployments with ' +
        '`alter role` (docs/operate/postgres.md)',
    )
  }
}

/**
 * Throws the error. If a privilege is missing, the message says what to do. Since Postgres 16, a login with CREATEROLE
 * can change only roles that it created or got with ADMIN OPTION.
 */
function explainRefusal(error: Error & { code?: string }, owner: DatabaseOrUrl, login: string): never {
  if (error.code !== INSUFFICIENT_PRIVILEGE) throw error
  const name = nameInSql(login)
  const ownerName = nameInSql(decodeURIComponent(new URL(Database.of(owner).url).username))
  throw new Error(
    `${error.message}: the login ${login}. Let a superuser run \`alter role ${ownerName} createrole\` and, for a login that another role ` +
      `created, \`grant ${name} to ${ownerName} with admin option\`; or create the login yourself, and name it in a URL without a password`,
    { cause: error },
  )
}

/** Quotes a name only if SQL needs quotes, so that people can read it easily. */
function nameInSql(name: string): string {
  return /^[a-z_][a-z0-9_]*$/.test(name) ? name : pg.escapeIdentifier(name)
}

/**
 * Grants both logins the privilege to connect, because PUBLIC may lack it. Revokes nothing, because other logins may
 * have schemas in the same database, or may monitor it.
 */
export async function grantConnect(client: pg.ClientBase, { api, worker }: LoginNames): Promise<void> {
  await asDatabaseOwner(
    client,
    'grant connect',
    `to ${pg.escapeIdentifier(api)}, ${pg.escapeIdentifier(worker)}`,
  )
}

export async function revokeConnect(client: pg.ClientBase, login: string): Promise<void> {
  await asDatabaseOwner(client, 'revoke connect', `from ${pg.escapeIdentifier(login)}`)
}

/**
 * Revokes the privilege to make temporary tables from PUBLIC. Our logins need no temporary tables, and a stolen login
 * could fill the disk with them.
 *
 * Does nothing if the login is not the owner of the database, or if the database contains tables of other applications.
 */
export async function revokeTemporary(client: pg.ClientBase): Promise<void> {
  const { rowCount } = await client.query(
    `select from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where n.nspname !~ '^(pg_|information_schema$|tallystick(_jobs)?$)'
       and not exists (select from pg_depend d where d.classid = 'pg_class'::regclass and d.objid = c.oid and d.deptype = 'e')
     limit 1`,
  )
  if (rowCount !== 0) return
  await asDatabaseOwner(client, 'revoke temporary', 'from public')
}

/** Grants or revokes a privilege on the database. Does nothing if the connected login is not the database's owner. */
async function asDatabaseOwner(client: pg.ClientBase, what: string, whom: string): Promise<void> {
  const body = `begin
    if exists (select from pg_database d where d.datname = current_database() and pg_has_role(d.datdba, 'member')) then
      execute format('${what} on database %I ', current_database()) || ${pg.escapeLiteral(whom)};
    end if;
  end`
  await client.query(`do ${pg.escapeLiteral(body)}`)
}

/**
 * Finds the logins of the connected database by two privileges: one that only the API's login needs, and one that only
 * the worker's login needs.
 *
 * Both lists are empty before the first migration. Any login may call this.
 */
export async function findLogins(
  db: Db,
): Promise<{ readonly [part in keyof LoginNames]: readonly string[] }> {
  const { rows } = await db.query<{ api: string[]; worker: string[] }>(
    `select
       array(select distinct pg_get_userbyid(a.grantee)::text from pg_proc f, aclexplode(f.proacl) a
         where f.pronamespace = to_regnamespace('tallystick') and f.proname = 'create_webhook'
           and a.grantee not in (0, f.proowner)) as api,
       array(select distinct pg_get_userbyid(a.grantee)::text from pg_class c, aclexplode(c.relacl) a
         where c.relnamespace = to_regnamespace('tallystick') and c.relname = 'checkpoints' and a.privilege_type = 'INSERT'
           and a.grantee not in (0, c.relowner)) as worker`,
  )
  return rows[0]!
}

/**
 * Grants `rds_iam` to both logins. On RDS, a member of `rds_iam` logs in with a token and can no longer use a password.
 */
export async function grantRdsIam(client: pg.ClientBase, { api, worker }: LoginNames): Promise<void> {
  const { rows } = await client.query<{ login: string; isMember: boolean | null }>(
    `select l.rolname as login, pg_has_role(l.oid, r.oid, 'member') as "isMember"
     from pg_roles l left join pg_roles r on r.rolname = 'rds_iam' where l.rolname = any($1)`,
    [[api, worker]],
  )
  for (const { login, isMember } of rows) {
    if (isMember) continue
    if (isMember === null)
      throw new Error(
        'TALLYSTICK_DATABASE_LOGINS=rds-iam needs the role rds_iam, which only a Postgres of RDS has',
      )
    await client
      .query(`grant rds_iam to ${pg.escapeIdentifier(login)}`)
      .catch((error: Error & { code?: string }) => {
        if (error.code !== INSUFFICIENT_PRIVILEGE) throw error
        throw new Error(
          `${error.message}: let the master user of RDS run \`grant rds_iam to ${nameInSql(login)}\``,
        )
      })
  }
}

const INSUFFICIENT_PRIVILEGE = '42501'

/**
 * Throws unless the connected login is as restricted as an API server or a worker must be (docs/ARCHITECTURE.md). The
 * restrictions limit the damage if somebody takes over a pod.
 */
export async function checkLogin(db: Db, part: 'server' | 'worker'): Promise<void> {
  const { rows } = await db.query<Record<string, boolean | string>>(LOGIN_POWERS)
  const { login, ...all } = rows[0]!
  const { [WORKERS_POWER]: readsNoteKey, ...powers } = all
  if (part === 'server' && readsNoteKey === true) powers[WORKERS_POWER] = true
  const found = Object.keys(powers).filter((power) => powers[power] === true)
  if (found.length === 0) return
  const { api, worker } = await findLogins(db)
  throw new Error(
    `the login ${login} has too many privileges: it ${found.join(', and it ')}; ` +
      `use the login ${api.join(' or ')} for servers and ${worker.join(' or ')} for workers`,
  )
}

/**
 * Privilege that the worker needs and that a server must not have. A process that signs entries must not be able to
 * sign checkpoints.
 */
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
    -- a schema owner may drop its content; an object created in it could replace a function that is called
    bool_or(has_schema_privilege(r.oid, 'tallystick', 'create')) as "may create in the schema",
    bool_or(has_table_privilege(r.oid, 'tallystick.note_key_secrets', 'select')) as "${WORKERS_POWER}",
    bool_or(r.rolname in ('pg_write_all_data', 'pg_execute_server_program', 'pg_write_server_files'))
      as "may write everything"
  from pg_roles r
  -- every role that the login is, or could become by SET ROLE
  where pg_has_role(session_user, r.oid, 'member')`
