import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'

const ROOT = join(import.meta.dirname, '..', '..', '..')

test('a k6 that does not run is refused by its name, before anything is started', (t) => {
  const dir = mkdtempSync(join(tmpdir(), 'tallystick-k6-'))
  t.after(() => rmSync(dir, { recursive: true }))
  const k6 = join(dir, 'k6')
  writeFileSync(k6, '')
  const args = ['bench/k6/run.ts', 'notarize-ramp']
  const run = spawnSync(process.execPath, args, {
    cwd: ROOT,
    env: { ...process.env, K6: k6 },
    encoding: 'utf8',
  })
  assert.equal(run.status, 1)
  assert.equal(run.stdout, '')
  assert.match(run.stderr, /^K6=\S+\/k6 does not run \(.*EACCES/)
})
