import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { type TestContext, test } from 'node:test'
import pg from 'pg'
import { checkLogin, DEFAULT_LOGINS, ensureLogins } from '../../../src/db/connect/logins.ts'
import { withTransaction } from '../../../src/db/connect/transaction.ts'
import { applyFunctions } from '../../../src/db/schema/functions.ts'
import { checkSchema, listMigrations, migrate } from '../../../src/db/schema/migrate.ts'
import { makeMasterKey } from '../../../src/signing/master-key.ts'
import { checkLedger } from '../../helpers/check-ledger.ts'
import { connect } from '../../helpers/connect.ts'
import {
  createEmptyDatabase,
  createTestDatabase,
  startTestPostgres,
  TEST_MASTER_KEY,
  TEST_PASSWORDS,
} from '../../helpers/database.ts'
import { TEST_SETTINGS } from '../../helpers/postgres.ts'
import { runCommand } from '../../helpers/run-script.ts'
import { createTestLedger } from '../../helpers/test-ledger.ts'

const masterKey = makeMasterKey(TEST_MASTER_KEY)
const passwords = { api: TEST_PASSWORDS.api, worker: TEST_PASSWORDS.worker }
const names = ['functions', ...listMigrations().map((migration) => migration.name)]

/** Runs `npm run op -- migrate` in its own process. Returns its standard output. */
async function migrateInProcess(ownerUrl: string, apiUrl: string, workerUrl: string): Promise<string> {
  const { code, stdout, stderr } = await runCommand('migrate', [], {
    env: {
      DATABASE_URL: ownerUrl,
      TALLYSTICK_API_DATABASE_URL: apiUrl,
      TALLYSTICK_WORKER_DATABASE_URL: workerUrl,
      TALLYSTICK_MASTER_KEY: Buffer.from(TEST_MASTER_KEY).toString('base64'),
    },
  })
  assert.equal(code, 0, stderr)
  return stdout
}

function withLogin(url: string, login: keyof typeof passwords): string {
  const changed = new URL(url)
  changed.username = `tallystick_${login}`
  changed.password = passwords[login]
  return changed.href
}

async function checkMigrated(t: TestContext, ownerUrl: string): Promise<void> {
  const owner = await connect(t, ownerUrl)
  const { rows } = await owner.query('select name from tallystick.schema_migrations order by version')
  assert.deepEqual(
    rows.map((row) => row.name),
    names,
  )
  const keys = await owner.query('select use from tallystick.server_keys order by use')
  assert.deepEqual(
    keys.rows.map((row) => row.use),
    ['envelope', 'note'],
    'the first keys were made once',
  )
  await checkSchema(owner)
  for (const login of ['api', 'worker'] as const) {
    const client = await connect(t, withLogin(ownerUrl, login))
    await checkSchema(client)
    await checkLogin(client, 'worker')
  }
}

test('several processes may migrate one database at once: one does, the others find it done', async (t) => {
  const { ownerUrl } = await createEmptyDatabase(t)
  await prepareLogins(t)
  // The URLs have no passwords. Otherwise the runs would set passwords and wait for each other's changes of the roles,
  // and the test could pass without a lock of `migrate`.
  const [apiUrl, workerUrl] = (['api', 'worker'] as const).map((login) => {
    const url = new URL(withLogin(ownerUrl, login))
    url.password = ''
    return url.href
  }) as [string, string]
  const outputs = await Promise.all([1, 2, 3].map(() => migrateInProcess(ownerUrl, apiUrl, workerUrl)))
  const applied = outputs.filter((output) => output.includes(names[0]!))
  assert.equal(applied.length, 1, outputs.join('\n'))
  await checkMigrated(t, ownerUrl)
})

test('several databases of one server may be migrated at once, though they share the logins', async (t) => {
  const databases = await Promise.all([1, 2, 3, 4].map(() => createEmptyDatabase(t)))
  await prepareLogins(t)
  const all = databases.flatMap(({ ownerUrl }) => [ownerUrl, ownerUrl])
  const applied = await Promise.all(all.map((ownerUrl) => migrate({ ownerUrl, masterKey, passwords })))
  assert.equal(applied.filter((list) => list.length > 0).length, databases.length)
  for (const { ownerUrl } of databases) await checkMigrated(t, ownerUrl)
})

