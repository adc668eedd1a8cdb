import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { encodeEnvelope, encodeProtected } from '../../../src/proof/envelope/cose.ts'
import { decodeEnvelope, parseEnvelope } from '../../../src/proof/envelope/parse-envelope.ts'
import { readUsualEnvelope } from '../../../src/proof/envelope/usual-envelope.ts'
import type { ProofError } from '../../../src/proof/error.ts'
import { runs } from '../../helpers/runs.ts'

const SIGNATURE = new Uint8Array(64).fill(7)

type Parts = { alg: 'EdDSA' | 'ES256'; issuer: string; subject: string; seconds: number; payload: number }
const USUAL: Parts = {
  alg: 'EdDSA',
  issuer: 'https://x',
  subject: 'rec_1',
  seconds: 1_790_000_000,
  payload: 300,
}

function envelopeOf(parts: Partial<Parts> = {}): Uint8Array {
  const { alg, issuer, subject, seconds, payload } = { ...USUAL, ...parts }
  const header = { alg, kid: new Uint8Array(32).fill(9), issuer, subject, issuedAtSeconds: seconds }
  return encodeEnvelope(encodeProtected(header), new Uint8Array(payload).fill(0x7b), SIGNATURE)
}

/** Returns an envelope with algorithm -19 instead of -8. An agent that signs for itself may use algorithm -19. */
function envelopeOf19(): Uint8Array {
  const bytes = envelopeOf()
  const at = bytes.indexOf(0x27)
  return bytes.with(at, 0x32)
}

const partsArbitrary = fc.record({
  alg: fc.constantFrom('EdDSA' as const, 'ES256' as const),
  issuer: fc.string({ maxLength: 300, unit: 'binary' }),
  subject: fc.string({ maxLength: 40, unit: 'binary' }),
  seconds: fc.oneof(
    fc.constantFrom(0, 23, 24, 255, 256, 65_535, 65_536, 2 ** 32 - 1, 2 ** 32),
    fc.maxSafeNat(),
  ),
  payload: fc.oneof(fc.constantFrom(0, 23, 24, 255, 256, 30_000), fc.nat({ max: 1_000 })),
})

test('the fast path reads our envelopes like the full decoder', () => {
  fc.assert(
    fc.property(partsArbitrary, (parts) => {
      const bytes = envelopeOf(parts)
      const usual = readUsualEnvelope(bytes)
      assert.equal(usual !== null, parts.seconds < 2 ** 32)
      assert.deepEqual(parseEnvelope(bytes), decodeEnvelope(bytes))
    }),
    { numRuns: runs(500) },
  )
})

test('the fast path reads names in any script, and EdDSA as -19', () => {
  for (const bytes of [
    envelopeOf({ issuer: 'https://b\u00fccher.example' }),
    envelopeOf({ issuer: 'https://\u4f8b.example/\u{1f4d6}' }),
    // A byte order mark is accepted as an ordinary character.
    envelopeOf({ issuer: '\ufeffhttps://x', subject: '\ufeff' }),
    envelopeOf19(),
  ])
    assert.deepEqual(readUsualEnvelope(bytes), decodeEnvelope(bytes))
})

test('the fast path reads a changed envelope like the decoder, or returns null', () => {
  const mutation = fc.record({
    at: fc.nat({ max: 600 }),
    byte: fc.nat({ max: 255 }),
    how: fc.nat({ max: 2 }),
  })
  const numRuns = runs(5_000)
  let read = 0
  fc.assert(
    fc.property(fc.array(mutation, { minLength: 1, maxLength: 3 }), fc.boolean(), (mutations, isNewer) => {
      const bytes = [...(isNewer ? envelopeOf19() : envelopeOf())]
      for (const { at, byte, how } of mutations) {
        const place = at % (bytes.length + 1)
        bytes.splice(place, how === 0 ? 0 : 1, ...(how === 2 ? [] : [byte]))
      }
      const usual = readUsualEnvelope(Uint8Array.from(bytes))
      if (usual === null) return
      read++
      assert.deepEqual(usual, decodeEnvelope(Uint8Array.from(bytes)))
    }),
    { numRuns },
  )
  assert.ok(read > numRuns / 10, `only ${read} were read`)
})

test('the fast path returns null for an overlong head, and the decoder refuses the envelope', () => {
  const bytes = envelopeOf({ payload: 0 })
  const at = bytes.length - 67 // Position of the head of the empty payload.
  assert.equal(bytes[at], 0x40)
  for (const head of [
    [0x58, 0x00],
    [0x59, 0x00, 0x00],
    [0x5a, 0, 0, 0, 0],
    [0x5b, 0, 0, 0, 0, 0, 0, 0, 0],
  ]) {
    const long = Uint8Array.from([...bytes.subarray(0, at), ...head, ...bytes.subarray(at + 1)])
    assert.equal(readUsualEnvelope(long), null)
    assert.throws(
      () => parseEnvelope(long),
      (error: ProofError) => error.code === 'cbor_not_deterministic',
    )
  }
})

test('the fast path returns null for an envelope cut at any length', () => {
  const bytes = envelopeOf({ payload: 30 })
  for (let length = 0; length < bytes.length; length++)
    assert.equal(readUsualEnvelope(bytes.subarray(0, length)), null, `${length}`)
  assert.equal(readUsualEnvelope(Uint8Array.from([...bytes, 0])), null)
  const protectedBytes = encodeProtected({ ...USUAL, kid: new Uint8Array(32), issuedAtSeconds: 5 })
  for (let length = 0; length < protectedBytes.length; length++) {
    const cut = encodeEnvelope(protectedBytes.subarray(0, length), new Uint8Array(3), SIGNATURE)
    assert.equal(readUsualEnvelope(cut), null, `a header of ${length} bytes`)
  }
})
