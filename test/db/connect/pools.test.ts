import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { commitBatch, type RetryCause } from '../../../src/append/commit.ts'
import { withClient } from '../../../src/db/connect/client.ts'
import { ConnectError } from '../../../src/db/connect/connect-error.ts'
import { Database } from '../../../src/db/connect/connection.ts'
import { classifyFailure, isUnavailable } from '../../../src/db/connect/failures.ts'
import {
  type DatabasePool,
  openReadPool,
  openSearchPool,
  openWritePool,
} from '../../../src/db/connect/pools.ts'
import { probeRead } from '../../../src/db/schema/migrate.ts'
import { connect, testDatabase } from '../../helpers/connect.ts'
import { createTestDatabase, type TestDatabase } from '../../helpers/database.ts'
import { startTcpProxy } from '../../helpers/tcp-proxy.ts'
import { createTestLedger, makeEntry } from '../../helpers/test-ledger.ts'
import { until } from '../../helpers/wait.ts'

const LOG = { warn: () => {} }

test('after a failover every connection of every pool is replaced', async (t) => {
  const { pools, pidsOf } = await openPools(t)
  const before = await pidsOf()
  await assert.rejects(pools[0]!.query('select 1 / 0'), /division by zero/)
  const unmoved = await pidsOf()
  assert.deepEqual(
    unmoved.filter((pid) => before.includes(pid)).length,
    before.length - 1,
    'an error of a query costs its own connection',
  )
  await assert.rejects(raise(pools[0]!, '25006'), /read-only/)
  const after = await pidsOf()
  assert.deepEqual(
    after.filter((pid) => unmoved.includes(pid)),
    [],
  )
})

test('a timeout of a search or probe closes its own connection only', async (t) => {
  const { pools, pidsOf, superuserUrl } = await openPools(t)
  const before = await pidsOf()
  await assert.rejects(pools[1]!.query('select pg_sleep(20)'), { code: '57014' })
  await withClient(superuserUrl, async (other) => {
    await other.query('begin')
    await other.query('lock table tallystick.schema_migrations')
    assert.match(String(await probeRead(pools[0]!, 100)), /timeout/)
    await other.query('rollback')
  })
  assert.equal(await probeRead(pools[0]!, 5_000), null)
  const after = await pidsOf()
  assert.equal(after.filter((pid) => before.includes(pid)).length, before.length - 2)
})

test('after a failover, a connection in use is closed on release', async (t) => {
  const { pools } = await openPools(t)
  const client = await pools[1]!.connect()
  const pid = await pidOf(client)
  await assert.rejects(raise(pools[0]!, '57P01'), /read-only/)
  assert.equal(await pidOf(client), pid)
  client.release()
  assert.notEqual(await pidOf(pools[1]!), pid)
})

test('a batch that meets a read-only database is committed by the next connection', async (t) => {
  const database = await createTestDatabase(t)
  const ledger = await createTestLedger(await connect(t, database.apiUrl))
  const pool = openWritePool(testDatabase(database.apiUrl), LOG)
  t.after(() => pool.end())
  const elsewhere = Object.assign(new URL(database.superuserUrl), { pathname: '/postgres' })
  const setReadOnly = (value: string) =>
    withClient(elsewhere.href, (client) =>
      client.query(`alter database ${database.name} set default_transaction_read_only = ${value}`),
    )
  await setReadOnly('on')
  await pool.query('select') // The first session of the pool stays read-only.
  const retries: RetryCause[] = []
  const append = async () => {
    const observer = { retried: (cause: RetryCause) => void retries.push(cause) }
    return (await commitBatch(pool, [makeEntry(ledger)], observer))[0]!.status
  }
  assert.equal(await append(), 'unavailable')
  assert.deepEqual(retries, ['unavailable'], 'once')
  await pool.query('select')
  await setReadOnly('off')
  assert.equal(await append(), 'appended')
})

test('settings of a pool apply only to its own connections', async (t) => {
  const { apiUrl } = await createTestDatabase(t)
  const database = new Database(apiUrl)
  const settingsOf = async (pool: DatabasePool) => {
    t.after(() => pool.end())
    const { rows } = await pool.query<{ seqscan: string; timeout: string }>(
      `select current_setting('enable_seqscan') as seqscan, current_setting('statement_timeout') as timeout`,
    )
    return rows[0]
  }
  assert.deepEqual(await settingsOf(openSearchPool(database, LOG)), { seqscan: 'off', timeout: '5s' })
  assert.deepEqual(await settingsOf(openReadPool(database, LOG)), { seqscan: 'off', timeout: '30s' })
  assert.deepEqual(await settingsOf(openWritePool(database, LOG)), { seqscan: 'on', timeout: '15s' })
})

test('any connection failure counts as unavailable, and leaves no socket open', async (t) => {
  const { apiUrl, superuserUrl, name } = await createTestDatabase(t)
  const proxy = await startTcpProxy(t, apiUrl)
  const url = (change: object) => Object.assign(new URL(proxy.url), change).href
  for (const [changed, reason] of [
    [
      url({ password: 'wrong' }),
      /password authentication failed for user "tallystick_api": check user and password/,
    ],
    [url({ password: '' }), /it asks for a password, and none is given/],
    [url({ pathname: '/nowhere' }), /database "nowhere" does not exist: create the database first/],
    [url({ port: '1' }), /ECONNREFUSED.*: check that Postgres runs there/],
    [
      url({ hostname: 'nowhere.invalid', search: 'sslmode=disable' }),
      /ENOTFOUND.*its host name is unknown: check the URL/,
    ],
  ] as const) {
    const pool = openReadPool(changed, LOG)
    t.after(() => pool.end())
    const error = await pool.query('select').catch((error: Error) => error)
    assert.ok(error instanceof ConnectError && isUnavailable(error), String(error))
    assert.match(error.message, reason)
    assert.match(error.message, /^cannot connect to the database tallystick_api@/)
    assert.doesNotMatch(error.message, /wrong/)
  }
  await withClient(superuserUrl, (client) =>
    until(async () => {
      const left = `select count(*)::int as count from pg_stat_activity where datname = $1 and pid <> pg_backend_pid()`
      return (await client.query(left, [name])).rows[0].count === 0
    }),
  )
  assert.equal(proxy.connections, 0)
})

test('a TLS error while connecting is unavailable; without ConnectError it is unknown', () => {
  const cause = Object.assign(new Error('certificate has expired'), { code: 'CERT_HAS_EXPIRED' })
  assert.equal(isUnavailable(new ConnectError('cannot connect', cause)), true)
  assert.equal(classifyFailure(cause).kind, 'unknown')
})

async function openPools(t: TestContext) {
  const { apiUrl, superuserUrl }: TestDatabase = await createTestDatabase(t)
  const database = new Database(apiUrl)
  const pools = [openReadPool(database, LOG), openSearchPool(database, LOG)]
  t.after(() => Promise.all(pools.map((pool) => pool.end())))
  const pidsOf = async () => {
    const pids: number[] = []
    for (const pool of pools) {
      const clients = [await pool.connect(), await pool.connect()]
      for (const client of clients) pids.push(await pidOf(client))
      for (const client of clients) client.release()
    }
    return pids
  }
  return { pools, pidsOf, superuserUrl }
}

async function pidOf(db: { query: DatabasePool['query'] }): Promise<number> {
  const { rows } = await db.query<{ pid: number }>('select pg_backend_pid() as pid')
  return rows[0]!.pid
}

function raise(pool: DatabasePool, code: string): Promise<unknown> {
  return pool.query(`do $$ begin raise exception sqlstate '${code}' using message = 'read-only'; end $$`)
}
