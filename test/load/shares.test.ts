import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { makeByteBudget } from '../../src/load/budgets.ts'
import { Shares } from '../../src/load/shares.ts'
import { UNPROVEN } from '../../src/load/unproven.ts'

test('a byte budget gives a single owner at most half', () => {
  const budget = makeByteBudget(100)
  assert.equal(budget.admits('a', 50), true)
  budget.take('a', 50)
  assert.equal(budget.admits('a', 1), false)
  assert.equal(budget.refused, 1)
  budget.release('a', 40)
  assert.equal(budget.admits('a', 40), true)
})

test('an owner with little is admitted, even if others have most of the budget', () => {
  const budget = makeByteBudget(128)
  const owners = ['a', 'b', 'c', 'd', 'e']
  for (const owner of owners) while (budget.admits(owner, 1)) budget.take(owner, 1)
  assert.equal(budget.taken, 64 + 32 + 16 + 8 + 4)
  assert.equal(budget.admits('f', 2), true)
})

test('owners that take alternately get equal shares', () => {
  const budget = makeByteBudget(400)
  const owners = ['a', 'b', 'c']
  for (let i = 0; i < 200; i++) for (const owner of owners) if (budget.admits(owner, 1)) budget.take(owner, 1)
  assert.ok(Math.abs(budget.taken - 300) <= 2)
})

test('all owners together never exceed the budget', () => {
  for (const owners of [2, 3, 10, 1_000]) {
    const budget = makeByteBudget(10_000)
    for (let i = 0; i < owners; i++) while (budget.admits(`${i}`, 1)) budget.take(`${i}`, 1)
    assert.ok(budget.taken <= 10_000, `${owners}: ${budget.taken}`)
  }
})

test('released bytes are available again', () => {
  const budget = makeByteBudget(100)
  for (let i = 0; i < 1_000; i++) {
    budget.take(`${i}`, 100)
    budget.release(`${i}`, 100)
  }
  assert.equal(budget.taken, 0)
  assert.equal(budget.admits('a', 50), true)
})

test('unproven callers together have an extra quarter of the budget', () => {
  const budget = makeByteBudget(100)
  for (let i = 0; i < 50; i++) if (budget.admits(UNPROVEN, 1)) budget.take(UNPROVEN, 1)
  assert.equal(budget.taken, 25)
  assert.equal(budget.admits('a', 50), true)
  budget.release(UNPROVEN, 25)
  assert.deepEqual([budget.taken, budget.admits(UNPROVEN, 25)], [0, true])
})

test('unproven callers never change the decisions about proven owners', () => {
  const step = fc.record({ owner: fc.constantFrom('a', 'b', UNPROVEN), bytes: fc.nat({ max: 30 }) })
  const decide = (steps: readonly { owner: string; bytes: number }[]) => {
    const budget = makeByteBudget(100)
    return steps.map(({ owner, bytes }) => {
      const hasRoom = budget.admits(owner, bytes)
      if (hasRoom) budget.take(owner, bytes)
      return { owner, hasRoom }
    })
  }
  const isProven = ({ owner }: { owner: string }) => owner !== UNPROVEN
  fc.assert(
    fc.property(fc.array(step), (steps) => {
      assert.deepEqual(decide(steps).filter(isProven), decide(steps.filter(isProven)))
    }),
  )
})

test('rest: an owner without a slot gets one, however many the others want', () => {
  const shares = new Shares({ rule: 'rest', max: 1_024 })
  const owners = Array.from({ length: 100 }, (_, i) => `owner ${i}`)
  const take = (owner: string) => {
    const hasRoom = shares.hasRoom(owner)
    if (hasRoom) shares.take(owner)
    return hasRoom
  }
  for (let round = 0; round < 32; round++) for (const owner of owners) take(owner)
  const held = owners.map((owner) => shares.of(owner))
  assert.deepEqual([Math.min(...held), Math.max(...held), shares.taken], [10, 11, 1_014])
  // Only one slot is free, the one that is released here. So exactly one can be taken.
  shares.release('owner 0')
  assert.deepEqual([take('owner 0'), take('owner 0')], [true, false])
  for (let late = 0; late < 5; late++) assert.ok(take(`late ${late}`))
})

test('rest: a single owner gets at most half, and the last slot goes to one owner only', () => {
  const shares = new Shares({ rule: 'rest', max: 64 })
  while (shares.hasRoom('first')) shares.take('first')
  assert.equal(shares.taken, 32)
  for (let i = 0; i < 32; i++) {
    assert.ok(shares.hasRoom(`${i}`))
    shares.take(`${i}`)
  }
  assert.equal(shares.hasRoom('late'), false)
  shares.release('0')
  assert.equal(shares.hasRoom('late'), true)
})

test('equal: a single owner may have all, and later owners still get equal shares', () => {
  const shares = new Shares({ rule: 'equal', max: 12 })
  const takeAll = (owner: string) => {
    while (shares.admits(owner)) shares.take(owner)
    return shares.of(owner)
  }
  assert.deepEqual(['a', 'b', 'c'].map(takeAll), [12, 6, 4])
  assert.equal(shares.refused, 3)
  shares.release('a', 12)
  assert.equal(takeAll('d'), 4, 'an owner without any has no share')
})

test('an owner never exceeds its own limit; unproven callers without a quota get nothing', () => {
  for (const rule of ['equal', 'rest'] as const) {
    const shares = new Shares({ rule, max: 100, ofOwnerMax: 2 })
    shares.take('a', 2)
    assert.deepEqual(
      ['a', 'b', UNPROVEN].map((owner) => shares.hasRoom(owner)),
      [false, true, false],
    )
  }
})
