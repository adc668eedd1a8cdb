import assert from 'node:assert/strict'
import { cpSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type pg from 'pg'
import { commitBatch } from '../../../src/append/commit.ts'
import { withClient } from '../../../src/db/connect/client.ts'
import { Fence } from '../../../src/db/connect/fence.ts'
import { openReadPool, openWritePool } from '../../../src/db/connect/pools.ts'
import { migrate } from '../../../src/db/schema/migrate.ts'
import { clusterDir, passwordsFile } from '../../../src/run/postgres/layout.ts'
import { type RunningPostgres, startPostgres } from '../../../src/run/postgres/start.ts'
import { makeMasterKey } from '../../../src/signing/master-key.ts'
import { connect, testDatabase } from '../../helpers/connect.ts'
import { startTestPostgres, TEST_MASTER_KEY, TEST_PASSWORDS } from '../../helpers/database.ts'
import { temporaryDirInMemory } from '../../helpers/postgres.ts'
import { loseStandbys, setStandbys } from '../../helpers/sync-standbys.ts'
import { startTcpProxy, type TcpProxy } from '../../helpers/tcp-proxy.ts'
import { createTestLedger, makeEntry } from '../../helpers/test-ledger.ts'
import { until } from '../../helpers/wait.ts'
import { takeBaseBackup } from '../../system/restore/base-backup.ts'

const LOG = { warn: () => {} }

test('of two primaries of one system, the one with the lower timeline is refused as replaced', () => {
  const fence = new Fence()
  assert.equal(fence.admit({ system: '7', timeline: 2 }), false, 'the first')
  assert.equal(fence.admit({ system: '7', timeline: 2 }), false)
  assert.throws(
    () => fence.admit({ system: '7', timeline: 1 }),
    /its timeline is 1, and .* has seen timeline 2/,
  )
  assert.equal(fence.admit({ system: '7', timeline: 10 }), true)
  assert.equal(fence.isReplaced({ system: '7', timeline: 9 }), true)
  assert.equal(fence.isReplaced({ system: '8', timeline: 1 }), false, 'another database')
})

test('a standby is refused, and a replaced primary is never used again', async (t) => {
  const { primary, proxy, url } = await startReplaceable(t)
  const ledger = await createTestLedger(await connect(t, url))
  const standby = await startStandby(t, primary)
  const database = testDatabase(url)
  const [write, read] = [openWritePool(database, LOG), openReadPool(database, LOG)]
  t.after(() => Promise.all([write.end(), read.end()]))
  const append = async () => (await commitBatch(write, [makeEntry(ledger)]))[0]!
  assert.equal((await append()).status, 'appended')

  proxy.leadTo(standby.ownerUrl)
  await cutAll(proxy, [write, read])
  const refused = await append()
  assert.ok(refused.status === 'unavailable' && /it is a standby/.test(refused.error.message))
  await assert.rejects(read.query('select'), /it is a standby/)

  // From here on, the old primary keeps running while the standby is promoted. Three connections to the old primary
  // stay open.
  proxy.leadTo(primary.ownerUrl)
  await until(async () => (await append()).status === 'appended')
  const held = await read.connect()
  const size = await countEntries(primary)
  await until(async () => (await countEntries(standby)) === size)
  await withClient(standby.superuserUrl, (client) => client.query('select pg_promote()'))
  proxy.leadTo(standby.ownerUrl)
  assert.equal(
    await portOf(read),
    standby.port,
    'a connection that is made now tells that there is a new primary',
  )
  assert.equal((await append()).status, 'appended')
  held.release()
  assert.equal(await portOf(read), standby.port)
  assert.deepEqual([await countEntries(primary), await countEntries(standby)], [size, size + 1])

  proxy.leadTo(primary.ownerUrl)
  await cutAll(proxy, [write, read])
  const fenced = await append()
  assert.ok(fenced.status === 'unavailable' && /it is an old primary/.test(fenced.error.message))
  await assert.rejects(
    read.query('select'),
    /it is an old primary: its timeline is 1, and .* has seen timeline 2/,
  )
  assert.equal(await countEntries(primary), size)

  proxy.leadTo(standby.ownerUrl)
  await until(async () => (await append()).status === 'appended')
})

test('a commit that stopped waiting for its standby has the outcome unknown, though Postgres reports success', async (t) => {
  const { primary, url } = await startReplaceable(t)
  const ledger = await createTestLedger(await connect(t, url))
  const write = openWritePool(testDatabase(url), LOG)
  t.after(() => write.end())
  // The connection is made first, because a new connection would itself wait for the standby.
  assert.equal((await commitBatch(write, [makeEntry(ledger)]))[0]!.status, 'appended')
  await loseStandbys(primary)
  await withClient(primary.superuserUrl, async (client) => {
    const committing = commitBatch(write, [makeEntry(ledger)])
    const cancel = `select pg_cancel_backend(pid) from pg_stat_activity where wait_event = 'SyncRep'`
    await until(async () => (await client.query(cancel)).rowCount === 1)
    const [outcome] = await committing
    assert.ok(outcome!.status === 'unknown' && /was not replicated/.test(outcome!.error.message))
  })
  await setStandbys(primary, '')
  assert.equal((await commitBatch(write, [makeEntry(ledger)]))[0]!.status, 'appended')
})

async function startReplaceable(t: TestContext) {
  const primary = await startTestPostgres(t)
  await migrate({
    ownerUrl: primary.ownerUrl,
    masterKey: makeMasterKey(TEST_MASTER_KEY),
    passwords: TEST_PASSWORDS,
  })
  const proxy = await startTcpProxy(t, primary.ownerUrl)
  const login = { username: 'tallystick_api', password: TEST_PASSWORDS.api }
  return { primary, proxy, url: Object.assign(new URL(proxy.url), login).href }
}

async function startStandby(t: TestContext, primary: RunningPostgres): Promise<RunningPostgres> {
  const dataDir = temporaryDirInMemory()
  mkdirSync(dataDir, { recursive: true })
  await takeBaseBackup(primary.superuserUrl, clusterDir(primary.dataDir), clusterDir(dataDir))
  cpSync(passwordsFile(primary.dataDir), passwordsFile(dataDir))
  writeFileSync(join(clusterDir(dataDir), 'standby.signal'), '')
  const standby = await startPostgres({
    dataDir,
    temporary: true,
    settings: { primary_conninfo: primary.superuserUrl.replace(/\/postgres$/, '') },
  })
  t.after(() => standby.stop('immediate'))
  return standby
}

/** Closes all connections of the proxy. Resolves when the pools have noticed. */
async function cutAll(proxy: TcpProxy, pools: readonly pg.Pool[]): Promise<void> {
  proxy.cut()
  await until(async () => pools.every(({ totalCount }) => totalCount === 0))
}

async function countEntries({ superuserUrl }: RunningPostgres): Promise<number> {
  const url = Object.assign(new URL(superuserUrl), { pathname: '/tallystick' })
  return withClient(url.href, async (client) => {
    const { rows } = await client.query<{ count: number }>(
      'select count(*)::int as count from tallystick.entries',
    )
    return rows[0]!.count
  })
}

async function portOf(pool: ReturnType<typeof openReadPool>): Promise<number> {
  const { rows } = await pool.query<{ port: number }>(`select current_setting('port')::int as port`)
  return rows[0]!.port
}
