import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RefusedItems } from '../../src/followers/refused.ts'

function refusals(itemsMax = 10) {
  const clock = { nowMs: 0 }
  return { clock, refused: new RefusedItems(() => clock.nowMs, { pauseMs: 1_000, itemsMax }) }
}

test('a repeated refusal is reported once, and the item is paused again', () => {
  const { clock, refused } = refusals()
  assert.equal(refused.isPaused('a'), false)
  assert.equal(refused.refuse('a'), true)
  assert.equal(refused.isPaused('a'), true)
  clock.nowMs = 1_000
  assert.equal(refused.isPaused('a'), false)
  assert.equal(refused.refuse('a'), false)
  assert.equal(refused.isPaused('a'), true)
  assert.equal(refused.count, 1)
})

test('forget() unpauses an item, and its next refusal is reported again', () => {
  const { refused } = refusals()
  refused.refuse('a')
  refused.forget('a')
  assert.equal(refused.count, 0)
  assert.equal(refused.isPaused('a'), false)
  assert.equal(refused.refuse('a'), true)
})

test('above the limit the item with the oldest refusal is forgotten', () => {
  const { refused } = refusals(2)
  for (const item of ['a', 'b', 'a', 'c']) refused.refuse(item)
  assert.equal(refused.count, 2)
  assert.deepEqual(
    ['a', 'b', 'c'].map((item) => refused.isPaused(item)),
    [true, false, true],
  )
})

test('refusing an item again forgets no other item', () => {
  const { refused } = refusals(2)
  for (const item of ['a', 'b', 'b']) refused.refuse(item)
  assert.equal(refused.isPaused('a'), true)
})
