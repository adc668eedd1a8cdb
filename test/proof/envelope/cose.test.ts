import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { encode, rfc8949EncodeOptions, Tagged } from 'cborg'
import fc from 'fast-check'
import { concat, fromHex, toHex, utf8Encode } from '../../../src/proof/bytes.ts'
import {
  encodeEnvelope,
  encodeProtected,
  parseEnvelope,
  toBeSigned,
} from '../../../src/proof/envelope/cose.ts'
import type { ProofErrorCode } from '../../../src/proof/error.ts'
import { ENVELOPE_BYTES_MAX } from '../../../src/proof/limits.ts'
import { makeEd25519Signer, nativeProviders } from '../../../src/signing/native.ts'
import { codePoint } from '../../helpers/code-points.ts'
import { verifyEnvelope } from '../../helpers/verify-envelope.ts'
import { refuses } from '../refuses.ts'

const cbor = (value: unknown): Uint8Array => encode(value, rfc8949EncodeOptions)
const signer = makeEd25519Signer(nativeProviders.sha256, new Uint8Array(32).fill(1))
const { kid, key } = signer
const KID = new Uint8Array(32).fill(0xab)
const SIGNATURE = new Uint8Array(64).fill(0xcd)
const PAYLOAD = utf8Encode('{}')

type Labels = Map<number, unknown>

function header(change: (labels: Labels, claims: Labels) => void = () => {}): Labels {
  const claims: Labels = new Map<number, unknown>([
    [1, 'https://ledger.example'],
    [2, 'rec_x'],
    [6, 1_700_000_000],
  ])
  const labels: Labels = new Map<number, unknown>([
    [1, -8],
    [3, 'application/vnd.in-toto+json'],
    [4, KID],
    [15, claims],
  ])
  change(labels, claims)
  return labels
}

function sign1(
  protectedBytes: unknown,
  unprotected: unknown = new Map(),
  payload: unknown = PAYLOAD,
  signature: unknown = SIGNATURE,
) {
  return cbor(new Tagged(18, [protectedBytes, unprotected, payload, signature]))
}

describe('encoding by hand equals cborg, byte for byte', () => {
  const texts = fc.oneof(fc.string({ unit: codePoint, maxLength: 300 }), fc.constant('x'.repeat(70_000)))
  const seconds = fc.oneof(
    fc.nat(),
    fc.constantFrom(0, 23, 24, 255, 256, 65_535, 65_536, 2 ** 32 - 1, 2 ** 32, 2 ** 53 - 1),
  )

  test('encodeProtected', () => {
    fc.assert(
      fc.property(
        fc.constantFrom('EdDSA' as const, 'ES256' as const),
        texts,
        texts,
        seconds,
        (alg, issuer, subject, issuedAtSeconds) => {
          const labels = header((outer, claims) => {
            outer.set(1, alg === 'EdDSA' ? -8 : -7)
            claims.set(1, issuer).set(2, subject).set(6, issuedAtSeconds)
          })
          const made = encodeProtected({ alg, kid: KID, issuer, subject, issuedAtSeconds })
          assert.equal(toHex(made), toHex(cbor(labels)))
        },
      ),
    )
  })

  const sizes = fc.oneof(fc.nat(300), fc.constantFrom(0, 23, 24, 255, 256, 20_000))
  test('toBeSigned and encodeEnvelope', () => {
    fc.assert(
      fc.property(sizes, sizes, (a, b) => {
        const [protectedBytes, payload] = [
          new Uint8Array(a).fill(1),
          new Uint8Array(b >= 20_000 ? 300 : b).fill(2),
        ]
        const structure = ['Signature1', protectedBytes, new Uint8Array(0), payload]
        assert.equal(toHex(toBeSigned(protectedBytes, payload)), toHex(cbor(structure)))
        const envelope = encodeEnvelope(protectedBytes, payload, SIGNATURE)
        assert.equal(toHex(envelope), toHex(sign1(protectedBytes, new Map(), payload)))
      }),
    )
  })

  test('toBeSigned of a payload beyond 64 KiB', () => {
    const payload = new Uint8Array(70_000)
    const structure = ['Signature1', KID, new Uint8Array(0), payload]
    assert.equal(toHex(toBeSigned(KID, payload)), toHex(cbor(structure)))
  })
})

test('an envelope parses to its parts', () => {
  fc.assert(
    fc.property(
      fc.string({ unit: 'grapheme' }),
      fc.string({ unit: 'grapheme' }),
      fc.nat(),
      fc.uint8Array(),
      (issuer, subject, issuedAtSeconds, payload) => {
        const protectedBytes = encodeProtected({ alg: 'ES256', kid: KID, issuer, subject, issuedAtSeconds })
        const parsed = parseEnvelope(encodeEnvelope(protectedBytes, payload, SIGNATURE))
        const { signature, ...rest } = parsed
        assert.equal(toHex(signature), toHex(SIGNATURE))
        assert.deepEqual(
          {
            ...rest,
            kid: toHex(rest.kid),
            payload: toHex(rest.payload),
            protectedBytes: toHex(rest.protectedBytes),
          },
          {
            alg: 'ES256',
            kid: toHex(KID),
            issuer,
            subject,
            issuedAtSeconds,
            payload: toHex(payload),
            protectedBytes: toHex(protectedBytes),
          },
        )
      },
    ),
  )
})

