import assert from 'node:assert/strict'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { ACCEPTABLE, type Acceptable } from '../../../src/db/connect/acceptable.ts'
import { withClient, withOwner } from '../../../src/db/connect/client.ts'
import { Database, DatabaseClient } from '../../../src/db/connect/connection.ts'
import { parseDatabaseOptions } from '../../../src/db/connect/options.ts'
import { openReadPool } from '../../../src/db/connect/pools.ts'
import { findUnmet, type SessionFacts } from '../../../src/db/connect/session.ts'
import { migrate } from '../../../src/db/schema/migrate.ts'
import { makeMasterKey } from '../../../src/signing/master-key.ts'
import { testDatabase } from '../../helpers/connect.ts'
import {
  createEmptyDatabase,
  createTestDatabase,
  startTestPostgres,
  TEST_MASTER_KEY,
  TEST_PASSWORDS,
  urlFor,
} from '../../helpers/database.ts'
import { temporaryDir } from '../../helpers/postgres.ts'
import { until } from '../../helpers/wait.ts'

const migrateNow = (ownerUrl: string | Database) =>
  migrate({ ownerUrl, masterKey: makeMasterKey(TEST_MASTER_KEY), passwords: TEST_PASSWORDS })

const FIT: SessionFacts = {
  server_version_num: '150000',
  server_encoding: 'UTF8',
  fsync: 'on',
  full_page_writes: 'on',
  data_sync_retry: 'off',
  zero_damaged_pages: 'off',
  session_replication_role: 'origin',
}

test('each setting that durability needs is refused by name, with advice', () => {
  assert.deepEqual(findUnmet(FIT), [])
  const unfit: readonly (readonly [keyof SessionFacts, string])[] = [
    ['server_version_num', '140021'],
    ['server_encoding', 'SQL_ASCII'],
    ['fsync', 'off'],
    ['full_page_writes', 'off'],
    ['data_sync_retry', 'on'],
    ['zero_damaged_pages', 'on'],
    ['session_replication_role', 'replica'],
  ]
  for (const [name, value] of unfit) {
    const [unmet, ...more] = findUnmet({ ...FIT, [name]: value })
    assert.deepEqual([unmet?.name, more], [name, []])
    assert.match(unmet!.detail, new RegExp(`^${name} = ${value}: `))
    const accepted = findUnmet({ ...FIT, [name]: value }, ACCEPTABLE).length === 0
    assert.equal(accepted, ['fsync', 'full_page_writes'].includes(name))
  }
})

test('TALLYSTICK_DATABASE_ACCEPT accepts only full_page_writes and fsync', () => {
  const accepted = (text: string) => parseDatabaseOptions({ TALLYSTICK_DATABASE_ACCEPT: text })
  assert.deepEqual(accepted('full_page_writes, fsync').options.accepted, ['full_page_writes', 'fsync'])
  assert.deepEqual(accepted('').options.accepted, [])
  for (const text of ['server_encoding', 'fsync,', 'FSYNC'])
    assert.deepEqual(
      accepted(text).issues.map(({ path }) => path),
      [['TALLYSTICK_DATABASE_ACCEPT']],
      text,
    )
})

/**
 * Pairs of values: a value that a database or login may set for every session, and the value that our sessions must
 * have.
 */
const SETTINGS: Readonly<Record<string, readonly [theirs: string, ours: string]>> = {
  synchronous_commit: ['off', 'on'],
  // 250 ms is enough to set up the session on a busy machine.
  statement_timeout: ['250ms', '30s'],
  lock_timeout: ['1ms', '0'],
  idle_in_transaction_session_timeout: ['1ms', '0'],
  idle_session_timeout: ['5s', '0'],
  transaction_timeout: ['250ms', '0'],
  client_encoding: ['LATIN1', 'UTF8'],
  client_min_messages: ['error', 'warning'],
  standard_conforming_strings: ['off', 'on'],
  datestyle: ['SQL, DMY', 'ISO, DMY'],
  intervalstyle: ['iso_8601', 'postgres'],
  timezone: ['Asia/Kathmandu', 'UTC'],
  bytea_output: ['escape', 'hex'],
  extra_float_digits: ['-3', '1'],
  array_nulls: ['off', 'on'],
  transform_null_equals: ['on', 'off'],
  row_security: ['off', 'on'],
  default_transaction_isolation: ['serializable', 'read committed'],
  default_transaction_deferrable: ['on', 'off'],
  'plpgsql.extra_errors': ['all', 'none'],
}

