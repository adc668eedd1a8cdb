import assert from 'node:assert/strict'
import { test } from 'node:test'
import { TallystickError } from '../../sdk/errors.ts'
import { RETRIES_DEFAULT, retryDelayMs, withRetries } from '../../sdk/http/retries.ts'

const again = (retryAfterMs: number | null = null) =>
  new TallystickError('not now', { retryable: true, retryAfterMs })

test('delays double up to their maximum, and half of each delay is random', () => {
  const delays = (random: number) =>
    [0, 1, 5, 6, 400].map((retries) => retryDelayMs(RETRIES_DEFAULT, retries, again(), () => random))
  assert.deepEqual(delays(0), [50, 100, 1_600, 2_500, 2_500])
  assert.deepEqual(delays(1), [100, 200, 3_200, 5_000, 5_000])
})

test('a retry waits at least the Retry-After, plus a random part; above 60 s there is no retry', () => {
  assert.equal(
    retryDelayMs(RETRIES_DEFAULT, 0, again(3_000), () => 0),
    3_000,
  )
  assert.equal(
    retryDelayMs(RETRIES_DEFAULT, 0, again(3_000), () => 1),
    3_050,
  )
  assert.equal(
    retryDelayMs(RETRIES_DEFAULT, 0, again(60_000), () => 0),
    60_000,
  )
  assert.equal(
    retryDelayMs(RETRIES_DEFAULT, 0, again(60_001), () => 0),
    null,
  )
})

test('only retryable errors are retried', async () => {
  const policy = { retriesMax: 2, delayMsMin: 1, delayMsMax: 1 }
  for (const [error, tries] of [
    [again(), 3],
    [new TallystickError('never'), 1],
    [new TypeError('a bug'), 1],
  ] as const) {
    let tried = 0
    const call = withRetries(policy, undefined, async () => {
      tried++
      throw error
    })
    await assert.rejects(call, (thrown) => thrown === error)
    assert.equal(tried, tries)
  }
  let left = 10
  const patient = { ...policy, retriesMax: Number.POSITIVE_INFINITY }
  const done = await withRetries(patient, undefined, async () => {
    if (left-- > 0) throw again()
    return 'done'
  })
  assert.equal(done, 'done')
})
