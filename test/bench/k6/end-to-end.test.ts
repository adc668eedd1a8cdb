import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { test } from 'node:test'
import { findGoTool } from '../../../tools/go-tool.ts'

const ROOT = resolve(import.meta.dirname, '..', '..', '..')
const k6 = findGoTool('k6')

/** The test is skipped without k6. `.ci/run` builds k6 first. */
test('npm run bench -- k6 starts a deployment, runs a script, audits it and leaves its report', {
  skip: k6 === null && 'there is no k6 yet: npm run bench -- k6 notarize-ramp builds it',
  timeout: 180_000,
}, (t) => {
  const outDir = mkdtempSync(join(tmpdir(), 'tallystick-k6-run-'))
  t.after(() => rmSync(outDir, { recursive: true }))
  const args = ['bench/k6/run.ts', 'notarize-ramp', '--seconds', '2', '--out', outDir]
  const env = { ...process.env, DATABASE_URL: undefined }
  const run = spawnSync(process.execPath, args, { cwd: ROOT, env, encoding: 'utf8' })
  assert.equal(run.status, 0, run.stdout + run.stderr)
  const [json] = readdirSync(outDir).filter((name) => name.endsWith('.json'))
  const { ok, rounds } = JSON.parse(readFileSync(join(outDir, json!), 'utf8'))
  assert.equal(ok, true)
  const { audit, runs } = rounds[0]
  assert.ok(audit.acknowledged > 0)
  assert.equal(audit.found, audit.acknowledged)
  assert.equal(audit.verified, audit.ledgers)
  assert.ok(runs[0].points.length > 0 && runs[0].samples.length > 0)
})
