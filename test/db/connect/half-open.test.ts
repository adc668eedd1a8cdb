import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { Database } from '../../../src/db/connect/connection.ts'
import { watchHalfOpen } from '../../../src/db/connect/half-open.ts'
import { openReadPool } from '../../../src/db/connect/pools.ts'
import { createTestDatabase } from '../../helpers/database.ts'
import { startTcpProxy } from '../../helpers/tcp-proxy.ts'

const LOG = { warn: () => {} }

test('a connection whose other end vanished is closed within seconds, and the next one works', async (t) => {
  const { proxy, pool } = await openWatched(t)
  await pool.query('select')
  proxy.strand()
  const startedAt = performance.now()
  await assert.rejects(pool.query('select'), /^Error: Connection terminated unexpectedly/)
  const tookMs = performance.now() - startedAt
  assert.ok(tookMs < 6_000, `${tookMs} ms`)
  await pool.query('select')
})

test('a query that takes long is waited for', async (t) => {
  const { pool } = await openWatched(t)
  await pool.query('select pg_sleep(3.5)')
})

async function openWatched(t: TestContext) {
  const { apiUrl } = await createTestDatabase(t)
  const proxy = await startTcpProxy(t, apiUrl)
  const database = new Database(proxy.url)
  const pool = openReadPool(database, LOG)
  const stop = watchHalfOpen(database, 'none', LOG)
  t.after(async () => {
    stop()
    await pool.end()
  })
  return { proxy, pool }
}
