import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { toHex } from '../../src/proof/bytes.ts'
import { documentDigest } from '../../src/proof/document.ts'
import { nativeProviders } from '../../src/signing/native.ts'

test('is H(0x03 ‖ salt ‖ canonical)', () => {
  const salts = fc.uint8Array({ minLength: 16, maxLength: 16 })
  fc.assert(
    fc.property(salts, fc.uint8Array(), (salt, canonical) => {
      const expected = createHash('sha256')
        .update(Buffer.from([3]))
        .update(salt)
        .update(canonical)
        .digest('hex')
      assert.equal(toHex(documentDigest(nativeProviders.sha256, salt, canonical)), expected)
    }),
  )
})
