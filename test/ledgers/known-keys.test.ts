import assert from 'node:assert/strict'
import { test } from 'node:test'
import { KnownKeys } from '../../src/ledgers/known-keys.ts'
import { UnknownKeys } from '../../src/ledgers/unknown-keys.ts'
import type { Uuid } from '../../src/proof/ids.ts'

const ledger = (n: number) => `00000000-0000-7000-8000-${`${n}`.padStart(12, '0')}` as Uuid
const MAX = 1_000
let made = 0
const keyOf = (n: number, readAtMs = 0) => ({ hash: `${made++}`, ledgerId: ledger(n), readAtMs })

test('a ledger with many keys evicts its own keys, and none of ledgers with few keys', () => {
  const keys = new KnownKeys(MAX)
  const few = Array.from({ length: 20 }, (_, i) => keyOf(1 + (i % 4)))
  for (const key of few) keys.set(key)
  // Adds many keys of one ledger, all of them newer than the keys in `few`.
  for (let i = 0; i < 10 * MAX; i++) keys.set(keyOf(9, i))
  assert.equal(keys.size, MAX)
  assert.deepEqual(
    few.filter(({ hash }) => !keys.get(hash)),
    [],
  )
  const late = Array.from({ length: 150 }, () => keyOf(7))
  for (const key of late) keys.set(key)
  assert.equal(keys.size, MAX)
  assert.equal(keys.of(ledger(7)).length, 150, 'a ledger with less than its share takes from the large one')
  assert.deepEqual(
    few.filter(({ hash }) => !keys.get(hash)),
    [],
  )
})

test('within a ledger mostly the keys read longest ago are evicted', () => {
  const keys = new KnownKeys(MAX)
  const old = Array.from({ length: MAX / 2 }, () => keyOf(1, 1))
  const used = Array.from({ length: MAX / 2 }, () => keyOf(1, 2))
  for (const key of [...old, ...used]) keys.set(key)
  for (let i = 0; i < MAX / 4; i++) keys.set(keyOf(1, 3))
  assert.ok(used.filter(({ hash }) => keys.get(hash)).length > used.length * 0.98)
})

test('below the limit a key stays until it is deleted, in any order of changes', () => {
  const keys = new KnownKeys(MAX)
  const model = new Map<string, ReturnType<typeof keyOf>>()
  for (let i = 0; i < 20_000; i++) {
    const [first] = model.keys()
    if (first !== undefined && (i % 3 === 0 || model.size === MAX)) {
      keys.delete(first)
      model.delete(first)
    }
    const key = keyOf(i % 7)
    keys.set(key)
    model.set(key.hash, key)
    const again = { ...key, readAtMs: i }
    keys.set(again)
    model.set(key.hash, again)
  }
  assert.equal(keys.size, model.size)
  for (const key of model.values()) assert.equal(keys.get(key.hash), key)
  for (let n = 0; n < 7; n++)
    assert.deepEqual(
      keys
        .of(ledger(n))
        .map(({ hash }) => hash)
        .sort(),
      [...model.values()]
        .filter(({ ledgerId }) => ledgerId === ledger(n))
        .map(({ hash }) => hash)
        .sort(),
    )
})

test('stores the newest half of the unknown keys, and never more than the limit', () => {
  const unknown = new UnknownKeys(MAX)
  for (let i = 0; i < 5 * MAX; i++) {
    unknown.set(`${i}`, { ledgerId: ledger(i % 2), readAtMs: i })
    assert.ok(unknown.size <= MAX)
  }
  for (let i = 5 * MAX - MAX / 2; i < 5 * MAX; i++) assert.equal(unknown.get(`${i}`)?.readAtMs, i)
  const last = `${5 * MAX - 1}`
  unknown.set(last, { ledgerId: ledger(1), readAtMs: -1 })
  assert.equal(unknown.get(last)?.readAtMs, -1)
  unknown.forget(ledger(1))
  assert.equal(unknown.get(last), undefined)
  assert.ok(unknown.get(`${5 * MAX - 2}`))
})
