import assert from 'node:assert/strict'
import { generateKeyPairSync, sign } from 'node:crypto'
import { test } from 'node:test'
import { parsePublicKey } from '../../src/proof/keys.ts'
import { loadProviders } from '../../src/verify/providers.ts'
import { lowerS } from '../helpers/es256.ts'
import { makeSigner } from '../helpers/test-chain.ts'

const MESSAGE = new TextEncoder().encode('a message')

test('libsodium, and node:crypto in its place, hash and verify alike', async () => {
  const native = await loadProviders()
  const standIn = await loadProviders(() => Promise.reject(new Error('no such binary')))
  assert.equal(native.notice, null)
  assert.match(standIn.notice!, /node:crypto/)
  const signer = makeSigner()
  const signature = signer.sign(MESSAGE)
  const forged = signature.with(40, signature[40]! ^ 1)
  const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const es256 = parsePublicKey('ES256', pair.publicKey.export({ format: 'der', type: 'spki' }))
  const ecdsa = lowerS(sign('sha256', MESSAGE, { key: pair.privateKey, dsaEncoding: 'ieee-p1363' }))
  for (const { sha256, verifySignature } of [native, standIn]) {
    assert.equal(Buffer.from(sha256(MESSAGE)).toString('hex').slice(0, 8), 'f53c09ca')
    assert.ok(verifySignature(signer.key, MESSAGE, signature))
    assert.ok(!verifySignature(signer.key, MESSAGE, forged))
    assert.ok(verifySignature(es256, MESSAGE, ecdsa))
    assert.ok(!verifySignature(es256, MESSAGE, ecdsa.with(3, ecdsa[3]! ^ 1)))
  }
})
