import assert from 'node:assert/strict'
import { test } from 'node:test'
import { temporaryDir } from '../../helpers/postgres.ts'
import { formatLoad } from './kill.ts'
import { formatWorkerKills, killWorkersUnderLoad } from './kill-workers.ts'

test('killed workers leave every completion verified exactly once, and every auto gate judged', async () => {
  const plan = { kills: 2, clients: 8, ledgers: 2, loadMs: { min: 200, max: 700 } }
  const outcome = await killWorkersUnderLoad(temporaryDir(), plan)
  console.log(`kill -9 of workers: ${formatWorkerKills(outcome)}; ${formatLoad()}`)
  const { completed, completions, doubled, unverified, unjudged, deadLetters } = outcome
  assert.ok(completed > 0)
  assert.equal(completions, completed)
  assert.deepEqual(
    { doubled, unverified, unjudged, deadLetters },
    { doubled: 0, unverified: 0, unjudged: 0, deadLetters: 0 },
  )
})
