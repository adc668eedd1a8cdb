import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, test } from 'node:test'
import { promisify } from 'node:util'
import { PgBoss } from 'pg-boss'
import { withClient } from '../../../src/db/connect/client.ts'
import { checkLogin } from '../../../src/db/connect/logins.ts'
import { refuseForeignSchemas } from '../../../src/db/schema/grants.ts'
import { migrate } from '../../../src/db/schema/migrate.ts'
import { openLog } from '../../../src/observe/log.ts'
import { getLogins } from '../../../src/run/database-logins.ts'
import type { RunningPostgres } from '../../../src/run/postgres/start.ts'
import { makeMasterKey } from '../../../src/signing/master-key.ts'
import { openQueues } from '../../../worker/work-queues.ts'
import { checkLedger } from '../../helpers/check-ledger.ts'
import { connect, testDatabase } from '../../helpers/connect.ts'
import { startTestPostgres, TEST_MASTER_KEY, urlFor } from '../../helpers/database.ts'
import { TEST_SETTINGS, temporaryDir } from '../../helpers/postgres.ts'
import { createTestLedger } from '../../helpers/test-ledger.ts'

/* Runs several deployments, and another application with its own pg-boss, in one Postgres that logs each statement. */

const masterKey = makeMasterKey(TEST_MASTER_KEY)
let postgres: RunningPostgres
const sql = async (text: string, database = 'postgres') =>
  (await withClient(urlFor(postgres.superuserUrl, database), (client) => client.query(text))).rows

before(async () => {
  const settings = { ...TEST_SETTINGS, log_statement: 'all', scram_iterations: 1 }
  postgres = await startTestPostgres({ name: 'not alone', after: () => {} }, { settings })
  await sql("create role other login password 'other'")
})

/** Deploys like `npm start`, with only DATABASE_URL and with its own data folder. */
async function deploy(database: string, dataDir = temporaryDir(), extra: object = {}) {
  if ((await sql(`select from pg_database where datname = '${database}'`)).length === 0)
    await sql(`create database ${database} owner tallystick_owner`)
  const ownerUrl = urlFor(postgres.ownerUrl, database)
  const start = async () => {
    const logins = getLogins({ apiUrl: null, workerUrl: null, dataDir, ...extra }, ownerUrl)
    await migrate({ ownerUrl, masterKey, logins: logins.names, passwords: logins.passwords })
    return logins
  }
  const logins = await start()
  /**
   * Asserts that the deployment works. It opens new connections, because old connections could still work after a
   * fault.
   */
  const works = async () => {
    const ledger = await withClient(testDatabase(logins.apiUrl), async (client) => {
      await checkLogin(client, 'server')
      return createTestLedger(client as never)
    })
    await withClient(ownerUrl, (owner) => checkLedger(owner as never, ledger.id))
    await withClient(testDatabase(logins.workerUrl), (client) => checkLogin(client, 'worker'))
    await (await openQueues(testDatabase(logins.workerUrl), openLog('silent'))).close()
  }
  return { ownerUrl, logins, start, works }
}

