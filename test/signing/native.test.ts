import assert from 'node:assert/strict'
import { createHash, createPublicKey, generateKeyPairSync, randomBytes, sign, verify } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { makeWebhookSecret, openWebhookSecret } from '../../src/outside/webhooks/secrets.ts'
import { toHex, utf8Encode } from '../../src/proof/bytes.ts'
import { keyThumbprint, parsePublicKey, spkiOf } from '../../src/proof/keys.ts'
import { makeEntropy } from '../../src/signing/entropy.ts'
import { makeMasterKey } from '../../src/signing/master-key.ts'
import { makeEd25519Signer, nativeProviders } from '../../src/signing/native.ts'
import { makePeerWitnessKeys } from '../../src/signing/peer-witness-keys.ts'
import { lowerS, makeEs256Signer } from '../helpers/es256.ts'
import { verifyEnvelope } from '../helpers/verify-envelope.ts'
import { refuses } from '../proof/refuses.ts'
import { assertAll } from './all-providers.ts'
import { envelopeOf } from './envelope.ts'

const { sha256 } = nativeProviders
const MESSAGE = utf8Encode('a message')
const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const es256 = makeEs256Signer(pair.privateKey.export({ format: 'der', type: 'pkcs8' }))
const ed25519 = makeEd25519Signer(sha256, new Uint8Array(32).fill(1))

describe('sha256', () => {
  test('equals the SHA-256 of node:crypto, for any bytes and for a view', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 1_000 }), fc.nat(8), (bytes, offset) => {
        const view = bytes.subarray(Math.min(offset, bytes.length))
        assert.equal(toHex(sha256(view)), createHash('sha256').update(view).digest('hex'))
      }),
    )
  })

  test('returns separate bytes to each caller', () => {
    const first = sha256(MESSAGE)
    const kept = toHex(first)
    for (let i = 0; i < 1_000; i++) sha256(new Uint8Array([i]))
    assert.equal(toHex(first), kept)
    first.fill(0)
    assert.equal(toHex(sha256(MESSAGE)), kept)
  })
})

test('a signer’s kid has a buffer of its own', () => {
  assert.equal(ed25519.kid.buffer.byteLength, ed25519.kid.length)
})

test('1,000 signers of webhooks and peers take fewer than 500 mappings of the process', {
  skip: process.platform !== 'linux' && 'mappings are counted in /proc',
}, () => {
  const masterKey = makeMasterKey(randomBytes(32))
  const peerKeys = makePeerWitnessKeys(masterKey)
  const entropy = makeEntropy()
  const [ledgerId, webhookId] = [entropy.uuidv7(Date.now()), entropy.uuidv7(Date.now())]
  const webhook = { ledgerId, webhookId }
  const secret = makeWebhookSecret(masterKey, Date.now(), entropy, webhook)
  const before = countMappings()
  const kept = Array.from({ length: 500 }, () => [
    peerKeys.of({ ledgerId, peerId: webhookId }),
    openWebhookSecret(masterKey, { ...webhook, ...secret }),
  ])
  const mappings = countMappings() - before
  assert.equal(kept.length, 500)
  assert.ok(mappings < 500, `${mappings} mappings of 1,000 signers`)
})

function countMappings(): number {
  return readFileSync('/proc/self/maps', 'utf8').split('\n').length
}

for (const signer of [ed25519, es256]) {
  const { alg } = signer.key
  describe(`a signer of ${alg}`, () => {
    const signature = signer.sign(MESSAGE)

    test('has its key’s thumbprint as kid', () => {
      assert.equal(toHex(signer.kid), toHex(keyThumbprint(sha256, signer.key)))
      assert.equal(toHex(signer.key.spki), toHex(spkiOf(alg, signer.key.raw)))
    })

    test('makes signatures that its key verifies', async () => {
      assert.equal(signature.length, 64)
      await assertAll(true, signer.key, MESSAGE, signature)
      assert.ok(verifyEnvelope(envelopeOf(signer), signer.key, nativeProviders))
    })

    test('refuses a changed message, a changed signature, another key', async () => {
      const other = alg === 'EdDSA' ? makeEd25519Signer(sha256, new Uint8Array(32)) : makeOtherEs256()
      await assertAll(false, signer.key, utf8Encode('another'), signature)
      await assertAll(false, other.key, MESSAGE, signature)
      for (let at = 0; at < 64; at++) {
        const changed = Buffer.from(signature)
        changed[at]! ^= 1
        await assertAll(false, signer.key, MESSAGE, changed)
      }
    })

    test('refuses a signature of another length, even where the beginning verifies', async () => {
      await assertAll(false, signer.key, MESSAGE, Buffer.concat([signature, Buffer.alloc(1)]))
      await assertAll(false, signer.key, MESSAGE, signature.subarray(0, 63))
      await assertAll(false, signer.key, MESSAGE, new Uint8Array(0))
    })

    test('refuses a signature of zeros', async () => {
      await assertAll(false, signer.key, MESSAGE, new Uint8Array(64))
    })
  })
}

function makeOtherEs256() {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  return makeEs256Signer(privateKey.export({ format: 'der', type: 'pkcs8' }))
}

describe('ES256', () => {
  test('refuses a signature in DER', async () => {
    const der = sign('sha256', MESSAGE, pair.privateKey)
    await assertAll(false, es256.key, MESSAGE, der)
    await assertAll(false, es256.key, MESSAGE, der.subarray(0, 64))
  })

  test('signs with the lower s, and refuses n - s, which can be computed without the key', async () => {
    const n = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n
    // Half of OpenSSL's signatures have a high s. So 32 signatures without a high s happen once in four billion runs.
    for (let i = 0; i < 32; i++) {
      const signature = Buffer.from(es256.sign(MESSAGE))
      const s = BigInt(`0x${signature.subarray(32).toString('hex')}`)
      assert.ok(s <= n / 2n)
      await assertAll(true, es256.key, MESSAGE, signature)
      const other = Buffer.concat([
        signature.subarray(0, 32),
        Buffer.from((n - s).toString(16).padStart(64, '0'), 'hex'),
      ])
      const options = { key: pair.publicKey, dsaEncoding: 'ieee-p1363' } as const
      assert.ok(verify('sha256', MESSAGE, options, other), 'OpenSSL takes it')
      await assertAll(false, es256.key, MESSAGE, other)
      assert.deepEqual(Buffer.from(lowerS(other)), signature)
    }
  })

  test('a key off the curve verifies nothing, and does not throw', async () => {
    const raw = es256.key.raw.slice()
    raw[64]! ^= 1
    const key = parsePublicKey('ES256', spkiOf('ES256', raw))
    await assertAll(false, key, MESSAGE, es256.sign(MESSAGE))
    await assertAll(false, key, MESSAGE, es256.sign(MESSAGE))
  })

  test('refuses to make a signer of a key on another curve', () => {
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-384' })
    refuses('bad_key', () => makeEs256Signer(privateKey.export({ format: 'der', type: 'pkcs8' })))
  })

  test('has the public key of its private key', () => {
    const spki = createPublicKey(pair.privateKey).export({ format: 'der', type: 'spki' })
    assert.equal(toHex(es256.key.spki), spki.toString('hex'))
  })
})
