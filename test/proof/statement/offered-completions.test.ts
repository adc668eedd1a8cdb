import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { formatIdBytes, parseIdBytes } from '../../../src/proof/ids.ts'
import {
  isOfferedCompletionId,
  offeredCompletionId,
} from '../../../src/proof/statement/offered-completions.ts'
import { nativeProviders } from '../../../src/signing/native.ts'

const { sha256 } = nativeProviders
const id = (prefix: 'led' | 'rec') =>
  fc.uint8Array({ minLength: 16, maxLength: 16 }).map((bytes) => formatIdBytes(prefix, bytes))
const place = fc.record({
  ledger: id('led'),
  record: id('rec'),
  version: fc.integer({ min: 2, max: 1_000 }),
  digest: fc.uint8Array({ minLength: 32, maxLength: 32 }).map((bytes) => Buffer.from(bytes).toString('hex')),
})
const nonces = fc.uint8Array({ minLength: 4, maxLength: 4 })

test('an offered completion’s id is a UUIDv8 of its nonce and a hash of its step', () => {
  fc.assert(
    fc.property(place, nonces, ({ ledger, record, version, digest }, nonce) => {
      const made = offeredCompletionId(sha256, { ledger, record, version, digest }, nonce)
      const bytes = Buffer.from(parseIdBytes('cmp', made))
      assert.deepEqual(bytes.subarray(0, 4), Buffer.from(nonce))
      assert.deepEqual([bytes[6]! >> 4, bytes[8]! >> 6], [8, 2])
      const hash = createHash('sha256')
        .update(`tallystick-offered-completion-v1\0${ledger}\0${record}\0${version}\0${digest}\0`)
        .update(nonce)
        .digest()
      assert.deepEqual(bytes.subarray(9), hash.subarray(5, 12))
      assert.deepEqual([bytes[4], bytes[5], bytes[7]], [hash[0], hash[1], hash[3]])
      assert.deepEqual([bytes[6]! & 0x0f, bytes[8]! & 0x3f], [hash[2]! & 0x0f, hash[4]! & 0x3f])
    }),
  )
})

test('an offered completion’s id is valid for its own step only', () => {
  const other = fc.uint8Array({ minLength: 16, maxLength: 16 })
  fc.assert(
    fc.property(place, place, nonces, other, (one, another, nonce, bytes) => {
      const made = offeredCompletionId(sha256, one, nonce)
      assert.equal(isOfferedCompletionId(sha256, one, made), true)
      assert.equal(isOfferedCompletionId(sha256, one, formatIdBytes('cmp', bytes)), false)
      for (const name of Object.keys(one) as (keyof typeof one)[]) {
        if (one[name] === another[name]) continue
        assert.equal(isOfferedCompletionId(sha256, { ...one, [name]: another[name] }, made), false)
      }
    }),
  )
})