test('two deployments and another pg-boss, in one Postgres, do not notice each other', async (t) => {
  await sql('create database a owner tallystick_owner')
  await sql('grant create on database a to other')
  const other = async () => {
    const boss = new PgBoss({
      connectionString: urlFor(postgres.superuserUrl, 'a', 'other', 'other'),
      supervise: false,
      schedule: false,
    })
    boss.on('error', (error) => assert.fail(error))
    await boss.start()
    await boss.createQueue('mails')
    const id = await boss.send('mails', { to: 'somebody' })
    const [job] = await boss.fetch('mails')
    assert.equal(job!.id, id)
    await boss.complete('mails', job!.id)
    await withClient(urlFor(postgres.superuserUrl, 'a', 'other', 'other'), (client) =>
      client.query('create temporary table t ()'),
    )
    await boss.stop({ graceful: false })
  }
  const theirs = () =>
    sql(
      `select n.nspacl::text as schema, array(select c.relacl::text from pg_class c where c.relnamespace = n.oid order by c.oid) as tables,
         (select count(*) from pg_trigger g join pg_class c on c.oid = g.tgrelid where c.relnamespace = n.oid)::int as triggers
       from pg_namespace n where n.nspname = 'pgboss'`,
      'a',
    )
  await other()
  const before = await theirs()
  const a = await deploy('a')
  await other()
  assert.deepEqual(await theirs(), before)
  const b = await deploy('b')
  for (const work of [a.works, b.works, other]) await work()
  // When one deployment starts again, it must not change what the other deployment needs for new connections.
  for (const { start } of [a, b, a]) {
    await start()
    for (const work of [a.works, b.works, other]) await work()
  }
  assert.deepEqual(await theirs(), before)

  await t.test('a login of one may do nothing in the database of the other', async () => {
    for (const url of [a.logins.apiUrl, a.logins.workerUrl]) {
      await withClient(urlFor(url, 'b'), async (client) => {
        for (const schema of ['tallystick.entries', 'tallystick_jobs.job'])
          await assert.rejects(client.query(`select from ${schema}`), { code: '42501' })
        await assert.rejects(client.query('select tallystick.session_name()'), { code: '42501' })
      })
    }
  })

  await t.test('the logins connect to a database where PUBLIC may not', async () => {
    await sql('revoke connect on database b from public')
    await b.works()
    await assert.rejects(
      withClient(urlFor(a.logins.apiUrl, 'b'), async () => {}),
      { code: '42501' },
    )
  })

  await t.test(
    'a login used in another database keeps its password; a migration that would change it is refused',
    async () => {
      const passwords = { api: 'another', worker: 'another' }
      await assert.rejects(
        migrate({ ownerUrl: b.ownerUrl, masterKey, logins: a.logins.names, passwords }),
        /the login tallystick_api_a has another password and is used in a too: .*TALLYSTICK_API_DATABASE_URL.*database\.api\.user/,
      )
      await a.works()
      await b.works()
    },
  )

  await t.test(
    'migrate with new logins revokes the old ones, and refuses while these are connected',
    async () => {
      const ours = {
        apiUrl: urlFor(postgres.superuserUrl, 'b', 'b "serves"', 'p1'),
        workerUrl: urlFor(postgres.superuserUrl, 'b', 'b$$works', 'p2'),
      }
      const running = await connect(t, b.logins.apiUrl)
      const told: string[] = []
      const { names, passwords } = getLogins({ dataDir: temporaryDir(), ...ours }, b.ownerUrl)
      const change = () =>
        migrate({
          ownerUrl: b.ownerUrl,
          masterKey,
          logins: names,
          passwords,
          notify: (line) => told.push(line),
        })
      await assert.rejects(
        change(),
        /the logins tallystick_api_b, tallystick_worker_b of this database are in use. Name them in TALLYSTICK_API_DATABASE_URL/,
      )
      assert.deepEqual(await sql("select from pg_roles where rolname = 'b$$works'"), [])
      await b.works()
      await running.end()
      await change()
      assert.deepEqual(told, [
        'revoked the privileges of tallystick_api_b and tallystick_worker_b: processes that use these logins are refused from now on',
      ])
      const now = await deploy('b', temporaryDir(), ours)
      await now.works()
      await assert.rejects(b.works(), { code: '42501' })
      await a.works()
    },
  )
})

const BIN_15 = '/usr/lib/postgresql/15/bin'
const hasTools = existsSync(join(BIN_15, 'pg_dump'))

