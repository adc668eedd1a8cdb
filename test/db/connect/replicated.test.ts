import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { commitBatch } from '../../../src/append/commit.ts'
import { withClient } from '../../../src/db/connect/client.ts'
import { openPeerPool, openReadPool, openWebhookPool, openWritePool } from '../../../src/db/connect/pools.ts'
import { migrate } from '../../../src/db/schema/migrate.ts'
import type { RunningPostgres } from '../../../src/run/postgres/start.ts'
import { makeMasterKey } from '../../../src/signing/master-key.ts'
import { connect, testDatabase } from '../../helpers/connect.ts'
import { startTestPostgres, TEST_MASTER_KEY, TEST_PASSWORDS, urlFor } from '../../helpers/database.ts'
import { startStandby } from '../../helpers/replica.ts'
import { listWaiting, loseStandbys, setStandbys } from '../../helpers/sync-standbys.ts'
import { createTestLedger, makeEntry, makeIdempotency } from '../../helpers/test-ledger.ts'
import { until } from '../../helpers/wait.ts'

const LOG = { warn: () => {} }
const UNCONFIRMED = /no synchronous standby has confirmed/

test('after a crash nothing is read or replayed that no synchronous standby has', async (t) => {
  const primary = await startTestPostgres(t, { settings: { max_wal_senders: 4 } })
  await migrate({
    ownerUrl: primary.ownerUrl,
    masterKey: makeMasterKey(TEST_MASTER_KEY),
    passwords: TEST_PASSWORDS,
  })
  await startStandby(t, primary)
  await setStandbys(primary, '*')
  const apiUrl = urlFor(primary.superuserUrl, 'tallystick', 'tallystick_api', TEST_PASSWORDS.api)
  const workerUrl = urlFor(primary.superuserUrl, 'tallystick', 'tallystick_worker', TEST_PASSWORDS.worker)
  const ledger = await createTestLedger(await connect(t, apiUrl))
  const [api, worker] = [openPools(t, apiUrl), openPools(t, workerUrl)]
  const entry = makeEntry(ledger, { idempotency: makeIdempotency('key', 'request') })
  const append = async () => (await commitBatch(api.write, [entry]))[0]!
  await worker.read.query('select')
  assert.equal((await commitBatch(api.write, [makeEntry(ledger)]))[0]!.status, 'appended')
  const size = await countEntries(primary)

  await loseStandbys(primary)
  const committing = append()
  await until(async () => (await listWaiting(primary)).length === 1)
  // Postgres recovers from this crash by itself, as it does if the kernel kills a process that uses too much memory.
  process.kill((await listWaiting(primary))[0]!, 'SIGKILL')
  assert.equal((await committing).status, 'unknown')
  await until(() =>
    countEntries(primary).then(
      (count) => count === size + 1,
      () => false,
    ),
  )

  // Postgres shows the entry, but no standby has confirmed it. Both processes try to connect.
  const [replayed] = await Promise.all([
    append(),
    ...[api.read, worker.read, worker.webhooks, worker.peers].map((pool) =>
      assert.rejects(pool.query('select'), UNCONFIRMED),
    ),
  ])
  assert.ok(replayed.status === 'unavailable' && UNCONFIRMED.test(replayed.error.message))
  assert.equal((await listWaiting(primary)).length, 1, 'attempts do not use up the connections')

  // Sessions that still wait when a standby confirms go on at once.
  const pools = [api.read, worker.read, worker.webhooks, worker.peers]
  const waiting = Promise.all([append(), ...pools.map((pool) => pool.query('select'))])
  await setStandbys(primary, '*')
  assert.equal((await waiting)[0].status, 'replayed')
  assert.equal(await countEntries(primary), size + 1)

  // The standby is away again. The primary has not crashed since, so the standby has everything that the primary shows.
  await setStandbys(primary, 'nobody')
  await withClient(api.database, async () => {})
  await assert.rejects(
    withClient(testDatabase(apiUrl), async () => {}),
    UNCONFIRMED,
  )
  // A managed database may hide the view that the wait reads. Then a session does not wait.
  await withClient(urlFor(primary.superuserUrl, 'tallystick'), async (client) => {
    await client.query('set synchronous_commit = local')
    await client.query('revoke select on pg_catalog.pg_stat_archiver from public')
  })
  await withClient(testDatabase(apiUrl), async () => {})
})

function openPools(t: TestContext, url: string) {
  const database = testDatabase(url)
  const pools = {
    write: openWritePool(database, LOG),
    read: openReadPool(database, LOG),
    webhooks: openWebhookPool(database, LOG),
    peers: openPeerPool(database, LOG),
  }
  t.after(() => Promise.all(Object.values(pools).map((pool) => pool.end())))
  return { database, ...pools }
}

async function countEntries({ superuserUrl }: RunningPostgres): Promise<number> {
  return withClient(urlFor(superuserUrl, 'tallystick'), async (client) => {
    const { rows } = await client.query<{ count: number }>(
      'select count(*)::int as count from tallystick.entries',
    )
    return rows[0]!.count
  })
}
