import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { fromHex } from '../../src/proof/bytes.ts'
import { hasLowS, lowS } from '../../src/proof/p256-low-s.ts'

const N = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n
const signatureOf = (s: bigint) => fromHex('ab'.repeat(32) + s.toString(16).padStart(64, '0'))

test('the lower of s and n - s is low, the other is not', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: 1n, max: N / 2n }), (s) => {
      const [low, high] = [signatureOf(s), signatureOf(N - s)]
      assert.deepEqual([hasLowS(low), hasLowS(high)], [true, false])
      assert.deepEqual([lowS(low), lowS(high)], [low, low])
    }),
  )
})

test('the boundary lies between (n - 1) / 2 and (n + 1) / 2', () => {
  assert.ok(hasLowS(signatureOf(N / 2n)))
  assert.ok(!hasLowS(signatureOf(N / 2n + 1n)))
  assert.ok(!hasLowS(signatureOf(N - 1n)))
  assert.ok(!hasLowS(new Uint8Array(63)))
})
