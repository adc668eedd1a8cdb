import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { runPreflight } from '../../cli/preflight/preflight.ts'
import { migrate } from '../../src/db/schema/migrate.ts'
import { type Config, parseConfig } from '../../src/run/config.ts'
import { startServer } from '../../src/run/server.ts'
import { startWorker } from '../../src/run/worker.ts'
import { makeMasterKey } from '../../src/signing/master-key.ts'
import { createTestDatabase, TEST_MASTER_KEY } from '../helpers/database.ts'
import { post } from '../helpers/deployment.ts'
import { startPgbouncer, whyNoPgbouncer } from '../helpers/pgbouncer.ts'
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

test('through one that pools by the transaction nothing starts, and it is said what to do', {
  skip,
}, async (t) => {
  const { config, ownerUrl } = await configureThrough(t, 'transaction')
  const reason =
    /reached through a pooler that hands connections on after each transaction: have it pool by the session/
  await assert.rejects(startServer(config), reason)
  await assert.rejects(startWorker(config), reason)
  const masterKey = makeMasterKey(TEST_MASTER_KEY)
  await assert.rejects(migrate({ ownerUrl, masterKey, passwords: { api: null, worker: null } }), reason)
  assert.equal((await preflight(config)).pooler, 'transaction')
})

async function configureThrough(t: TestContext, mode: 'session' | 'transaction') {
  const database = await createTestDatabase(t)
  const urls = [database.ownerUrl, database.apiUrl, database.workerUrl]
  const [ownerUrl, apiUrl, workerUrl] = await startPgbouncer(t, mode, urls)
  const config = parseConfig({
    TALLYSTICK_API_DATABASE_URL: apiUrl,
    TALLYSTICK_WORKER_DATABASE_URL: workerUrl,
    TALLYSTICK_MASTER_KEY: Buffer.from(TEST_MASTER_KEY).toString('hex'),
    TALLYSTICK_OPERATOR_KEY: OPERATOR_KEY,
    TALLYSTICK_PORT: '0',
    TALLYSTICK_DATA: temporaryDir(),
    TALLYSTICK_LOG_LEVEL: 'silent',
  })
  return { config, ownerUrl: ownerUrl! }
}

function preflight({ workerUrl }: Config) {
  const nothing = { connections: [], server: null, replica: null }
  return runPreflight({ ...nothing, gateMs: 5, database: workerUrl!, now: Date.now })
}
