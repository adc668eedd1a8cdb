import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { type Organisation, startOrganisations } from '../../helpers/federation.ts'
import { temporaryDir } from '../../helpers/postgres.ts'
import { PROJECT_DIR } from '../deployment/installation.ts'
import { shellBlocks } from './shell-blocks.ts'

const run = promisify(execFile)
const BETWEEN_BLOCKS = '\u001e'

test('the pasted guide to federation shares a record, and proves it', async (t) => {
  const [acme, bolt] = (await startOrganisations(t, 2)) as [Organisation, Organisation]
  const dir = temporaryDir()
  const script = shellBlocks('docs/guides/federation.md')
    .map((text) =>
      text
        .replaceAll('http://localhost:3000', acme.url)
        .replaceAll('http://localhost:3001', bolt.url)
        .replaceAll('tly_acme…', acme.admin.key)
        .replaceAll('tly_bolt…', bolt.admin.key)
        .replaceAll(/\b(acme|bolt)\.ndjson/g, (name) => join(dir, name)),
    )
    .join(`\nprintf '${BETWEEN_BLOCKS}'\n`)
  const { stdout } = await run('bash', ['-euo', 'pipefail', '-c', script], {
    cwd: PROJECT_DIR,
    timeout: 90_000,
  })
  const [, accepted, , performed, proved, changed] = stdout
    .split(BETWEEN_BLOCKS)
    .map((output) => output.trim())
  assert.equal(JSON.parse(accepted!).state, 'pending')
  assert.deepEqual(performed!.split('\n'), ['pending', 'pending', 'SETTLE'])
  assert.match(proved!, /^RECONCILED records=1 entries=\d+ offers=2 inFlight=0/m)
  assert.deepEqual(changed!.split('\n'), ['suspended', 'active'])
})
