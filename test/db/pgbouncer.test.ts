import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import pg from 'pg'
import { runPreflight } from '../../cli/preflight/preflight.ts'
import { openClient } from '../../src/db/connect/client.ts'
import { Database } from '../../src/db/connect/connection.ts'
import { findPooler } from '../../src/db/connect/pooler.ts'
import { migrate } from '../../src/db/schema/migrate.ts'
import { type Config, parseConfig } from '../../src/run/config.ts'
import { startServer } from '../../src/run/server.ts'
import { startWorker } from '../../src/run/worker.ts'
import { makeMasterKey } from '../../src/signing/master-key.ts'
import { createTestDatabase, TEST_MASTER_KEY } from '../helpers/database.ts'
import { startPgbouncer, whyNoPgbouncer } from '../helpers/pgbouncer.ts'
import { post } from '../helpers/post.ts'
import { temporaryDir } from '../helpers/postgres.ts'
import { until } from '../helpers/wait.ts'

const skip = whyNoPgbouncer() ?? false
const OPERATOR_KEY = `tlo_${'3'.repeat(32)}`

test('through a PgBouncer that pools by the session, everything works, and it needs no setting', {
  skip,
}, async (t) => {
  const { config, ownerUrl } = await configureThrough(t, 'session')
  const masterKey = makeMasterKey(TEST_MASTER_KEY)
  assert.deepEqual(await migrate({ ownerUrl, masterKey, passwords: { api: null, worker: null } }), [])
  const worker = await startWorker(config)
  t.after(() => worker.close())
  const server = await startServer(config)
  t.after(() => server.close())
  const { key } = await post<{ key: { key: string } }>(`${server.url}/v1/ledgers`, OPERATOR_KEY, {
    name: 'pooled',
  })
  const record = { type: 'generic/1', payload: { over: 'pgbouncer' } }
  await Promise.all(Array.from({ length: 20 }, () => post(`${server.url}/v1/records`, key.key, record)))
  const get = async (path: string) => {
    const response = await fetch(`${server.url}${path}`, { headers: { authorization: `Bearer ${key.key}` } })
    return await response.text()
  }
  assert.equal(JSON.parse(await get('/v1/records?type=generic/1')).data.length, 20)
  await until(async () => (await get('/v1/checkpoints/latest')).split('\n')[1] === '23')
  assert.equal((await preflight(config)).pooler, 'present')
})

for (const mode of ['transaction', 'statement'] as const)
  test(`behind pool mode ${mode} server, worker and migrate refuse to start, with advice`, {
    skip,
  }, async (t) => {
    const { config, ownerUrl } = await configureThrough(t, mode)
    const reason = /behind a pooler that shares connections between sessions: set its pool mode to session/
    await assert.rejects(startServer(config), reason)
    await assert.rejects(startWorker(config), reason)
    const masterKey = makeMasterKey(TEST_MASTER_KEY)
    await assert.rejects(migrate({ ownerUrl, masterKey, passwords: { api: null, worker: null } }), reason)
    assert.equal((await preflight(config)).pooler, 'transaction')
  })

test('a busy transaction pooler with round robin is detected too', { skip }, async (t) => {
  const { config, apiUrl } = await configureThrough(t, 'transaction', [
    'default_pool_size = 12',
    'server_round_robin = 1',
  ])
  let isOver = false
  const busy = Array.from({ length: 6 }, async () => {
    const client = new pg.Client({ connectionString: apiUrl })
    await client.connect()
    while (!isOver) await client.query('select 1')
    await client.end()
  })
  t.after(async () => {
    isOver = true
    await Promise.all(busy)
  })
  for (let start = 0; start < 10; start++)
    await assert.rejects(startServer(config), /shares connections between sessions/)
})

test('a pooler without a second connection is not mistaken for pool mode session', {
  skip,
}, async (t) => {
  // The pooler has only one connection to the database. It lets the second client wait until this process gives up.
  const { config } = await configureThrough(t, 'transaction', [
    'default_pool_size = 1',
    'query_wait_timeout = 1',
  ])
  const holder = new pg.Client({ connectionString: config.apiUrl! })
  const found = (async () => {
    const client = await openClient(config.apiUrl!)
    try {
      await holder.connect()
      await holder.query('begin')
      return await findPooler(client, new Database(config.apiUrl!))
    } finally {
      await client.end()
    }
  })()
  await assert.rejects(found)
  await holder.end()
})

async function configureThrough(
  t: TestContext,
  mode: 'session' | 'transaction' | 'statement',
  settings?: readonly string[],
) {
  const database = await createTestDatabase(t)
  const urls = [database.ownerUrl, database.apiUrl, database.workerUrl]
  const [ownerUrl, apiUrl, workerUrl] = await startPgbouncer(t, mode, urls, settings)
  const config = parseConfig({
    TALLYSTICK_API_DATABASE_URL: apiUrl,
    TALLYSTICK_WORKER_DATABASE_URL: workerUrl,
    TALLYSTICK_MASTER_KEY: Buffer.from(TEST_MASTER_KEY).toString('hex'),
    TALLYSTICK_OPERATOR_KEY: OPERATOR_KEY,
    TALLYSTICK_PORT: '0',
    TALLYSTICK_DATA: temporaryDir(),
    TALLYSTICK_LOG_LEVEL: 'silent',
  })
  return { config, ownerUrl: ownerUrl!, apiUrl: apiUrl! }
}

function preflight({ workerUrl }: Config) {
  const nothing = { server: null, replica: null }
  return runPreflight({ ...nothing, gateMs: 5, database: workerUrl!, now: Date.now })
}
