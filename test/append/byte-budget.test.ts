import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ByteBudget } from '../../src/append/byte-budget.ts'

test('one owner has a half while it is alone', () => {
  const budget = new ByteBudget(100)
  assert.equal(budget.hasRoom('a', 50), true)
  budget.take('a', 50)
  assert.equal(budget.hasRoom('a', 1), false)
  assert.equal(budget.refused, 1)
  budget.release('a', 40)
  assert.equal(budget.hasRoom('a', 40), true)
})

test('there is room for one that holds little, even if others hold the rest', () => {
  const budget = new ByteBudget(128)
  const owners = ['a', 'b', null, 'd', 'e']
  for (const owner of owners) while (budget.hasRoom(owner, 1)) budget.take(owner, 1)
  assert.equal(budget.bytes, 64 + 32 + 16 + 8 + 4)
  assert.equal(budget.hasRoom('f', 2), true)
})

test('those that take in turns have equal shares', () => {
  const budget = new ByteBudget(400)
  const owners = ['a', 'b', 'c']
  for (let i = 0; i < 200; i++)
    for (const owner of owners) if (budget.hasRoom(owner, 1)) budget.take(owner, 1)
  assert.ok(Math.abs(budget.bytes - 300) <= 2)
})

test('all owners together never hold more than the whole', () => {
  for (const owners of [2, 3, 10, 1_000]) {
    const budget = new ByteBudget(10_000)
    for (let i = 0; i < owners; i++) while (budget.hasRoom(`${i}`, 1)) budget.take(`${i}`, 1)
    assert.ok(budget.bytes <= 10_000, `${owners}: ${budget.bytes}`)
  }
})

test('what was given back is forgotten', () => {
  const budget = new ByteBudget(100)
  for (let i = 0; i < 1_000; i++) {
    budget.take(`${i}`, 100)
    budget.release(`${i}`, 100)
  }
  assert.equal(budget.bytes, 0)
  assert.equal(budget.hasRoom('a', 50), true)
})
