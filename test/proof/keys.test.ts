import assert from 'node:assert/strict'
import { createHash, generateKeyPairSync } from 'node:crypto'
import { describe, test } from 'node:test'
import { encode, rfc8949EncodeOptions } from 'cborg'
import { concat, fromHex, toBase64, toHex } from '../../src/proof/bytes.ts'
import { isWeakEd25519Point } from '../../src/proof/ed25519-points.ts'
import { keyThumbprint, parsePublicKey, spkiOf } from '../../src/proof/keys.ts'
import { isEnvelopeKey, isIssuerKey, isNoteKey } from '../../src/proof/statement/fields.ts'
import { keyIdOf, NOTE_TYPES, parseNoteKey } from '../../src/proof/tree/note.ts'
import { nativeProviders } from '../../src/signing/native.ts'
import { NOT_CANONICAL_POINTS, SMALL_ORDER_POINTS } from './ed25519-edge-cases.ts'
import { refuses } from './refuses.ts'

const ed25519 = generateKeyPairSync('ed25519').publicKey
const p256 = generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey
const der = (key: typeof p256): Buffer => key.export({ type: 'spki', format: 'der' })

for (const [alg, key, coordinates] of [
  ['EdDSA', ed25519, ['x']],
  ['ES256', p256, ['x', 'y']],
] as const) {
  describe(`an ${alg} key`, () => {
    const parsed = parsePublicKey(alg, der(key))
    const jwk = key.export({ format: 'jwk' }) as Record<string, string>
    const values = coordinates.map((name) => Buffer.from(jwk[name]!, 'base64url'))

    test('has the same raw bytes as its JWK', () => {
      const head = alg === 'ES256' ? [Buffer.from([4])] : []
      assert.equal(toHex(parsed.raw), Buffer.concat([...head, ...values]).toString('hex'))
    })

    test('its raw bytes encode to the same SPKI', () => {
      assert.equal(toHex(spkiOf(alg, parsed.raw)), der(key).toString('hex'))
    })

    test('has the thumbprint of RFC 9679', () => {
      const kty = alg === 'EdDSA' ? 1 : 2
      const crv = alg === 'EdDSA' ? 6 : 1
      const map = new Map<number, unknown>([
        [1, kty],
        [-1, crv],
        ...values.map((value, i): [number, Buffer] => [-2 - i, value]),
      ])
      const expected = createHash('sha256').update(encode(map, rfc8949EncodeOptions)).digest('hex')
      assert.equal(toHex(keyThumbprint(nativeProviders.sha256, parsed)), expected)
    })

    test('is a copy: later changes of the parsed bytes do not change the key', () => {
      const bytes = der(key)
      const copy = parsePublicKey(alg, bytes)
      bytes.fill(0, 12)
      assert.deepEqual(copy.raw, parsed.raw)
    })

    test('is refused as a key of the other algorithm with bad_key', () => {
      refuses('bad_key', () => parsePublicKey(alg === 'EdDSA' ? 'ES256' : 'EdDSA', der(key)))
    })

    test('is refused with bad_key if a byte is added, removed or changed in its header', () => {
      refuses('bad_key', () => parsePublicKey(alg, Buffer.concat([der(key), Buffer.alloc(1)])))
      refuses('bad_key', () => parsePublicKey(alg, der(key).subarray(0, -1)))
      const changed = der(key)
      changed[1]! ^= 1
      refuses('bad_key', () => parsePublicKey(alg, changed))
      refuses('bad_key', () => spkiOf(alg, parsed.raw.subarray(1)))
    })
  })
}

test('spkiOf does not write to its input, even to a Buffer', () => {
  const raw = Buffer.from(parsePublicKey('EdDSA', der(ed25519)).raw)
  raw[31]! |= 0x80
  const before = raw.toString('hex')
  spkiOf('EdDSA', raw)
  assert.equal(raw.toString('hex'), before)
})

test('refuses a compressed point', () => {
  refuses('bad_key', () => spkiOf('ES256', new Uint8Array(65).fill(2)))
})

describe('refuses Ed25519 keys that are', () => {
  for (const [name, hex] of [...SMALL_ORDER_POINTS, ...NOT_CANONICAL_POINTS]) {
    test(name, () => {
      refuses('bad_key', () => spkiOf('EdDSA', fromHex(hex)))
      const spki = fromHex(`302a300506032b6570032100${hex}`)
      refuses('bad_key', () => parsePublicKey('EdDSA', spki))
      const shown = { kid: '00'.repeat(32), alg: 'EdDSA', spki: toBase64(spki) }
      for (const isKey of [isEnvelopeKey, isIssuerKey]) assert.ok(!isKey(shown))
      assert.ok(!isNoteKey(shown.spki))
      const { sha256 } = nativeProviders
      for (const type of ['signature', 'cosignature'] as const) {
        const typed = concat([new Uint8Array([NOTE_TYPES[type]]), fromHex(hex)])
        const text = `ledger.example+${toHex(keyIdOf(sha256, 'ledger.example', typed))}+${toBase64(typed)}`
        refuses('verifier_key', () => parseNoteKey(text, type, sha256))
      }
    })
  }
})

describe('isWeakEd25519Point is false for', () => {
  for (const [name, hex] of [
    ['y = p - 2', `eb${'ff'.repeat(30)}7f`],
    ['y = p with another last byte', `ed${'ff'.repeat(30)}7e`],
    ['y = p with another second byte', `ed00${'ff'.repeat(29)}7f`],
    ['y = p with another byte before the last', `ed${'ff'.repeat(29)}fe7f`],
    ['y = 2', `02${'00'.repeat(31)}`],
  ] as const) {
    test(name, () => {
      assert.ok(!isWeakEd25519Point(fromHex(hex)))
      const negative = fromHex(hex)
      negative[31]! |= 0x80
      assert.ok(!isWeakEd25519Point(negative))
    })
  }
})