test('a dump that is restored without owners and privileges works after migrate', {
  skip: !hasTools && 'no pg_dump 15',
}, async (t) => {
  const server = await startTestPostgres(t, {
    binDir: BIN_15,
    settings: { ...TEST_SETTINGS, max_connections: 20, shared_buffers: '16MB' },
  })
  const passwords = { api: 'test-api', worker: 'test-worker' }
  await migrate({ ownerUrl: server.ownerUrl, masterKey, passwords })
  const apiUrlOf = (database: string) => urlFor(server.ownerUrl, database, 'tallystick_api', passwords.api)
  const ledger = await withClient(testDatabase(apiUrlOf('tallystick')), (client) =>
    createTestLedger(client as never),
  )
  const run = promisify(execFile)
  const dump = join(temporaryDir(), 'tallystick.dump')
  await run(join(BIN_15, 'pg_dump'), ['-Fc', '-O', '-x', '-f', dump, '-d', server.ownerUrl])
  await withClient(server.superuserUrl, (client) =>
    client.query('create database restored owner tallystick_owner'),
  )
  const ownerUrl = urlFor(server.ownerUrl, 'restored')
  await run(join(BIN_15, 'pg_restore'), ['--exit-on-error', '-O', '-x', '-d', ownerUrl, dump])
  const apiUrl = apiUrlOf('restored')
  await withClient(apiUrl, (client) =>
    assert.rejects(client.query('select from tallystick.entries'), { code: '42501' }),
  )
  assert.deepEqual(await migrate({ ownerUrl, masterKey, passwords }), [])
  const privileges = (url: string) =>
    withClient(url, async (client) => {
      const { rows } = await client.query(`
        select n.nspname || '.' || relname as name, relacl::text as acl from pg_class c join pg_namespace n on n.oid = relnamespace where nspname ~ '^tallystick'
        union all select relname || '.' || attname, attacl::text from pg_attribute a join pg_class c on c.oid = attrelid where attacl is not null and relnamespace::regnamespace::text ~ '^tallystick'
        union all select p.oid::regprocedure::text, proacl::text from pg_proc p where pronamespace::regnamespace::text ~ '^tallystick'
        union all select nspname, nspacl::text from pg_namespace where nspname ~ '^tallystick' order by 1, 2`)
      return rows
    })
  assert.deepEqual(await privileges(ownerUrl), await privileges(server.ownerUrl))
  await withClient(testDatabase(apiUrl), (client) => createTestLedger(client as never))
  await withClient(ownerUrl, (owner) => checkLedger(owner as never, ledger.id))
})

test('PUBLIC has no privilege on the two schemas, nor by default privileges', async () => {
  const { ownerUrl } = await deploy('closed')
  assert.deepEqual(await sql("select has_database_privilege('other', 'closed', 'temporary') as may"), [
    { may: false },
  ])
  const { rows } = await withClient(ownerUrl, (client) =>
    client.query(`
    with ours as (select oid, nspname, nspowner, nspacl from pg_namespace where nspname in ('tallystick', 'tallystick_jobs')),
    object (name, acl) as (
      select nspname::text, coalesce(nspacl, acldefault('n', nspowner)) from ours
      union all
      select c.oid::regclass::text, coalesce(relacl, acldefault(case relkind when 'S' then 's' else 'r' end::"char", relowner))
      from pg_class c join ours on ours.oid = relnamespace where relkind in ('r', 'p', 'v', 'm', 'f', 'S')
      union all
      select c.oid::regclass || '.' || attname, attacl
      from pg_attribute a join pg_class c on c.oid = attrelid join ours on ours.oid = relnamespace where attacl is not null
      union all
      select p.oid::regprocedure::text, coalesce(proacl, acldefault('f', proowner)) from pg_proc p join ours on ours.oid = pronamespace
      union all
      select t.oid::regtype::text, coalesce(typacl, acldefault('T', typowner))
      from pg_type t join ours on ours.oid = typnamespace where typtype in ('e', 'd', 'r')
      union all
      select 'default of ' || defaclobjtype::text, defaclacl from pg_default_acl
    )
    select name, count(*) over () from object o where exists (select from aclexplode(o.acl) x where x.grantee = 0)`),
  )
  assert.deepEqual(rows, [])
})

test('a schema of our names that somebody else made is refused by name, and stays as it is', async () => {
  await sql('create database taken owner tallystick_owner')
  for (const [schema, what] of [
    ['tallystick_jobs', 'table tallystick_jobs.job ()'],
    ['tallystick', 'function tallystick.f() returns int language sql return 1'],
  ] as const) {
    await sql(`create schema ${schema} authorization other`, 'taken')
    await sql(`create ${what}`, 'taken')
    await assert.rejects(
      deploy('taken'),
      new RegExp(`a schema ${schema} that Tallystick did not create: nothing was changed`),
    )
    await sql(`drop schema ${schema} cascade`, 'taken')
  }
  assert.deepEqual(await sql("select from pg_roles where rolname = 'tallystick_api_taken'"), [])
  const { works, start } = await deploy('taken')
  await works()
  // Another application can also create this schema after the first start.
  await sql('drop schema tallystick_jobs cascade', 'taken')
  await sql('create schema tallystick_jobs authorization other', 'taken')
  await sql('create table tallystick_jobs.job ()', 'taken')
  await assert.rejects(start(), /a schema tallystick_jobs that Tallystick did not create/)
})