test('works on Postgres 15 as well as on the embedded one', { skip: skipWithout15() }, async (t) => {
  const settings = { ...TEST_SETTINGS, max_connections: 20, shared_buffers: '16MB' }
  const postgres = await startTestPostgres(t, { binDir: BIN_15, settings })
  const { ownerUrl } = postgres
  assert.deepEqual(await migrate({ ownerUrl, masterKey, passwords }), names)
  assert.deepEqual(await migrate({ ownerUrl, masterKey, passwords }), [])
  await checkMigrated(t, ownerUrl)
  const ledger = await createTestLedger(await connect(t, withLogin(ownerUrl, 'api')))
  assert.equal(await checkLedger(await connect(t, ownerUrl), ledger.id), 3)
})

const BIN_15 = '/usr/lib/postgresql/15/bin'

function skipWithout15(): string | false {
  return existsSync('/usr/lib/postgresql/15/bin/postgres') ? false : 'this machine has no Postgres 15'
}

/**
 * Creates the logins. Their passwords are shared by all tests, and are set when a database is made from the template.
 */
async function prepareLogins(t: TestContext): Promise<void> {
  await createTestDatabase(t)
}

test('refuses a master key that does not decrypt the stored keys', async (t) => {
  const { ownerUrl } = await createTestDatabase(t)
  const other = makeMasterKey(new Uint8Array(32))
  await assert.rejects(
    migrate({ ownerUrl, masterKey: other, passwords }),
    /TALLYSTICK_MASTER_KEY is not the one/,
  )
  assert.deepEqual(await migrate({ ownerUrl, masterKey, passwords }), [])
})

test('a failed migration leaves nothing behind', async (t) => {
  const { ownerUrl, superuserUrl } = await createEmptyDatabase(t)
  await prepareLogins(t)
  const superuser = await connect(t, superuserUrl)
  // This event trigger makes the last statements fail.
  await superuser.query(`create function public.refuse() returns event_trigger language plpgsql as $$ begin
      if to_regclass('tallystick.tree_tiles') is not null then raise exception 'in the way'; end if;
    end $$;
    create event trigger refuse on ddl_command_end execute function public.refuse()`)
  await assert.rejects(migrate({ ownerUrl, masterKey, passwords }), /in the way/)
  const { rows } = await superuser.query("select to_regnamespace('tallystick') as schema")
  assert.deepEqual(rows, [{ schema: null }])
  await superuser.query('drop event trigger refuse')
  assert.deepEqual(await migrate({ ownerUrl, masterKey, passwords }), names)
})

test('a server refuses a database that is not migrated, or not far enough', async (t) => {
  const { ownerUrl, superuserUrl } = await createEmptyDatabase(t)
  const owner = await connect(t, ownerUrl)
  await assert.rejects(checkSchema(owner), /not migrated: run `npm run op -- migrate`/)
  await prepareLogins(t)
  await migrate({ ownerUrl, masterKey, passwords })
  await checkSchema(owner)
  const superuser = await connect(t, superuserUrl)
  await superuser.query('delete from tallystick.schema_migrations where version = 2')
  await assert.rejects(checkSchema(owner), /lacks 0002-chain.sql: run/)
})

test('a server, and migrate, refuse a database that is newer than they are', async (t) => {
  const { ownerUrl } = await createTestDatabase(t)
  const owner = await connect(t, ownerUrl)
  await owner.query("insert into tallystick.schema_migrations values (9999, '9999-later.sql', '')")
  await assert.rejects(checkSchema(owner), /migration 9999\) is newer than this version/)
  await assert.rejects(migrate({ ownerUrl, masterKey, passwords }), /migration 9999\) is newer/)
})

test('server and migrate accept a newer schema only if it declares to serve them', async (t) => {
  const { ownerUrl, apiUrl } = await createTestDatabase(t)
  const owner = await connect(t, ownerUrl)
  const newest = listMigrations().at(-1)!.version
  await owner.query("insert into tallystick.schema_migrations values (9998, '9998-later.sql', '')")
  await owner.query('insert into tallystick.schema_serves values (9998, $1)', [newest])
  await checkSchema(await connect(t, apiUrl))
  assert.deepEqual(await migrate({ ownerUrl, masterKey, passwords }), [])
  // Adds a migration. The oldest version that it supports is the previous migration, 9998.
  await owner.query("insert into tallystick.schema_migrations values (9999, '9999-later.sql', '')")
  await owner.query('insert into tallystick.schema_serves values (9999, 9998)')
  await assert.rejects(checkSchema(owner), /migration 9999\) is newer than this version[\s\S]*#upgrading/)
})

