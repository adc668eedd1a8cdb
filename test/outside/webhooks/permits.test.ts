import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Permits } from '../../../src/outside/webhooks/permits.ts'

test('however much the others want, a lane that has no request under way may begin one', () => {
  const permits = new Permits(1_024)
  const held = new Array<number>(100).fill(0)
  for (let round = 0; round < 32; round++) {
    for (const [lane, count] of held.entries()) if (permits.tryTake(count)) held[lane] = count + 1
  }
  assert.deepEqual([Math.min(...held), Math.max(...held), permits.taken], [10, 11, 1_014])
  // A released permit comes back, and no more.
  permits.release()
  assert.deepEqual([permits.tryTake(10), permits.tryTake(10)], [true, false])
  for (let healthy = 0; healthy < 5; healthy++) assert.ok(permits.tryTake(healthy))
})

test('a lane alone may have half of all, and no permit is given twice', () => {
  const permits = new Permits(64)
  let held = 0
  while (permits.tryTake(held)) held++
  assert.deepEqual([held, permits.taken], [32, 32])
  for (let i = 0; i < 32; i++) assert.ok(permits.tryTake(0))
  assert.equal(permits.tryTake(0), false)
  permits.release()
  assert.deepEqual([permits.tryTake(0), permits.tryTake(0)], [true, false])
})
