import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { hasHidden } from '../../../src/proof/quoted.ts'
import { buildCliApp } from '../../helpers/cli-app.ts'
import { runCommand } from '../../helpers/run-command.ts'

/*
 * An agent's payload contains characters that control a terminal or reverse its text. An auditor then views the
 * ledger in a terminal.
 */

test('export refuses a terminal with 64, and writes to a pipe and a file unchanged', async (t) => {
  const app = await buildCliApp(t)
  const payload = { note: 'paid \u009b31m\u202e\u2066to mallory' }
  await app.notarize({ type: 'generic/1', payload })
  for (const args of [['export'], ['export', '-o', '-']]) {
    const { code, stdout, stderr } = await runCommand(args, { isTTY: true })
    assert.equal(code, 64)
    assert.equal(stdout, '')
    assert.match(stderr, /not written to a terminal.*-o FILE/)
  }
  const piped = await runCommand(['export'])
  assert.equal(piped.code, 0)
  assert.ok(piped.stdout.includes(payload.note))
  const file = join(app.files.directory, 'ledger.ndjson')
  assert.deepEqual(await runCommand(['export', '-o', file], { isTTY: true }), {
    code: 0,
    stdout: '',
    stderr: `tallystick: wrote ${file}\n`,
  })
  // The second export contains one more line, about the entry for the first export. This line is removed before the
  // comparison.
  const lines = readFileSync(file, 'utf8').split('\n').toSpliced(-3, 1)
  assert.equal(lines.join('\n'), piped.stdout)
  const { stdout } = await runCommand(['entries'], { isTTY: true })
  assert.ok(!hasHidden(stdout.replaceAll('\n', '')))
})