test('a migration that serves older code declares it in its first line, and the database records it', async (t) => {
  const { ownerUrl } = await createTestDatabase(t)
  const { rows } = await (await connect(t, ownerUrl)).query(
    'select version, serves_from from tallystick.schema_serves order by version',
  )
  const since = listMigrations().filter(({ servesFrom }) => servesFrom !== null)
  assert.deepEqual(
    rows,
    since.map(({ version, servesFrom }) => ({ version, serves_from: servesFrom })),
  )
  for (const { name, version, servesFrom } of since)
    assert.ok(servesFrom! < version, `${name} serves code that is newer than it is`)
})

test('a migration that must wait for a lock fails at once, without delaying appends or changing anything', async (t) => {
  const { ownerUrl, superuserUrl } = await createTestDatabase(t)
  const owner = await connect(t, ownerUrl)
  await undoMigration3(owner)
  const writer = await connect(t, superuserUrl)
  await writer.query('begin; lock table tallystick.ledgers in row exclusive mode')
  await assert.rejects(
    migrate({ ownerUrl, masterKey, passwords }),
    /0003-agents-keys-types.sql changes a table that has been read/,
  )
  assert.deepEqual(await tablesOf(owner, ['types']), [])
  await writer.query('rollback')
  assert.deepEqual(await migrate({ ownerUrl, masterKey, passwords }), ['0003-agents-keys-types.sql'])
  assert.deepEqual(await tablesOf(owner, ['types']), ['types'])
})

/** Restores the state before migration 3, which refers to the table of ledgers. */
async function undoMigration3(owner: pg.Client): Promise<void> {
  await owner.query(`drop table tallystick.types, tallystick.statements, tallystick.agent_signing_keys, tallystick.api_key_secrets, tallystick.api_keys, tallystick.agents cascade;
    delete from tallystick.guards g where to_regclass('tallystick.' || g.relation) is null;
    delete from tallystick.schema_migrations where version = 3`)
}

async function tablesOf(owner: pg.Client, names: readonly string[]): Promise<string[]> {
  const { rows } = await owner.query<{ relname: string }>(
    "select relname from pg_class where relnamespace = 'tallystick'::regnamespace and relname = any($1)",
    [names],
  )
  return rows.map(({ relname }) => relname)
}

test('migrate restores a function’s text and comment, and grants no new execute privilege', async (t) => {
  const { ownerUrl } = await createTestDatabase(t)
  const owner = await connect(t, ownerUrl)
  const describe = async () => {
    const { rows } = await owner.query(
      `select md5(prosrc) as body, proacl::text as acl, obj_description(oid, 'pg_proc') as comment
      from pg_proc where proname = 'find_replay'`,
    )
    return rows
  }
  const before = await describe()
  await owner.query(`create or replace function tallystick.find_replay(ledger uuid, actor uuid, key bytea, request_hash bytea)
    returns bigint language sql as 'select 1::bigint'`)
  assert.deepEqual(await migrate({ ownerUrl, masterKey, passwords }), ['functions'])
  assert.deepEqual(await describe(), before)
  await owner.query('drop function tallystick.find_replay')
  assert.deepEqual(await migrate({ ownerUrl, masterKey, passwords }), ['functions'])
  assert.deepEqual(await describe(), before)
  assert.deepEqual(await migrate({ ownerUrl, masterKey, passwords }), [])
  await owner.query("update tallystick.schema_migrations set sha256 = 'older' where version = 0")
  assert.deepEqual(await migrate({ ownerUrl, masterKey, passwords }), ['functions'])
  assert.deepEqual(await describe(), before)
})

test('applyFunctions restores the session’s settings, and leaves a function with other arguments alone', async (t) => {
  const { ownerUrl } = await createTestDatabase(t)
  const owner = await connect(t, ownerUrl)
  const read = async () => {
    const { rows } = await owner.query(
      `select current_setting('search_path') as path, current_setting('check_function_bodies') as bodies`,
    )
    return rows[0]
  }
  await owner.query("update tallystick.schema_migrations set sha256 = 'older' where version = 0")
  await owner.query(
    "create function tallystick.find_replay(n int) returns int language sql return n; comment on function tallystick.find_replay(int) is 'mine'",
  )
  await withTransaction(owner, async () => {
    const before = await read()
    assert.ok(await applyFunctions(owner))
    assert.deepEqual(await read(), before)
  })
  const { rows } = await owner.query(
    "select obj_description('tallystick.find_replay(int)'::regprocedure, 'pg_proc') as comment",
  )
  assert.equal(rows[0].comment, 'mine')
})

