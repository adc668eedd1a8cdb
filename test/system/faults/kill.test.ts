import assert from 'node:assert/strict'
import { test } from 'node:test'
import { temporaryDir } from '../../helpers/postgres.ts'
import { formatAttempts, formatLoad, killApiUnderLoad, killPostgresUnderLoad, type Outcome } from './kill.ts'
import { formatReckoning } from './reckoning.ts'

const LOAD_MS = { min: 250, max: 600 }

test('killing Postgres loses no acknowledged record, and doubles none', async () => {
  const outcome = await killPostgresUnderLoad(temporaryDir(), { kills: 2, clients: 16, loadMs: LOAD_MS })
  print('kill -9 of Postgres', outcome)
  assertNothingLost(outcome)
})

test('killing an API process loses no acknowledged record, and doubles none', async () => {
  const outcome = await killApiUnderLoad(temporaryDir(), { kills: 2, clients: 16, loadMs: LOAD_MS })
  print('kill -9 of the API', outcome)
  assertNothingLost(outcome)
})

function print(name: string, { reckoning, attempts, entries, recoveryMs }: Outcome): void {
  console.log(`${name}: ${formatReckoning(reckoning)}`)
  console.log(`  entries=${entries} verified; ${formatAttempts(attempts)}`)
  console.log(`  acknowledging again after ${recoveryMs.join(', ')} ms; ${formatLoad()}`)
}

function assertNothingLost({ reckoning, attempts }: Outcome): void {
  const { lost, doubled, ghosts, torn } = reckoning
  assert.ok(reckoning.acked > 0)
  const failed = Object.keys(attempts).filter((label) => !label.startsWith('201'))
  assert.notDeepEqual(failed, [], 'no client noticed a kill: the test has shown nothing')
  assert.deepEqual({ lost, doubled, ghosts, torn }, { lost: 0, doubled: 0, ghosts: 0, torn: 0 })
}
