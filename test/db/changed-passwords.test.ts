import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { withClient } from '../../src/db/connect/client.ts'
import { DEFAULT_LOGINS, ensureLogins } from '../../src/db/connect/logins.ts'
import { migrate } from '../../src/db/schema/migrate.ts'
import { type Config, parseConfig } from '../../src/run/config.ts'
import { startServer } from '../../src/run/server.ts'
import { makeMasterKey } from '../../src/signing/master-key.ts'
import { startTestPostgres } from '../helpers/database.ts'
import { post } from '../helpers/post.ts'
import { temporaryDir } from '../helpers/postgres.ts'
import { until } from '../helpers/wait.ts'

const OPERATOR_KEY = `tlo_${'6'.repeat(32)}`
const CUT = `select pg_terminate_backend(pid) from pg_stat_activity where usename = 'tallystick_api'`
const MASTER_KEY = new Uint8Array(32).fill(6)

test('a running server survives a changed password, because each connection reads the file again', async (t) => {
  const { server, file, run } = await startWithPasswordFile(t)
  const ledger = await post<{ key: { key: string } }>(`${server.url}/v1/ledgers`, OPERATOR_KEY, {
    name: 'rotated',
  })
  const notarize = () => post(`${server.url}/v1/records`, ledger.key.key, { type: 'generic/1', payload: {} })

  await t.test('open connections stay, and new connections use the new password', async () => {
    await notarize()
    await run(`alter role tallystick_api with password 'second'`)
    await notarize()
    writeFileSync(file, 'second\n')
    await run(`${CUT} and state = 'idle'`)
    await Promise.all(Array.from({ length: 40 }, notarize))
  })

  await t.test(
    'with a wrong password requests get a retryable error until the file is right, without a restart',
    async () => {
      writeFileSync(file, 'third\n')
      await run(CUT)
      await until(async () => (await fetch(`${server.url}/readyz`)).status === 503)
      const refuse = async () => {
        const response = await fetch(`${server.url}/v1/records`, {
          method: 'POST',
          headers: { authorization: `Bearer ${ledger.key.key}`, 'content-type': 'application/json' },
          body: JSON.stringify({ type: 'generic/1', payload: {} }),
        })
        const { code } = (await response.json()) as { code: string }
        return { status: response.status, code, retryAfter: response.headers.get('retry-after') }
      }
      let refused = await refuse()
      // The first request may still use the broken connection. Its outcome is then unknown, and the test repeats it.
      for (; refused.code === 'outcome_unknown'; refused = await refuse()) assert.equal(refused.status, 503)
      assert.equal(refused.status, 503)
      assert.ok(refused.retryAfter)
      assert.equal(refused.code, 'unavailable')
      await run(`alter role tallystick_api with password 'third'`)
      await notarize()
    },
  )
})

test('a password may contain any SQL syntax', async (t) => {
  const postgres = await startTestPostgres(t)
  for (const password of [`a$$; drop role x; do $$ '"\\ %s`, '$body$', "'; --", '\\']) {
    await withClient(postgres.ownerUrl, (owner) =>
      ensureLogins(owner, postgres.ownerUrl, DEFAULT_LOGINS, { api: password, worker: null }),
    )
    const url = Object.assign(new URL(postgres.ownerUrl), {
      username: 'tallystick_api',
      password: encodeURIComponent(password),
    })
    const { rows } = await withClient(url.href, (client) => client.query('select session_user as login'))
    assert.deepEqual(rows, [{ login: 'tallystick_api' }])
  }
})

async function startWithPasswordFile(t: TestContext) {
  const postgres = await startTestPostgres(t)
  const passwords = { api: 'first', worker: 'first' }
  await migrate({ ownerUrl: postgres.ownerUrl, masterKey: makeMasterKey(MASTER_KEY), passwords })
  const file = join(temporaryDir(), 'password')
  writeFileSync(file, 'first\n')
  const server = await startServer(configure(postgres.ownerUrl, file))
  t.after(() => server.close())
  const run = (sql: string) => withClient(postgres.superuserUrl, (client) => client.query(sql))
  return { server, file, run }
}

function configure(ownerUrl: string, passwordFile: string): Config {
  return parseConfig({
    TALLYSTICK_API_DATABASE_URL: Object.assign(new URL(ownerUrl), {
      username: 'tallystick_api',
      password: '',
    }).href,
    TALLYSTICK_DATABASE_PASSWORD_FILE: passwordFile,
    TALLYSTICK_MASTER_KEY: Buffer.from(MASTER_KEY).toString('hex'),
    TALLYSTICK_OPERATOR_KEY: OPERATOR_KEY,
    TALLYSTICK_PORT: '0',
    TALLYSTICK_LOG_LEVEL: 'silent',
  })
}
