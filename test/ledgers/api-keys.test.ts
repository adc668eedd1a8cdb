import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findLedgerOfKey, makeApiKey, makeKeyTest, makeOperatorKey } from '../../src/ledgers/api-keys.ts'
import { makeEntropy } from '../../src/signing/entropy.ts'

const ledgerId = makeEntropy().uuidv7(Date.now())

test('an API key contains the id of its ledger', () => {
  assert.deepEqual(findLedgerOfKey(makeApiKey(ledgerId))!, ledgerId)
})

test('no two keys are the same', () => {
  assert.notEqual(makeApiKey(ledgerId), makeApiKey(ledgerId))
})

test('rejects a key with a changed, missing or added character without a query', () => {
  const key = makeApiKey(ledgerId)
  for (let i = 0; i < key.length; i++) {
    const other = key[i] === '0' ? '1' : '0'
    assert.equal(findLedgerOfKey(key.slice(0, i) + other + key.slice(i + 1)), null, `character ${i}`)
    assert.equal(findLedgerOfKey(key.slice(0, i) + key.slice(i + 1)), null, `without character ${i}`)
  }
  for (const other of ['', 'tly_', `${key}0`, ` ${key}`, key.toUpperCase(), key.replace('tly', 'tlo')]) {
    assert.equal(findLedgerOfKey(other), null)
  }
})

test('compares operator keys as a whole, with any length of input', () => {
  const [key, before] = [makeOperatorKey(), makeOperatorKey()]
  const isOperators = makeKeyTest([key, before])
  assert.deepEqual([isOperators(key), isOperators(before)], [true, true])
  for (const other of ['', key.slice(1), `${key}0`, makeOperatorKey()])
    assert.equal(isOperators(other), false)
  assert.equal(makeKeyTest([])(key), false)
})
