import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { toHex } from '../../../src/proof/bytes.ts'
import { documentDigest } from '../../../src/proof/statement/document.ts'
import { nativeProviders } from '../../../src/signing/native.ts'

test('the document digest is H(0x03 ‖ salt ‖ canonical)', () => {
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

test('the document digest is correct for documents around and above the reused buffer’s size', () => {
  const salt = new Uint8Array(16).fill(7)
  for (const length of [0, 4_078, 4_079, 4_080, 65_536]) {
    const canonical = new Uint8Array(length).fill(0x61)
    const expected = createHash('sha256')
      .update(Buffer.from([3]))
      .update(salt)
      .update(canonical)
      .digest('hex')
    assert.equal(toHex(documentDigest(nativeProviders.sha256, salt, canonical)), expected)
  }
})