test('refuses to encode an envelope that a verifier would refuse for its size', () => {
  const protectedBytes = cbor(header())
  const around = encodeEnvelope(protectedBytes, new Uint8Array(1_000), SIGNATURE).length - 1_000
  const largest = encodeEnvelope(protectedBytes, new Uint8Array(ENVELOPE_BYTES_MAX - around), SIGNATURE)
  assert.equal(largest.length, ENVELOPE_BYTES_MAX)
  assert.ok(parseEnvelope(largest))
  refuses('envelope_too_large', () =>
    encodeEnvelope(protectedBytes, new Uint8Array(ENVELOPE_BYTES_MAX - around + 1), SIGNATURE),
  )
  refuses('envelope_too_large', () => parseEnvelope(concat([largest, new Uint8Array(1)])))
})

test('refuses to encode a time that is not a count of seconds with cose_header', () => {
  for (const issuedAtSeconds of [-1, 0.5, Number.NaN, 2 ** 53]) {
    refuses('cose_header', () =>
      encodeProtected({ alg: 'EdDSA', kid: KID, issuer: '', subject: '', issuedAtSeconds }),
    )
  }
})

describe('parseEnvelope', () => {
  const good = sign1(cbor(header()))

  test('accepts -8 and -19 as Ed25519 and -7 as ES256', () => {
    for (const [label, alg] of [
      [-8, 'EdDSA'],
      [-19, 'EdDSA'],
      [-7, 'ES256'],
    ] as const) {
      assert.equal(parseEnvelope(sign1(cbor(header((labels) => labels.set(1, label))))).alg, alg)
    }
  })

  test('accepts a time of zero', () => {
    const labels = header((_, claims) => claims.set(6, 0))
    assert.equal(parseEnvelope(sign1(cbor(labels))).issuedAtSeconds, 0)
  })

  const bytesOf: Record<string, readonly [ProofErrorCode, Uint8Array]> = {
    'no bytes': ['cbor_malformed', new Uint8Array(0)],
    'a missing tag': ['cose_structure', good.subarray(1)],
    'another tag': ['cbor_malformed', cbor(new Tagged(98, [cbor(header()), new Map(), PAYLOAD, SIGNATURE]))],
    'a tag within the tag': ['cbor_malformed', cbor(new Tagged(18, new Tagged(18, 1)))],
    'bytes after the end': ['cbor_malformed', concat([good, fromHex('00')])],
    'an end that is missing': ['cbor_malformed', good.subarray(0, -1)],
    'the tag in two bytes': ['cbor_not_deterministic', concat([fromHex('d812'), good.subarray(1)])],
    'the array with its length in two bytes': [
      'cbor_not_deterministic',
      concat([fromHex('d29804'), good.subarray(2)]),
    ],
    'an array without a length': [
      'cbor_not_deterministic',
      concat([fromHex('d29f'), good.subarray(2), fromHex('ff')]),
    ],
    'nothing but null': ['cose_structure', fromHex('f6')],
    'a tag around null': ['cose_structure', fromHex('d2f6')],
    'no array': ['cose_structure', cbor(new Tagged(18, new Map()))],
    'an array of three': ['cose_structure', cbor(new Tagged(18, [cbor(header()), new Map(), PAYLOAD]))],
    'a protected header that is no byte string': ['cose_structure', sign1(header())],
    'an unprotected header that is no map': ['cose_structure', sign1(cbor(header()), [])],
    'a detached payload': ['cose_structure', sign1(cbor(header()), new Map(), null)],
    'a signature that is no byte string': ['cose_structure', sign1(cbor(header()), new Map(), PAYLOAD, 'x')],
    'a signature of 63 bytes': [
      'cose_structure',
      sign1(cbor(header()), new Map(), PAYLOAD, SIGNATURE.subarray(1)),
    ],
    'a member in the unprotected header': ['cose_unprotected', sign1(cbor(header()), new Map([[4, KID]]))],
    'an empty protected header': ['cbor_malformed', sign1(new Uint8Array(0))],
    'bytes after the protected header': ['cbor_malformed', sign1(concat([cbor(header()), fromHex('00')]))],
    'a protected header that is no map': ['cose_header', sign1(cbor([]))],
  }
  for (const [what, [code, bytes]] of Object.entries(bytesOf)) {
    test(`refuses ${what}: ${code}`, () => refuses(code, () => parseEnvelope(bytes)))
  }

  test('refuses CBOR that is nested as deeply as its size allows, without a stack overflow', () => {
    for (const head of [0x81, 0xd2, 0xa1]) {
      for (const length of [1_000, 4_000, 16_000, ENVELOPE_BYTES_MAX - 1]) {
        refuses(/^c(bor|ose)_/, () => parseEnvelope(new Uint8Array(length).fill(head)))
        refuses(/^c(bor|ose)_/, () => parseEnvelope(new Uint8Array(length).fill(head).fill(0, length - 1)))
      }
    }
  })

  const headers: Record<string, readonly [ProofErrorCode, (labels: Labels, claims: Labels) => void]> = {
    crit: ['cose_crit', (labels) => labels.set(2, [15])],
    'an unknown label': ['cose_header', (labels) => labels.set(16, 'x')],
    'a label in the place of another': ['cose_header', (labels) => labels.delete(4) && labels.set(5, KID)],
    'no kid': ['cose_header', (labels) => labels.delete(4)],
    'a kid of 31 bytes': ['cose_header', (labels) => labels.set(4, KID.subarray(1))],
    'a kid that is text': ['cose_header', (labels) => labels.set(4, 'x'.repeat(32))],
    'an unknown algorithm': ['cose_algorithm', (labels) => labels.set(1, -35)],
    'the algorithm by name': ['cose_algorithm', (labels) => labels.set(1, 'EdDSA')],
    'another content type': ['cose_content_type', (labels) => labels.set(3, 'application/json')],
    'a content type by number': ['cose_content_type', (labels) => labels.set(3, 50)],
    'claims that are no map': ['cose_header', (labels) => labels.set(15, [])],
    'claims that are text': ['cose_header', (labels) => labels.set(15, 'abc')],
    'claims that are null': ['cose_header', (labels) => labels.set(15, null)],
    'an unknown claim': ['cose_header', (_, claims) => claims.set(3, 'aud')],
    'no subject': ['cose_header', (_, claims) => claims.delete(2)],
    'an issuer that is no text': ['cose_header', (_, claims) => claims.set(1, 1)],
    'a subject that is no text': ['cose_header', (_, claims) => claims.set(2, KID)],
    'a time before 1970': ['cose_header', (_, claims) => claims.set(6, -1)],
    'a time that is text': ['cose_header', (_, claims) => claims.set(6, '1')],
    'a time with a fraction': ['cbor_malformed', (_, claims) => claims.set(6, 1.5)],
    'a time beyond 2^53': ['cose_header', (_, claims) => claims.set(6, 2n ** 60n)],
  }
  for (const [what, [code, change]] of Object.entries(headers)) {
    test(`refuses ${what}: ${code}`, () => refuses(code, () => parseEnvelope(sign1(cbor(header(change))))))
  }

  const rawHeaders: Record<string, string> = {
    'labels out of order': `a403781c${toHex(utf8Encode('application/vnd.in-toto+json'))}0127045820${toHex(KID)}0fa3016178026178061864`,
    'a label twice': `a50127012703781c${toHex(utf8Encode('application/vnd.in-toto+json'))}045820${toHex(KID)}0fa3016178026178061864`,
    'the algorithm in two bytes': toHex(cbor(header())).replace(/^a40127/, 'a4013807'),
    'text that is no UTF-8': toHex(cbor(header((_, claims) => claims.set(2, 'x')))).replace(
      '026178',
      '0261ff',
    ),
  }
  for (const [what, hex] of Object.entries(rawHeaders)) {
    test(`refuses ${what}: cbor_not_deterministic`, () => {
      refuses('cbor_not_deterministic', () => parseEnvelope(sign1(fromHex(hex))))
    })
  }
})

