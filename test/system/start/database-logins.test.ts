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

test('passwords are made once, and reported as new the first time', (t) => {
  const config = { apiUrl: null, workerUrl: null, dataDir: makeDataDir(t) }
  const first = getLogins(config, OWNER_URL)
  assert.equal(first.isNew, true)
  assert.deepEqual(JSON.parse(readFileSync(first.file!, 'utf8')), first.passwords)
  assert.equal(first.apiUrl, `postgres://tallystick_api_ledgers:${first.passwords.api}@db.example/ledgers`)
  assert.deepEqual(getLogins(config, OWNER_URL), { ...first, isNew: false })
})

test('logins are named by their URLs, or after the database', (t) => {
  const config = { apiUrl: null, workerUrl: null, dataDir: makeDataDir(t) }
  const namesIn = (database: string) =>
    getLogins(config, `postgres://owner:secret@db.example/${database}`).names
  assert.deepEqual(namesIn('tallystick'), { api: 'tallystick_api', worker: 'tallystick_worker' })
  assert.deepEqual(namesIn('a%20%22b'), { api: 'tallystick_api_a "b', worker: 'tallystick_worker_a "b' })
  assert.equal(namesIn('').api, 'tallystick_api_owner', 'the database of that name')
  const long = ['a', 'b'].map((end) => namesIn(`${'ü'.repeat(31)}${end}`))
  for (const { api, worker } of long)
    assert.ok(Buffer.byteLength(api) <= 63 && Buffer.byteLength(worker) <= 63)
  assert.notEqual(long[0]!.api, long[1]!.api)
  const apiUrl = 'postgres://st%C3%A4ging@db.example/ledgers'
  assert.deepEqual(getLogins({ ...config, apiUrl }, OWNER_URL).names, {
    api: 'stäging',
    worker: 'tallystick_worker_ledgers',
  })
})

test('a login file without both passwords is named in the error, and its content is not', (t) => {
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
      (error: Error) => error.message.startsWith(`${file} does not have`) && !error.message.includes('hush'),
      text,
    )
  }
})

test('passwords come from the password files, and with both of them no login file is made', (t) => {
  const dataDir = makeDataDir(t)
  const file = (name: string) => {
    writeFileSync(join(dataDir, name), `${name}/secret\n`)
    return join(dataDir, name)
  }
  const loginPasswordFiles = { api: file('api'), worker: file('worker') }
  const logins = getLogins({ apiUrl: null, workerUrl: null, dataDir, loginPasswordFiles }, OWNER_URL)
  assert.deepEqual(logins.passwords, { api: 'api/secret', worker: 'worker/secret' })
  assert.equal(logins.apiUrl, 'postgres://tallystick_api_ledgers:api%2Fsecret@db.example/ledgers')
  assert.equal(logins.file, null)
  const missing = { api: join(dataDir, 'none'), worker: null }
  assert.throws(
    () => getLogins({ apiUrl: null, workerUrl: null, dataDir, loginPasswordFiles: missing }, OWNER_URL),
    /the password file cannot be read: ENOENT/,
  )
})

test('logins with RDS tokens have no passwords, and password files are refused for them', (t) => {
  const config = { apiUrl: null, workerUrl: null, dataDir: makeDataDir(t), loginsByRdsIam: true }
  const logins = getLogins(config, OWNER_URL)
  assert.deepEqual(logins.passwords, { api: null, worker: null })
  assert.equal(logins.workerUrl, 'postgres://tallystick_worker_ledgers@db.example/ledgers')
  assert.deepEqual([logins.file, logins.byRdsIam], [null, true])
  const loginPasswordFiles = { api: '/run/api', worker: null }
  assert.throws(
    () => getLogins({ ...config, loginPasswordFiles }, OWNER_URL),
    /rds-iam RDS accepts only tokens/,
  )
})