test('an older version leaves the functions of a newer one alone', async (t) => {
  const { ownerUrl } = await createTestDatabase(t)
  const owner = await connect(t, ownerUrl)
  const newest = listMigrations().at(-1)!.version
  await owner.query(`insert into tallystick.schema_migrations values (9998, '9998-later.sql', '');
    insert into tallystick.schema_serves values (9998, ${newest});
    update tallystick.schema_migrations set sha256 = 'newer' where version = 0`)
  await migrate({ ownerUrl, masterKey, passwords })
  const { rows } = await owner.query('select sha256 from tallystick.schema_migrations where version = 0')
  assert.deepEqual(rows, [{ sha256: 'newer' }])
})

test('a server, and migrate, refuse a database that was migrated with other files', async (t) => {
  const { ownerUrl } = await createTestDatabase(t)
  const owner = await connect(t, ownerUrl)
  await owner.query("update tallystick.schema_migrations set sha256 = 'another' where version = 1")
  await assert.rejects(checkSchema(owner), /0001-rules-and-keys.sql differs from the file/)
  await assert.rejects(
    migrate({ ownerUrl, masterKey, passwords }),
    /0001-rules-and-keys.sql differs from the file .*: a database of a development version cannot be upgraded \(docs\/operate\/operations.md#upgrading\)/,
  )
})

test('leaves a login’s password unchanged without a given password', async (t) => {
  const { ownerUrl, apiUrl } = await createTestDatabase(t)
  const owner = await connect(t, ownerUrl)
  await ensureLogins(owner, ownerUrl, DEFAULT_LOGINS, { api: null, worker: null })
  await connect(t, apiUrl)
})

test('checkLogin accepts the API and worker logins, and refuses the worker’s for a server', async (t) => {
  const { apiUrl, workerUrl } = await createTestDatabase(t)
  await checkLogin(await connect(t, apiUrl), 'server')
  await checkLogin(await connect(t, workerUrl), 'worker')
  await assert.rejects(checkLogin(await connect(t, workerUrl), 'server'), /may read the note key/)
})

test('checkLogin refuses logins with too many privileges', async (t) => {
  const database = await createTestDatabase(t)
  const superuser = await connect(t, database.superuserUrl)
  await assert.rejects(
    checkLogin(superuser, 'worker'),
    /login postgres has too many privileges: .* may become a superuser/,
  )
  await assert.rejects(
    checkLogin(await connect(t, database.ownerUrl), 'worker'),
    /may write into entries.*owns a table/,
  )

  const login = `login_${database.name}`
  await superuser.query(`create role ${login} login password 'test' noinherit`)
  const url = new URL(database.apiUrl)
  url.username = login
  url.password = 'test'
  const client = new pg.Client({ connectionString: url.href })
  await client.connect()
  try {
    await superuser.query(`grant usage on schema tallystick to ${login}`)
    await checkLogin(client, 'worker')
    const powers: [string, string, RegExp][] = [
      // The role is `noinherit`: the role has no right of the owner until SET ROLE.
      [`grant tallystick_owner to ${login}`, `revoke tallystick_owner from ${login}`, /may become its owner/],
      [`alter role ${login} superuser`, `alter role ${login} nosuperuser`, /superuser/],
      [`alter role ${login} createrole`, `alter role ${login} nocreaterole`, /may create roles/],
      [
        `grant pg_write_all_data to ${login}`,
        `revoke pg_write_all_data from ${login}`,
        /may write everything/,
      ],
      ...['insert', 'update', 'delete', 'truncate', 'trigger'].map((privilege): [string, string, RegExp] => [
        `grant ${privilege} on tallystick.entries to ${login}`,
        `revoke ${privilege} on tallystick.entries from ${login}`,
        /may write into entries/,
      ]),
      [
        `grant update (envelope) on tallystick.entries to ${login}`,
        `revoke update (envelope) on tallystick.entries from ${login}`,
        /may write columns of entries/,
      ],
      [
        `grant create on schema tallystick to ${login}`,
        `revoke create on schema tallystick from ${login}`,
        /may create in the schema/,
      ],
      [
        `alter function tallystick.append_details owner to ${login}`,
        'alter function tallystick.append_details owner to tallystick_owner',
        /owns a function/,
      ],
    ]
    for (const [give, take, reason] of powers) {
      await superuser.query(give)
      await assert.rejects(checkLogin(client, 'worker'), reason, give)
      await superuser.query(take)
      await checkLogin(client, 'worker')
    }
  } finally {
    await client.end()
    await superuser.query(`revoke all on schema tallystick from ${login}; drop role ${login}`)
  }
})
