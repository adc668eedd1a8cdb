import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { withClient } from '../../src/db/connect/client.ts'
import { migrate } from '../../src/db/schema/migrate.ts'
import { parseConfig } from '../../src/run/config.ts'
import { startServer } from '../../src/run/server.ts'
import { startWorker } from '../../src/run/worker.ts'
import { makeMasterKey } from '../../src/signing/master-key.ts'
import { startTestPostgres } from '../helpers/database.ts'
import { temporaryDir } from '../helpers/postgres.ts'

const PASSWORDS = { api: 'waited', worker: 'waited' }
const MASTER_KEY = new Uint8Array(32).fill(4)

test('with a wait time, server and worker start once the database is migrated; without, they fail at once', async (t) => {
  const { ownerUrl } = await startTestPostgres(t)
  const config = (seconds: number) => {
    const url = (username: string, password: string) =>
      Object.assign(new URL(ownerUrl), { username, password }).href
    return parseConfig({
      TALLYSTICK_API_DATABASE_URL: url('tallystick_api', PASSWORDS.api),
      TALLYSTICK_WORKER_DATABASE_URL: url('tallystick_worker', PASSWORDS.worker),
      TALLYSTICK_MASTER_KEY: Buffer.from(MASTER_KEY).toString('hex'),
      TALLYSTICK_SCHEMA_WAIT_SECONDS: String(seconds),
      TALLYSTICK_PORT: '0',
      TALLYSTICK_DATA: temporaryDir(),
      TALLYSTICK_LOG_LEVEL: 'silent',
    })
  }
  // The logins do not exist yet, because `migrate` creates them.
  await assert.rejects(startServer(config(0)), /password authentication failed/)
  await assert.rejects(startWorker(config(1)), /password authentication failed/)

  const starting = Promise.all([startServer(config(60)), startWorker(config(60))])
  await sleep(300)
  const masterKey = makeMasterKey(MASTER_KEY)
  await migrate({ ownerUrl, masterKey, passwords: PASSWORDS })
  const [server, worker] = await starting
  assert.equal((await fetch(`${server.url}/readyz`)).status, 200)
  await server.close()
  await worker.close()

  await t.test('a schema that is newer is not waited for', async () => {
    await withClient(ownerUrl, (client) =>
      client.query(`insert into tallystick.schema_migrations values (9999, 'from tomorrow', '')`),
    )
    const startedAt = performance.now()
    await assert.rejects(startServer(config(60)), /is newer than this version/)
    assert.ok(performance.now() - startedAt < 10_000)
  })
})
