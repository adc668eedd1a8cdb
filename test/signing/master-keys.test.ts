import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeMasterKey, masterKeyId } from '../../src/signing/master-key.ts'
import { makeMasterKeys } from '../../src/signing/master-keys.ts'

const [newBytes, oldBytes] = [new Uint8Array(32).fill(2), new Uint8Array(32).fill(1)]
const [newKey, oldKey] = [makeMasterKey(newBytes), makeMasterKey(oldBytes)]
const secret = Buffer.from('a seed of thirty-two bytes, say.')

test('with a previous key, secrets and MACs of either key are accepted, and others refused', () => {
  const keys = makeMasterKeys(newBytes, oldBytes)
  for (const key of [newKey, oldKey]) {
    assert.deepEqual(keys.open(key.seal(secret, 'here'), 'here'), secret)
    assert.ok(keys.isMac(key.mac('text', 'here'), 'text', 'here'))
    assert.ok(!keys.isMac(key.mac('text', 'here'), 'text', 'there'))
  }
  const other = makeMasterKey(new Uint8Array(32).fill(3))
  assert.throws(() => keys.open(other.seal(secret, 'here'), 'here'), /TALLYSTICK_MASTER_KEY/)
  assert.ok(!keys.isMac(other.mac('text', 'here'), 'text', 'here'))
  assert.ok(!keys.isMac(new Uint8Array(0), 'text', 'here'))
})

test('seals with the key that the database uses, and changes over with the database', () => {
  const keys = makeMasterKeys(newBytes, oldBytes)
  keys.followSealed(oldKey.seal(secret, 'server key'), 'server key')
  assert.deepEqual(oldKey.open(keys.seal(secret, 'here'), 'here'), secret)
  assert.deepEqual(keys.mac('text', 'here'), oldKey.mac('text', 'here'))
  keys.followSealed(newKey.seal(secret, 'server key'), 'server key')
  assert.deepEqual(newKey.open(keys.seal(secret, 'here'), 'here'), secret)
  assert.deepEqual(keys.mac('text', 'here'), newKey.mac('text', 'here'))
})

test('without a previous key, secrets sealed by another key are refused', () => {
  const keys = makeMasterKeys(newBytes, null)
  assert.throws(() => keys.open(oldKey.seal(secret, 'here'), 'here'), /TALLYSTICK_MASTER_KEY/)
  assert.throws(() => keys.followSealed(oldKey.seal(secret, 'here'), 'here'), /TALLYSTICK_MASTER_KEY/)
})

test('a key’s id depends on the key, and is no part of its bytes', () => {
  assert.equal(masterKeyId(newBytes).length, 8)
  assert.deepEqual(masterKeyId(newBytes), masterKeyId(new Uint8Array(32).fill(2)))
  assert.notDeepEqual(masterKeyId(newBytes), masterKeyId(oldBytes))
  assert.ok(!Buffer.from(newBytes).includes(masterKeyId(newBytes)))
})
