import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { describe, test } from 'node:test'
import { Point } from '@noble/ed25519'
import fc from 'fast-check'
import { fromHex, utf8Encode } from '../../src/proof/bytes.ts'
import type { PublicKey } from '../../src/proof/crypto.ts'
import { makeEd25519Signer, nativeProviders } from '../../src/signing/native.ts'
import { makePortableProviders, type PortableHashes } from '../../src/signing/portable.ts'
import { runs } from '../helpers/runs.ts'
import { NOT_CANONICAL_POINTS, ORDER_8, SMALL_ORDER_POINTS } from '../proof/ed25519-edge-cases.ts'
import { refuses } from '../proof/refuses.ts'
import { assertAll, ENGINES, isGood } from './all-providers.ts'

const { sha256 } = nativeProviders
const hashes: PortableHashes = { sha256, sha512: (data) => createHash('sha512').update(data).digest() }
const portable = makePortableProviders(hashes)
const seeds = fc.uint8Array({ minLength: 32, maxLength: 32 })

test('Ed25519 signatures of libsodium verify without native code', async () => {
  await fc.assert(
    fc.asyncProperty(seeds, fc.uint8Array({ maxLength: 300 }), async (seed, message) => {
      const signer = makeEd25519Signer(sha256, seed)
      await assertAll(true, signer.key, message, signer.sign(message))
    }),
    { numRuns: runs(25) },
  )
})

describe('ES256 without native code', () => {
  const key: PublicKey = { alg: 'ES256', raw: new Uint8Array(65), spki: new Uint8Array(91) }

  test('is refused with cose_algorithm', () => {
    refuses('cose_algorithm', () => portable.verifySignature(key, new Uint8Array(), new Uint8Array(64)))
  })

  test('is verified by the function that the caller passes', () => {
    const providers = makePortableProviders(hashes, () => true)
    assert.ok(providers.verifySignature(key, new Uint8Array(), new Uint8Array(64)))
    assert.equal(providers.sha256, sha256)
  })
})

/* Tests that all verifiers agree on every signature, whatever points and scalars an attacker chooses. */

const L = Point.CURVE().n
const BASE = Point.BASE
const ZERO = Point.ZERO
const MESSAGE = utf8Encode('a message')

const ED25519_PREFIX = fromHex('302a300506032b6570032100')

/** Makes a key without parsing it, because parsePublicKey refuses the worst keys before a provider gets them. */
function keyOf(raw: Uint8Array): PublicKey {
  return { alg: 'EdDSA', raw: Buffer.from(raw), spki: Buffer.concat([ED25519_PREFIX, raw]) }
}

function littleEndian(bytes: Uint8Array): bigint {
  return BigInt(`0x${Buffer.from(bytes).reverse().toString('hex')}`)
}

function toLittleEndian(value: bigint): Uint8Array {
  return Buffer.from(value.toString(16).padStart(64, '0'), 'hex').reverse()
}

/** Computes k as RFC 8032 §5.1.7 defines it. */
function challenge(r: Uint8Array, a: Uint8Array, message: Uint8Array): bigint {
  return littleEndian(createHash('sha512').update(r).update(a).update(message).digest()) % L
}

/**
 * Makes a signature whose equation holds in the subgroup of prime order. Points of small order are added to the key
 * and to R.
 */
function forge(a: bigint, r: bigint, addToKey: Point, addToR: Point, message: Uint8Array) {
  const key = (a === 0n ? ZERO : BASE.multiply(a)).add(addToKey).toBytes()
  const point = (r === 0n ? ZERO : BASE.multiply(r)).add(addToR).toBytes()
  const s = (r + challenge(point, key, message) * a) % L
  return { key: keyOf(key), signature: Buffer.concat([point, toLittleEndian(s)]) }
}

test('all verifiers accept an honest signature of the forging helper', async () => {
  const { key, signature } = forge(5n, 7n, ZERO, ZERO, MESSAGE)
  await assertAll(true, key, MESSAGE, signature)
})

describe('all verifiers refuse', () => {
  const honest = forge(5n, 7n, ZERO, ZERO, MESSAGE)
  const [r, s] = [honest.signature.subarray(0, 32), littleEndian(honest.signature.subarray(32))]

  for (let times = 1n; times <= 15n; times++) {
    test(`S + ${times} L, which is the same scalar`, async () => {
      await assertAll(false, honest.key, MESSAGE, Buffer.concat([r, toLittleEndian(s + times * L)]))
    })
  }

  test('S of zero', async () => {
    await assertAll(false, honest.key, MESSAGE, Buffer.concat([r, new Uint8Array(32)]))
  })

  test('S of all ones', async () => {
    await assertAll(false, honest.key, MESSAGE, Buffer.concat([r, new Uint8Array(32).fill(0xff)]))
  })

  test('a signature of another length', async () => {
    await assertAll(false, honest.key, MESSAGE, honest.signature.subarray(1))
    await assertAll(false, honest.key, MESSAGE, Buffer.concat([honest.signature, Buffer.alloc(1)]))
  })

  for (const [name, hex] of [...SMALL_ORDER_POINTS, ...NOT_CANONICAL_POINTS]) {
    test(`a key that is ${name}, with signatures that would verify under it`, async () => {
      const key = keyOf(fromHex(hex))
      for (let i = 0; i < 16; i++) {
        const message = utf8Encode(`message ${i}`)
        const { signature } = forge(0n, 7n, ZERO, ZERO, message)
        await assertAll(false, key, message, signature)
        await assertAll(false, key, message, Buffer.concat([key.raw, new Uint8Array(32)]))
      }
    })

    test(`an R that is ${name}`, async () => {
      const point = fromHex(hex)
      for (let i = 0; i < 16; i++) {
        const message = utf8Encode(`message ${i}`)
        const k = challenge(point, honest.key.raw, message)
        await assertAll(false, honest.key, message, Buffer.concat([point, toLittleEndian((k * 5n) % L)]))
      }
    })
  }

  test('a key, or an R, that is no point of the curve', async () => {
    const noPoint = fromHex(`02${'00'.repeat(31)}`)
    assert.throws(() => Point.fromBytes(noPoint))
    await assertAll(false, keyOf(noPoint), MESSAGE, honest.signature)
    await assertAll(false, honest.key, MESSAGE, Buffer.concat([noPoint, honest.signature.subarray(32)]))
  })
})

test('all verifiers use the equation without cofactor: points of mixed order must fit exactly', async () => {
  let taken = 0
  for (let i = 0; i < 24; i++) {
    const message = utf8Encode(`message ${i}`)
    for (const [addToKey, addToR] of [
      [ORDER_8, ZERO],
      [ZERO, ORDER_8],
      [ORDER_8, ORDER_8],
    ] as const) {
      const { key, signature } = forge(5n, 7n, addToKey, addToR, message)
      const fits = await isGood(ENGINES['the server']!, key, message, signature)
      await assertAll(fits, key, message, signature)
      if (fits) taken++
    }
  }
  assert.ok(taken > 0 && taken < 36, `some of them fit, most do not: ${taken}`)
})
