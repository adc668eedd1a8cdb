import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { getLogins } from '../../src/database-logins.ts'

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