test('a schema of another login is refused even if it looks migrated, and runs none of its code', async () => {
  await sql('create database likeness owner tallystick_owner')
  const schema = (owner: string) => `
    drop schema if exists tallystick cascade; create schema tallystick authorization ${owner}; grant all on schema tallystick to public;
    create table tallystick.schema_migrations (version int4 primary key, name text, sha256 text, applied_at timestamptz default now());
    grant all on tallystick.schema_migrations to public`
  for (const [made, owned] of [
    ['other', 'other'],
    ['tallystick_owner', 'other'],
    ['other', 'tallystick_owner'],
  ] as const) {
    await sql(`${schema(made)}; alter table tallystick.schema_migrations owner to ${owned}`, 'likeness')
    await assert.rejects(
      deploy('likeness'),
      /belongs to other, and migrate runs as tallystick_owner: nothing was changed. If it was restored/,
    )
  }
  // A login that is a member of the schemas' owner role may migrate too.
  await sql('drop schema tallystick cascade', 'likeness')
  await (await deploy('likeness')).works()
  await sql(
    `create role team; grant team to tallystick_owner; alter schema tallystick owner to team;
    alter table tallystick.schema_migrations owner to team; alter schema tallystick_jobs owner to team`,
    'likeness',
  )
  await withClient(urlFor(postgres.ownerUrl, 'likeness'), (client) => refuseForeignSchemas(client))
})

test('migrate names a login that the owner may not alter, create or grant, with advice', async () => {
  await sql('create role made_by_others login')
  await sql("create role second_owner login createrole password 'second'")
  await sql('create database second owner second_owner')
  const ownerUrl = urlFor(postgres.superuserUrl, 'second', 'second_owner', 'second')
  const names = { api: 'made_by_others', worker: 'second_worker' }
  const migrateAs = (logins: typeof names, passwords = { api: 'not-in-the-log', worker: 'nor-this' }) =>
    migrate({ ownerUrl, masterKey, logins, passwords })
  await assert.rejects(
    migrateAs(names),
    /permission denied to alter role: the login made_by_others.*`grant made_by_others to second_owner with admin option`.*URL without a password/s,
  )
  for (const powerful of ['second_owner', 'postgres'])
    await assert.rejects(migrateAs({ ...names, api: powerful }), /has too many privileges/)
  await assert.rejects(
    migrateAs({ ...names, worker: 'made_by_others' }),
    /have the same login made_by_others/,
  )
  await sql('grant made_by_others to second_owner with admin option')
  await migrateAs(names)
  await sql('alter role second_owner nocreaterole')
  await assert.rejects(migrateAs({ ...names, api: 'not_there' }), /`alter role second_owner createrole`/)
  await migrateAs(names, { api: null, worker: null } as never)
})

test('no password that was set is in Postgres’ log, though it logs all and failed statements', async () => {
  const { logins } = await deploy('logged')
  const unusual = { api: 'ﬁ\u00a0né\u00ad’"$$', worker: '漢字 %' }
  const ownerUrl = urlFor(postgres.ownerUrl, 'logged')
  await migrate({ ownerUrl, masterKey, logins: logins.names, passwords: unusual })
  for (const part of ['api', 'worker'] as const)
    await withClient(
      urlFor(postgres.superuserUrl, 'logged', logins.names[part], encodeURIComponent(unusual[part])),
      async () => {},
    )
  const log = readFileSync(join(postgres.dataDir, 'postgres.log'), 'utf8')
  const { owner, superuser } = JSON.parse(readFileSync(join(postgres.dataDir, 'passwords.json'), 'utf8'))
  assert.match(log, /alter role "tallystick_api_logged" with password ''SCRAM-SHA-256\$/)
  assert.match(log, /create role tallystick_owner .*SCRAM-SHA-256\$/)
  for (const password of [...Object.values(logins.passwords), ...Object.values(unusual), owner, superuser])
    assert.ok(!log.includes(password!), password!)
  for (const password of ['not-in-the-log', 'nor-this']) assert.ok(!log.includes(password), password)
})
