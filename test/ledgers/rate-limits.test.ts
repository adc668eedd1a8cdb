import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RATE_LIMIT_BUCKETS_MAX } from '../../src/ledgers/limits.ts'
import { type Limited, RateLimits } from '../../src/ledgers/rate-limits.ts'

test('a rate limit', async (t) => {
  const key = limited('key', 10, 3)

  await t.test('allows a burst, then one request at a time, and returns how long to wait', () => {
    const { limits, clock } = makeLimits()
    const remaining = () => limits.charge([key]).states[0]!.remaining
    assert.deepEqual([remaining(), remaining(), remaining()], [2, 1, 0])
    const refused = limits.charge([key])
    assert.equal(refused.allowed, false)
    assert.equal(refused.allowed === false && Math.round(refused.retryAfterMs), 100)
    clock.ms += 99
    assert.equal(limits.charge([key]).allowed, false)
    clock.ms += 2
    assert.equal(limits.charge([key]).allowed, true)
    assert.equal(limits.charge([key]).allowed, false)
  })

  await t.test('allows its rate in the long run, and after a pause no more than the burst', () => {
    const { limits, clock } = makeLimits()
    let allowed = 0
    for (; clock.ms < 20_000; clock.ms += 5) if (limits.charge([key]).allowed) allowed++
    assert.ok(allowed >= 202 && allowed <= 203, String(allowed))
    clock.ms += 60_000
    assert.equal(countAllowed(limits, [key], 10), 3)
  })

  await t.test('charges none of several limits if one refuses', () => {
    const { limits } = makeLimits()
    const ledger = limited('ledger', 1, 1)
    assert.equal(limits.charge([key, ledger]).allowed, true)
    assert.equal(countAllowed(limits, [key, ledger], 5), 0)
    assert.equal(countAllowed(limits, [key], 5), 2)
  })

  await t.test('delays the next request by the extra cost of the last', () => {
    const { limits, clock } = makeLimits()
    assert.equal(limits.charge([key]).allowed, true)
    limits.chargeMore([key], 20)
    const refused = limits.charge([key])
    assert.equal(refused.allowed === false && Math.round(refused.retryAfterMs), 1_900)
    assert.equal(refused.states[0]!.remaining, 0)
    clock.ms += 1_901
    assert.equal(limits.charge([key]).allowed, true)
  })

  await t.test('starts again when its settings change', () => {
    const { limits } = makeLimits()
    assert.equal(countAllowed(limits, [limited('key', 0.001, 1)], 3), 1)
    assert.equal(countAllowed(limits, [limited('key', 0.001, 2)], 3), 2)
  })

  await t.test('is independent of other limits; beyond the maximum the oldest is forgotten', () => {
    const { limits } = makeLimits()
    const slow = limited('first', 0.001, 1)
    assert.equal(countAllowed(limits, [slow], 2), 1)
    for (let i = 1; i < RATE_LIMIT_BUCKETS_MAX; i++) {
      assert.equal(limits.charge([limited(`other ${i}`, 0.001, 1)]).allowed, true)
    }
    assert.equal(limits.charge([slow]).allowed, false)
    limits.charge([limited('one more', 0.001, 1)])
    assert.equal(limits.charge([slow]).allowed, true, 'the oldest was forgotten')
  })

  await t.test('of a ledger is not forgotten, however many limited keys the ledger uses', () => {
    const { limits } = makeLimits()
    const ledger = { ...limited('led', 0.001, 1), name: 'ledger' }
    assert.equal(limits.charge([key, ledger]).allowed, true)
    let allowed = 0
    for (let i = 0; i < RATE_LIMIT_BUCKETS_MAX + 10; i++)
      if (limits.charge([limited(`other ${i}`, 0.001, 1), ledger]).allowed) allowed++
    assert.equal(allowed, 0)
  })
})

function makeLimits() {
  const clock = { ms: 0 }
  return { limits: new RateLimits(() => clock.ms), clock }
}

function limited(id: string, requestsPerSecond: number, burst: number): Limited {
  return { name: 'key', id, limit: { requestsPerSecond, burst } }
}

function countAllowed(limits: RateLimits, of: Limited[], tries: number): number {
  let allowed = 0
  for (let i = 0; i < tries; i++) if (limits.charge(of).allowed) allowed++
  return allowed
}
