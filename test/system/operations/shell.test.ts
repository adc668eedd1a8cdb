import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { chmodSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { bareEnvironment } from '../../helpers/bare-environment.ts'
import { temporaryFiles } from '../../helpers/temporary-files.ts'
import { RUNBOOKS_DIR } from './alerts-file.ts'

/**
 * A fake kubectl whose Jobs take a moment to end. Until a Job has ended, it refuses the log, as `kubectl logs` does.
 */
const KUBECTL = `#!/bin/bash
echo "$*" >> "$DIR/asked"
case "$*" in
  *'get cronjob'*) echo cronjob.batch/tallystick-operate ;;
  *'--dry-run=client'*) echo '{"spec":{"template":{"spec":{"containers":[{"args":["operate","faults"]}]}}}}' ;;
  *'create -f -') cat > "$DIR/made.json" ;;
  *'get job'*) [ "$(grep -c 'get job' "$DIR/asked")" -lt 3 ] || echo 1; ;;
  *logs*) [ "$(grep -c 'get job' "$DIR/asked")" -ge 3 ] && echo 'no ledger has a fault' ;;
esac`

test('operate on a cluster, as documented, waits for its Job and passes arguments unchanged', async (t) => {
  const { stdout: found } = await promisify(execFile)('bash', ['-c', 'command -v jq || true'])
  if (found === '') return t.skip('needs jq')
  const { directory, write } = temporaryFiles(t)
  chmodSync(write('kubectl', KUBECTL), 0o755)
  const page = readFileSync(join(RUNBOOKS_DIR, 'README.md'), 'utf8')
  const block = [...page.matchAll(/^```sh\n([\s\S]*?)^```/gm)].find(([, text]) =>
    text!.includes('owner()'),
  )![1]
  const text = `set -eu\nsleep() { :; }\nNAMESPACE=ledgers\n${block}\noperate clear-fault led_1 --note 'row 41, "restored"'`
  const { stdout } = await promisify(execFile)('bash', ['--norc', '-c', text], {
    env: { ...bareEnvironment(), PATH: `${directory}:${process.env['PATH']}`, DIR: directory },
  })
  assert.equal(stdout, 'no ledger has a fault\n')
  const made = JSON.parse(readFileSync(join(directory, 'made.json'), 'utf8'))
  assert.deepEqual(made.spec.template.spec.containers[0].args, [
    'operate',
    'clear-fault',
    'led_1',
    '--note',
    'row 41, "restored"',
  ])
})