describe('verifySigner', () => {
  const protectedBytes = encodeProtected({ alg: 'EdDSA', kid, issuer: 'i', subject: 's', issuedAtSeconds: 1 })
  const envelope = encodeEnvelope(protectedBytes, PAYLOAD, signer.sign(toBeSigned(protectedBytes, PAYLOAD)))
  const other = makeEd25519Signer(nativeProviders.sha256, new Uint8Array(32).fill(2))

  test('returns the parts of the envelope', () => {
    assert.equal(toHex(verifyEnvelope(envelope, key, nativeProviders).payload), toHex(PAYLOAD))
  })

  test('verifies -19 over the protected bytes as they were received', () => {
    const labels = header((outer) => outer.set(1, -19).set(4, kid))
    const bytes = cbor(labels)
    const signed = sign1(bytes, new Map(), PAYLOAD, signer.sign(toBeSigned(bytes, PAYLOAD)))
    assert.equal(verifyEnvelope(signed, key, nativeProviders).alg, 'EdDSA')
  })

  test('refuses an algorithm that is not the key’s', () => {
    const bytes = cbor(header((labels) => labels.set(1, -7)))
    refuses('algorithm_mismatch', () => verifyEnvelope(sign1(bytes), key, nativeProviders))
  })

  test('refuses the signature of another key', () => {
    const forged = encodeEnvelope(protectedBytes, PAYLOAD, other.sign(toBeSigned(protectedBytes, PAYLOAD)))
    refuses('signature_invalid', () => verifyEnvelope(forged, key, nativeProviders))
  })
})