test('sessions set every needed setting themselves, so that later changes of the login have no effect', async (t) => {
  const { superuserUrl, ownerUrl } = await startTestPostgres(t)
  await migrateNow(ownerUrl)
  const apiUrl = urlFor(ownerUrl, new URL(ownerUrl).pathname.slice(1), 'tallystick_api', TEST_PASSWORDS.api)
  await withClient(superuserUrl, async (client) => {
    for (const [name, [theirs]] of Object.entries(SETTINGS))
      await client.query(`alter role tallystick_api set ${name} = ${pg.escapeLiteral(theirs)}`)
  })
  const pool = openReadPool(testDatabase(apiUrl), { warn: () => {} })
  const client = await pool.connect()
  // The pool is ended even after a failed assertion. Otherwise the pool would wait for this client.
  t.after(() => {
    client.release(true)
    return pool.end()
  })
  for (const [name, [, ours]] of Object.entries(SETTINGS))
    assert.equal((await client.query(`select current_setting($1) as v`, [name])).rows[0].v, ours, name)
  // A reload of the configuration changes only values that come from the default of a database or login. So our session
  // must have set each value itself.
  const { rows } = await client.query<{ name: string }>(
    `select name from pg_settings where name = any($1) and source <> 'session'`,
    [Object.keys(SETTINGS)],
  )
  assert.deepEqual(rows, [])
  await withClient(superuserUrl, (superuser) => superuser.query('alter role tallystick_api reset all'))
  for (const strong of ['remote_write', 'remote_apply']) {
    await withClient(superuserUrl, (superuser) =>
      superuser.query(`alter role tallystick_api set synchronous_commit = '${strong}'`),
    )
    const found = await withClient(apiUrl, (each) => each.query('show synchronous_commit'))
    assert.equal(found.rows[0].synchronousCommit, strong)
  }
})

test('after a new connection finds a bad server setting, open connections are closed too', async (t) => {
  const { ownerUrl } = await startTestPostgres(t, { settings: { full_page_writes: 'off' } })
  // This Postgres gets its settings as arguments, and a reload cannot change arguments. So the test changes the
  // requirement instead.
  const accepted: Acceptable[] = ['full_page_writes']
  const options = { caFile: null, password: null, accepted }
  await migrateNow(new Database(ownerUrl, options))
  const pool = openReadPool(new Database(ownerUrl, options, () => Buffer.alloc(0)), { warn: () => {} })
  t.after(() => pool.end())
  const busy = await pool.connect()
  accepted.pop()
  await assert.rejects(pool.query('select'), /full_page_writes = off/)
  await busy.query('select')
  busy.release()
  await assert.rejects(pool.query('select'), /full_page_writes = off/)
})

test('a bad setting of one login closes no other connection of the pool', async (t) => {
  const { apiUrl, superuserUrl, name } = await createTestDatabase(t)
  const pool = openReadPool(testDatabase(apiUrl), { warn: () => {} })
  t.after(() => pool.end())
  const busy = await pool.connect()
  await withClient(superuserUrl, (client) =>
    client.query(`alter role tallystick_api in database ${name} set session_replication_role = replica`),
  )
  await assert.rejects(pool.query('select'), /session_replication_role = replica/)
  await busy.query('select pg_sleep(0.1)')
  busy.release()
  await pool.query('select')
})

test('migrate and logins refuse a server that could lose or garble data, unless the settings are accepted', async (t) => {
  const settings = { fsync: 'off', full_page_writes: 'off', data_sync_retry: 'on', shared_buffers: '16MB' }
  const { ownerUrl, superuserUrl } = await startTestPostgres(t, { settings })
  const accepting = (...accepted: readonly ('fsync' | 'full_page_writes')[]) =>
    new Database(ownerUrl, { caFile: null, password: null, accepted })
  await assert.rejects(
    migrateNow(ownerUrl),
    /fsync = off: .*; full_page_writes = off: .*; data_sync_retry = on: /,
  )
  await assert.rejects(migrateNow(accepting('fsync', 'full_page_writes')), /: data_sync_retry = on: [^;]*$/)
  for (const encoding of ['LATIN1', 'WIN1252', 'SQL_ASCII', 'EUC_JP']) {
    await withClient(superuserUrl, (client) =>
      client.query(
        `create database enc_${encoding} owner tallystick_owner encoding '${encoding}' lc_collate 'C' lc_ctype 'C' template template0`,
      ),
    )
    const url = urlFor(ownerUrl, `enc_${encoding.toLowerCase()}`)
    await assert.rejects(
      migrateNow(url),
      new RegExp(`server_encoding = ${encoding}: .* cannot change its encoding`),
    )
  }
})

