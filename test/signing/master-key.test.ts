import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeMasterKey } from '../../src/signing/master-key.ts'

const master = makeMasterKey(new Uint8Array(32).fill(1))
const secret = Buffer.from('a seed of thirty-two bytes, say.')

test('opens a sealed secret, and never seals it twice to the same bytes', () => {
  const sealed = master.seal(secret, 'here')
  assert.deepEqual(master.open(sealed, 'here'), secret)
  assert.notDeepEqual(master.seal(secret, 'here'), sealed)
  assert.equal(sealed.includes(secret), false)
})

test('refuses another key, another context, and any changed or missing byte', () => {
  const sealed = master.seal(secret, 'here')
  const refused = /cannot be opened: TALLYSTICK_MASTER_KEY/
  assert.throws(() => makeMasterKey(new Uint8Array(32).fill(2)).open(sealed, 'here'), refused)
  assert.throws(() => master.open(sealed, 'there'), refused)
  for (let i = 0; i < sealed.length; i++) {
    const changed = Buffer.from(sealed)
    changed[i]! ^= 1
    assert.throws(() => master.open(changed, 'here'), refused)
  }
  assert.throws(() => master.open(sealed.subarray(0, -1), 'here'), refused)
  assert.throws(() => master.open(new Uint8Array(0), 'here'))
})

test('a MAC depends on the text, its context and the key', () => {
  const mac = master.mac('text', 'here')
  assert.equal(mac.length, 32)
  assert.deepEqual(master.mac('text', 'here'), mac)
  const others = [master.mac('texu', 'here'), master.mac('text', 'there')]
  others.push(makeMasterKey(new Uint8Array(32).fill(2)).mac('text', 'here'))
  for (const other of others) assert.notDeepEqual(other, mac)
})
