import assert from 'node:assert/strict'
import { test } from 'node:test'
import { temporaryDir } from '../../helpers/postgres.ts'
import { formatOutages, type OutageName, sufferOutages } from './outages.ts'

/** A selection of outages. `npm run drill -- soak outages` runs all of them. */
const OUTAGES: readonly OutageName[] = ['read-only', 'restart, fast', 'connections cut']
const RECOVERY_MS_MAX = 5_000

test('a database that is read-only, restarts or is cut off loses nothing, and recovers within seconds', async (t) => {
  const plan = { outages: OUTAGES, clients: 8, recoveryMsMax: RECOVERY_MS_MAX }
  const outcome = await sufferOutages(t, temporaryDir(), plan)
  console.log(formatOutages(outcome))
  const { lost, doubled, ghosts, torn } = outcome.reckoning
  assert.deepEqual({ lost, doubled, ghosts, torn }, { lost: 0, doubled: 0, ghosts: 0, torn: 0 })
  const strange = Object.keys(outcome.attempts).filter((label) => !/^(201|503)/.test(label))
  assert.deepEqual(strange, [], 'a server answers, with 201 or 503')
  assert.ok(outcome.attempts['503 unavailable'], 'no client noticed: the test has shown nothing')
  assert.deepEqual(Object.keys(outcome.readiness).sort(), ['200', '503'])
})
