import assert from 'node:assert/strict'
import { test } from 'node:test'
import { WEBHOOK_FAILING_GAP_MS_MAX } from '../../../src/db/limits.ts'
import { EndpointHealth, type KnownHealth } from '../../../src/outside/webhooks/health.ts'
import { WEBHOOK_BREAKER_REFUSALS, WEBHOOK_RETRY_DELAYS_MS } from '../../../src/outside/webhooks/limits.ts'
import { isDownStatus, mayAskForTime } from '../../../src/outside/webhooks/statuses.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const NEW: KnownHealth = { failures: 0, failingSinceMs: null, failingDays: 0, lastFailureMs: null }
const REFUSED = { isDown: false, isGone: false, waitMs: 0 }

/**
 * Fails one attempt at each of these times. Each attempt uses a new EndpointHealth, as after a restart of the worker.
 * Returns the endpoint's health after the last attempt.
 */
function failAt(timesMs: readonly number[], failure = REFUSED) {
  let known = NEW
  let stop = null
  for (const nowMs of timesMs) {
    const health = new EndpointHealth(known, nowMs)
    health.fail(nowMs, failure)
    stop = health.stopOf(nowMs)
    const { lastFailureMs, ...written } = health.toWrite(nowMs)
    known = { ...written, lastFailureMs: lastFailureMs ?? known.lastFailureMs }
  }
  return { stop, ...known }
}

/** Returns the times of all attempts of a delivery that begins at `startMs`. */
function triesFrom(startMs: number): number[] {
  const times = [startMs]
  for (const delayMs of WEBHOOK_RETRY_DELAYS_MS) times.push(times.at(-1)! + delayMs)
  return times
}

test('pauses an endpoint that fails on each of five days, even with one attempt a day', () => {
  const daily = [0, 1, 2, 3, 4, 5].map((day) => day * DAY_MS + 1)
  assert.equal(failAt(daily.slice(0, 5)).stop, null)
  assert.deepEqual(failAt([...daily, 5 * DAY_MS + 2]).stop, { state: 'paused', reason: 'failing' })
  const everyOther = [0, 2, 4, 6].flatMap((day) => triesFrom(day * DAY_MS))
  assert.deepEqual(failAt(everyOther).stop, { state: 'paused', reason: 'failing' })
})

test('a failure after a gap without attempts counts as the first failure', () => {
  const first = triesFrom(0)
  const later = first.at(-1)! + 6 * DAY_MS
  const after = failAt([...first, later])
  assert.deepEqual([after.stop, after.failures, after.failingSinceMs, after.failingDays], [null, 1, later, 1])
  const refused = Array.from({ length: WEBHOOK_BREAKER_REFUSALS + 1 }, (_, i) => i * 60_000)
  const paused = new EndpointHealth({ ...NEW, ...failAt(refused) }, later)
  assert.equal(paused.isNewFirst, false)
  assert.equal(failAt([...refused, later]).failures, 1)
  assert.ok(WEBHOOK_FAILING_GAP_MS_MAX > first.at(-1)!)
})

test('two failures six days apart do not pause an endpoint, whatever the database has stored', () => {
  const known = { failures: 1, failingSinceMs: -6 * DAY_MS, failingDays: 1, lastFailureMs: -1_500 }
  const health = new EndpointHealth(known, 0)
  health.fail(0, { ...REFUSED, isDown: true })
  assert.equal(health.stopOf(0), null)
})

test('a gap within one lease resets the failures too', () => {
  const health = new EndpointHealth(NEW, 0)
  health.fail(0, REFUSED)
  health.fail(6 * DAY_MS, REFUSED)
  assert.equal(health.toWrite(6 * DAY_MS).failures, 1)
  assert.equal(health.stopOf(6 * DAY_MS), null)
})

test('classifies statuses as endpoint down, and as allowed to ask for a pause', () => {
  const down = Array.from({ length: 500 }, (_, i) => i + 100).filter(isDownStatus)
  assert.deepEqual(
    down,
    [408, 429, 502, 503, 504, 507, 509, 520, 521, 522, 523, 524, 525, 526, 527, 529, 530, 598, 599],
  )
  for (const status of [...down, 500, 501, 505, 511]) assert.ok(mayAskForTime(status), `${status}`)
  for (const status of [301, 400, 401, 403, 404, 409, 410, 413, 422])
    assert.ok(!mayAskForTime(status), `${status}`)
})
