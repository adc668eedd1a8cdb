import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { getLocalSecrets } from '../../../src/run/local/secrets.ts'

test('secrets are made once, and a damaged master key is refused with the name of its file', (t) => {
  const dataDir = mkdtempSync(join(tmpdir(), 'tallystick-secrets-'))
  t.after(() => rmSync(dataDir, { recursive: true }))
  const none = { masterKey: null, operatorKey: null }
  const made = getLocalSecrets(none, dataDir)
  assert.equal(made.masterKey.length, 32)
  assert.deepEqual(getLocalSecrets(none, dataDir), made)

  const file = join(dataDir, 'master-key')
  for (const text of ['', 'ab', `${'ab'.repeat(31)}zz`, 'ab'.repeat(33)]) {
    writeFileSync(file, `${text}\n`)
    assert.throws(() => getLocalSecrets(none, dataDir), {
      message: `${file} does not contain 64 hex digits: restore it from a backup`,
    })
  }
})
