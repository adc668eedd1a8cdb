import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { makeByteBudget } from '../../src/load/budgets.ts'
import { Shares } from '../../src/load/shares.ts'
import { UNPROVEN } from '../../src/load/unproven.ts'

test('one owner has a half while it is alone', () => {
  const budget = makeByteBudget(100)
  assert.equal(budget.admits('a', 50), true)
  budget.take('a', 50)
  assert.equal(budget.admits('a', 1), false)
  assert.equal(budget.refused, 1)
  budget.release('a', 40)
  assert.equal(budget.admits('a', 40), true)
})

test('there is room for one that holds little, even if others hold the rest', () => {
  const budget = makeByteBudget(128)
  const owners = ['a', 'b', 'c', 'd', 'e']
  for (const owner of owners) while (budget.admits(owner, 1)) budget.take(owner, 1)
  assert.equal(budget.taken, 64 + 32 + 16 + 8 + 4)
  assert.equal(budget.admits('f', 2), true)
})

test('those that take in turns have equal shares', () => {
  const budget = makeByteBudget(400)
  const owners = ['a', 'b', 'c']
  for (let i = 0; i < 200; i++) for (const owner of owners) if (budget.admits(owner, 1)) budget.take(owner, 1)
  assert.ok(Math.abs(budget.taken - 300) <= 2)
})

test('all owners together never hold more than the whole', () => {
  for (const owners of [2, 3, 10, 1_000]) {
    const budget = makeByteBudget(10_000)
    for (let i = 0; i < owners; i++) while (budget.admits(`${i}`, 1)) budget.take(`${i}`, 1)
    assert.ok(budget.taken <= 10_000, `${owners}: ${budget.taken}`)
  }
})

test('what was given back is forgotten', () => {
  const budget = makeByteBudget(100)
  for (let i = 0; i < 1_000; i++) {
    budget.take(`${i}`, 100)
    budget.release(`${i}`, 100)
  }
  assert.equal(budget.taken, 0)
  assert.equal(budget.admits('a', 50), true)
})

test('those who have proven nothing have a quarter of the whole beside it, however many they are', () => {
  const budget = makeByteBudget(100)
  for (let i = 0; i < 50; i++) if (budget.admits(UNPROVEN, 1)) budget.take(UNPROVEN, 1)
  assert.equal(budget.taken, 25)
  assert.equal(budget.admits('a', 50), true)
  budget.release(UNPROVEN, 25)
  assert.deepEqual([budget.taken, budget.admits(UNPROVEN, 25)], [0, true])
})

test('what may be held for a proven owner does not depend on them', () => {
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

test('rest: however much the others want, an owner that has nothing may have one', () => {
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

test('rest: an owner alone may have half of all, and the last one is given once', () => {
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

test('equal: an owner may have all while it is alone, and later owners their equal shares nevertheless', () => {
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

test('no owner has more than its own limit, and unproven callers nothing where they have no quota', () => {
  for (const rule of ['equal', 'rest'] as const) {
    const shares = new Shares({ rule, max: 100, ofOwnerMax: 2 })
    shares.take('a', 2)
    assert.deepEqual(
      ['a', 'b', UNPROVEN].map((owner) => shares.hasRoom(owner)),
      [false, true, false],
    )
  }
})
