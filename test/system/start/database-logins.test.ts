import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { getLogins } from '../../../src/run/database-logins.ts'

const OWNER_URL = 'postgres://owner:secret@db.example/ledgers'

function makeDataDir(t: TestContext): string {
  const dataDir = mkdtempSync(join(tmpdir(), 'tallystick-logins-'))
  t.after(() => rmSync(dataDir, { recursive: true }))
  return dataDir
}

test('passwords are made once, and it is said when they are new', (t) => {
  const config = { apiUrl: null, workerUrl: null, dataDir: makeDataDir(t) }
  const first = getLogins(config, OWNER_URL)
  assert.equal(first.isNew, true)
  assert.deepEqual(JSON.parse(readFileSync(first.file!, 'utf8')), first.passwords)
  assert.equal(first.apiUrl, `postgres://tallystick_api:${first.passwords.api}@db.example/ledgers`)
  assert.deepEqual(getLogins(config, OWNER_URL), { ...first, isNew: false })
})

test('a file without both passwords is refused by name, and none of it is shown', (t) => {
  const config = { apiUrl: null, workerUrl: null, dataDir: makeDataDir(t) }
  const file = join(config.dataDir, 'database-logins.json')
  for (const text of [
    '',
    '{',
    '{}',
    'null',
    '{"api":"hush"}',
    '{"api":"hush","worker":""}',
    '{"api":"hush',
  ]) {
    writeFileSync(file, text)
    assert.throws(
      () => getLogins(config, OWNER_URL),
      (error: Error) => error.message.startsWith(`${file} does not hold`) && !error.message.includes('hush'),
      text,
    )
  }
})

test('passwords of files are what migrate sets, and with those of both nothing is made', (t) => {
  const dataDir = makeDataDir(t)
  const file = (name: string) => {
    writeFileSync(join(dataDir, name), `${name}/secret\n`)
    return join(dataDir, name)
  }
  const loginPasswordFiles = { api: file('api'), worker: file('worker') }
  const logins = getLogins({ apiUrl: null, workerUrl: null, dataDir, loginPasswordFiles }, OWNER_URL)
  assert.deepEqual(logins.passwords, { api: 'api/secret', worker: 'worker/secret' })
  assert.equal(logins.apiUrl, 'postgres://tallystick_api:api%2Fsecret@db.example/ledgers')
  assert.equal(logins.file, null)
  const missing = { api: join(dataDir, 'none'), worker: null }
  assert.throws(
    () => getLogins({ apiUrl: null, workerUrl: null, dataDir, loginPasswordFiles: missing }, OWNER_URL),
    /the password file cannot be read: ENOENT/,
  )
})

test('logins with tokens of RDS get no passwords, and none is made for them', (t) => {
  const config = { apiUrl: null, workerUrl: null, dataDir: makeDataDir(t), loginsByRdsIam: true }
  const logins = getLogins(config, OWNER_URL)
  assert.deepEqual(logins.passwords, { api: null, worker: null })
  assert.equal(logins.workerUrl, 'postgres://tallystick_worker@db.example/ledgers')
  assert.deepEqual([logins.file, logins.byRdsIam], [null, true])
  const loginPasswordFiles = { api: '/run/api', worker: null }
  assert.throws(
    () => getLogins({ ...config, loginPasswordFiles }, OWNER_URL),
    /rds-iam goes with no password files/,
  )
})
