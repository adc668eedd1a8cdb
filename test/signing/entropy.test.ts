import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bytesOfUuid, timeOfUuidv7 } from '../../src/proof/ids.ts'
import { makeEntropy } from '../../src/signing/entropy.ts'

test('bytes that were returned are never returned again, nor changed', () => {
  const entropy = makeEntropy()
  const taken = Array.from({ length: 2_000 }, () => entropy.bytes16())
  const before = taken.map((bytes) => Buffer.from(bytes).toString('hex'))
  for (let i = 0; i < 2_000; i++) entropy.bytes16()
  assert.deepEqual(
    taken.map((bytes) => Buffer.from(bytes).toString('hex')),
    before,
  )
  assert.equal(new Set(before).size, taken.length)
})

test('a UUIDv7 holds its milliseconds, its version and its variant', () => {
  const entropy = makeEntropy()
  for (const ms of [0, 1, 0xffff, 0x1_0000, Date.UTC(2026, 10, 20, 12), 0xffff_ffff_ffff]) {
    const uuid = entropy.uuidv7(ms)
    assert.equal(timeOfUuidv7(uuid), ms)
    const id = Buffer.from(bytesOfUuid(uuid))
    assert.equal(id.readUIntBE(0, 6), ms)
    assert.equal(id[6]! >> 4, 7)
    assert.equal(id[8]! >> 6, 2)
  }
})
