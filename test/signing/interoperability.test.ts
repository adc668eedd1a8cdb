import assert from 'node:assert/strict'
import { createPrivateKey, createPublicKey, generateKeyPairSync, verify } from 'node:crypto'
import { describe, test } from 'node:test'
import { Sign1 } from '@auth0/cose'
import { decode, Tagged } from 'cborg'
import coseJs from 'cose-js'
import { toHex } from '../../src/proof/bytes.ts'
import { SIGNATURE_BYTES } from '../../src/proof/crypto.ts'
import { encodeProtected, parseEnvelope, toBeSigned } from '../../src/proof/envelope/cose.ts'
import { makeEd25519Signer, nativeProviders } from '../../src/signing/native.ts'
import { lowerS, makeEs256Signer } from '../helpers/es256.ts'
import { verifyEnvelope } from '../helpers/verify-envelope.ts'
import { refuses } from '../proof/refuses.ts'
import { envelopeOf, PAYLOAD } from './envelope.ts'

/* Tests that other COSE libraries verify our envelopes, and that we read theirs correctly. */

const { sha256, verifySignature } = nativeProviders
const seed = Buffer.alloc(32, 7)
const ed25519 = makeEd25519Signer(sha256, seed)
const ed25519Public = createPublicKey({ key: Buffer.from(ed25519.key.spki), format: 'der', type: 'spki' })
const ed25519Private = createPrivateKey({
  key: Buffer.concat([Buffer.from('302e020100300506032b657004220420', 'hex'), seed]),
  format: 'der',
  type: 'pkcs8',
})
const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const es256 = makeEs256Signer(pair.privateKey.export({ format: 'der', type: 'pkcs8' }))

/** Returns our protected header as a map of labels, which other libraries take. */
function ourHeader(alg: number, kid: Uint8Array): Map<number, unknown> {
  const claims = new Map<number, unknown>([
    [1, 'https://ledger.example'],
    [2, 'rec_x'],
    [6, 1_795_176_001],
  ])
  return new Map<number, unknown>([
    [1, alg],
    [3, 'application/vnd.in-toto+json'],
    [4, kid],
    [15, claims],
  ])
}

describe('@auth0/cose', () => {
  test('verifies our Ed25519 envelopes', async () => {
    const theirs = Sign1.decode(envelopeOf(ed25519))
    await theirs.verify(ed25519Public)
    assert.equal(toHex(theirs.payload), toHex(PAYLOAD))
  })

  test('verifies our ES256 envelopes', async () => {
    await Sign1.decode(envelopeOf(es256)).verify(pair.publicKey)
  })

  test('refuses ours when a byte of the payload was changed', async () => {
    const envelope = Buffer.from(envelopeOf(ed25519))
    envelope[envelope.length - 80]! ^= 1
    await assert.rejects(Sign1.decode(envelope).verify(ed25519Public))
  })

  for (const [alg, signer, privateKey] of [
    [-8, ed25519, ed25519Private],
    [-7, es256, pair.privateKey],
  ] as const) {
    test(`makes envelopes with ${alg} that we verify`, async () => {
      const header = ourHeader(alg, signer.kid) as unknown as Parameters<typeof Sign1.sign>[0]
      const made = await Sign1.sign(header, undefined, PAYLOAD, privateKey)
      const envelope = new Uint8Array(made.encode())
      // The library may make a signature with the high s. Our format requires the low s.
      if (alg === -7)
        envelope.set(lowerS(envelope.subarray(-SIGNATURE_BYTES)), envelope.length - SIGNATURE_BYTES)
      const parsed = verifyEnvelope(envelope, signer.key, nativeProviders)
      assert.equal(parsed.subject, 'rec_x')
      assert.equal(toHex(parsed.payload), toHex(PAYLOAD))
      const { alg: name, kid } = parsed
      const again = encodeProtected({
        alg: name,
        kid,
        issuer: parsed.issuer,
        subject: 'rec_x',
        issuedAtSeconds: parsed.issuedAtSeconds,
      })
      assert.equal(toHex(again), toHex(parsed.protectedBytes))
    })
  }
})

/*
 * cose-js has three limits. It does not support Ed25519. Before it verifies, it encodes the protected header again,
 * which reproduces our bytes. It makes envelopes only with headers of its own list, which lacks label 15.
 */
describe('cose-js', () => {
  const jwk = pair.privateKey.export({ format: 'jwk' })
  const [x, y, d] = [jwk.x, jwk.y, jwk.d].map((part) => Buffer.from(part!, 'base64url'))

  test('verifies our ES256 envelopes', async () => {
    const payload = await coseJs.sign.verify(envelopeOf(es256), { key: { x, y } })
    assert.equal(toHex(payload), toHex(PAYLOAD))
  })

  test('refuses ours under another key, or changed', async () => {
    const other = generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({ format: 'jwk' })
    const [ox, oy] = [other.x, other.y].map((part) => Buffer.from(part!, 'base64url'))
    await assert.rejects(
      coseJs.sign.verify(envelopeOf(es256), { key: { x: ox, y: oy } }),
      /Signature missmatch/,
    )
    const envelope = Buffer.from(envelopeOf(es256))
    envelope[envelope.length - 80]! ^= 1
    await assert.rejects(coseJs.sign.verify(envelope, { key: { x, y } }), /Signature missmatch/)
  })

  test('cannot make the header that we require: label 15 is unknown to it', async () => {
    const p = { alg: 'ES256', cwt_claims: new Map() }
    const create = async (): Promise<Buffer> =>
      coseJs.sign.create({ p, u: {} }, Buffer.from(PAYLOAD), { key: { d } })
    await assert.rejects(create, /Unknown parameter/)
  })

  test('makes signatures over headers without claims that verify over our Sig_structure', async () => {
    const p = { alg: 'ES256', content_type: 'application/vnd.in-toto+json', kid: Buffer.from(es256.kid) }
    const envelope = await coseJs.sign.create({ p, u: {} }, Buffer.from(PAYLOAD), { key: { d } })
    const { value } = decode(envelope, { useMaps: true, tags: Tagged.preserve(18) }) as {
      value: Uint8Array[]
    }
    const [protectedBytes, , payload, signature] = value
    // The library may make a signature with the high s. Our format requires the low s.
    assert.ok(verifySignature(es256.key, toBeSigned(protectedBytes!, payload!), lowerS(signature!)))
    refuses('cose_header', () => parseEnvelope(envelope))
  })

  test('does not support Ed25519', async () => {
    await assert.rejects(coseJs.sign.verify(envelopeOf(ed25519), { key: { x, y } }), /Unknown algorithm, -8/)
  })
})

test('node:crypto verifies the signature of our Ed25519 envelopes', () => {
  const { protectedBytes, payload, signature } = parseEnvelope(envelopeOf(ed25519))
  assert.ok(verify(null, toBeSigned(protectedBytes, payload), ed25519Public, signature))
})
