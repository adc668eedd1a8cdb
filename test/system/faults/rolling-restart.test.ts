import assert from 'node:assert/strict'
import { test } from 'node:test'
import { temporaryDir } from '../../helpers/postgres.ts'
import { formatLoad } from './kill.ts'
import { formatReckoning } from './reckoning.ts'
import { formatRestarts, type RestartOutcome, restartUnderLoad, stopUnderLoad } from './rolling-restart.ts'

/** `drainSeconds` is the time of ten health checks of the balancer. */
const PLAN = { clients: 32, loadMs: 700, drainSeconds: 2 }

test('two API processes restarted in turn behind a TCP balancer fail no request', async () => {
  const outcome = await restartUnderLoad(temporaryDir(), { ...PLAN, rounds: 1 })
  print('rolling restart', outcome)
  assert.deepEqual(Object.keys(outcome.ends).sort(), ['200', '201'], formatRestarts(outcome))
  assertWhole(outcome)
})

test('a stopping API process answers all accepted requests, also after it stopped listening', async () => {
  const outcome = await stopUnderLoad(temporaryDir(), PLAN)
  print('SIGTERM', outcome)
  assert.deepEqual(Object.keys(outcome.ends).sort(), ['200', '201'], formatRestarts(outcome))
  assert.ok(outcome.heldUp > 0, 'nothing was under way when it stopped listening: the test has shown nothing')
  assertWhole(outcome)
})

function print(name: string, outcome: RestartOutcome): void {
  console.log(`${name}: ${formatReckoning(outcome.reckoning)}`)
  console.log(`  ${formatRestarts(outcome)}; ${formatLoad()}`)
}

/**
 * Asserts that nothing was lost or doubled, and that every process ended without error and answered requests while it
 * stopped.
 */
function assertWhole({ reckoning, stops }: RestartOutcome): void {
  const { lost, doubled, ghosts, torn, unknown } = reckoning
  assert.ok(reckoning.acked > 0)
  assert.deepEqual(
    { lost, doubled, ghosts, torn, unknown },
    { lost: 0, doubled: 0, ghosts: 0, torn: 0, unknown: 0 },
  )
  for (const stopped of stops) {
    assert.equal(stopped.exitCode, 0)
    assert.ok(stopped.ms >= PLAN.drainSeconds * 1_000, `it took no more requests after ${stopped.ms} ms`)
    assert.ok(stopped.answered > 0, 'nothing was answered meanwhile: the test has shown nothing')
  }
}