test('objects that the owner creates depend on no setting of the database', async (t) => {
  const { ownerUrl, superuserUrl } = await createEmptyDatabase(t)
  const name = new URL(ownerUrl).pathname.slice(1)
  const theirs = {
    ...Object.fromEntries(Object.entries(SETTINGS).map(([setting, [value]]) => [setting, value])),
    default_transaction_read_only: 'on',
    check_function_bodies: 'off',
    search_path: 'nowhere',
  }
  // The superuser's session uses our code too, so it must also work with these settings.
  await withClient(superuserUrl, async (client) => {
    for (const [setting, value] of Object.entries(theirs))
      await client.query(`alter database ${name} set ${setting} = ${pg.escapeLiteral(value)}`)
  })
  assert.ok((await migrateNow(ownerUrl)).length > 0)
  await withOwner(ownerUrl, async (client) => {
    await sleep(5)
    const { rows } = await client.query<{ count: number }>('select count(*) as count from tallystick.guards')
    assert.ok(rows[0]!.count > 100)
  })
})

/** Names of variables of libpq (its documentation, "Environment Variables"), of pg and of pgpass. */
const LIBPQ =
  'HOST HOSTADDR PORT DATABASE USER PASSWORD PASSFILE REQUIREAUTH CHANNELBINDING SERVICE SERVICEFILE OPTIONS APPNAME SSLMODE ' +
  'SSLNEGOTIATION REQUIRESSL SSLCOMPRESSION SSLCERT SSLKEY SSLCERTMODE SSLROOTCERT SSLCRL SSLCRLDIR SSLSNI REQUIREPEER ' +
  'SSLMINPROTOCOLVERSION SSLMAXPROTOCOLVERSION GSSENCMODE KRBSRVNAME GSSLIB GSSDELEGATION CONNECT_TIMEOUT CLIENTENCODING ' +
  'TARGETSESSIONATTRS LOADBALANCEHOSTS MINPROTOCOLVERSION MAXPROTOCOLVERSION DATESTYLE TZ GEQO SYSCONFDIR LOCALEDIR ' +
  'REPLICATION BINARY CLIENT_ENCODING FALLBACK_APPLICATION_NAME STATEMENT_TIMEOUT QUERY_TIMEOUT'

test('nothing that libpq or pg would read from the environment reaches a connection', async (t) => {
  const names = [...LIBPQ.split(' '), ...Object.keys(pg.defaults).map((key) => key.toUpperCase())]
  const { apiUrl } = await createTestDatabase(t)
  const bare = new URL(apiUrl)
  bare.password = ''
  const describe = (url: string) => {
    const client = new DatabaseClient(new Database(url).clientConfig()) as unknown as Record<
      string,
      unknown
    > & {
      connectionParameters: object
    }
    const { host, port, user, database, ssl, replication, binary, pipeline, sslNegotiation } = client
    const own = { host, port, user, database, ssl, replication, binary, pipeline, sslNegotiation }
    return { ...own, parameters: { ...client.connectionParameters } }
  }
  const before = [apiUrl, bare.href].map(describe)
  const { env } = process
  const file = join(mkdtempSync(join(temporaryDir(), 'pgpass-')), 'pgpass')
  writeFileSync(file, `*:*:*:*:${TEST_PASSWORDS.api}\n`, { mode: 0o600 })
  process.env = {
    ...env,
    ...Object.fromEntries(names.map((name) => [`PG${name}`, 'of-the-environment'])),
    PGPASSFILE: file,
    PGSSLMODE: 'no-verify',
    PGSSLNEGOTIATION: 'direct',
    PGOPTIONS: '-c synchronous_commit=off -c search_path=pg_temp',
    PGCONNECT_TIMEOUT: '1',
  }
  try {
    assert.deepEqual([apiUrl, bare.href].map(describe), before)
    const { rows } = await withClient(apiUrl, (client) =>
      client.query(
        `select current_setting('application_name') as name, current_setting('search_path') as path`,
      ),
    )
    assert.deepEqual({ ...rows[0] }, { name: 'tallystick', path: '"$user", public' })
    delete process.env['PGPASSWORD']
    await assert.rejects(
      withClient(bare.href, async () => {}),
      /it asks for a password, and none is given/,
    )
  } finally {
    process.env = env
  }
})

test('an idle connection that was ended is counted, and nobody is warned', async (t) => {
  const { apiUrl } = await createTestDatabase(t)
  const warned: unknown[] = []
  const pool = openReadPool(apiUrl, { warn: (details) => warned.push(details) })
  t.after(() => pool.end())
  await pool.query("set idle_session_timeout = '20ms'")
  await until(() => pool.failures.idle === 1)
  await pool.query('select')
  assert.deepEqual(warned, [])
})
