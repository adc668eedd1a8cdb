import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import { encode, rfc8949EncodeOptions } from 'cborg'
import fc from 'fast-check'
import { fromHex, toHex } from '../../../src/proof/bytes.ts'
import { BadText, type CborForm, decodeCbor, Tag18 } from '../../../src/proof/envelope/cbor.ts'
import type { ProofError, ProofErrorCode } from '../../../src/proof/error.ts'
import { runs } from '../../helpers/runs.ts'
import { refuses } from '../refuses.ts'

/**
 * Vectors of CBOR, which the Python verifier's tests read too. `taken`: valid in the deterministic form and in the
 * loose form. `looseOnly`: valid only in the loose form, because labels are in the wrong order or a text is invalid
 * UTF-8.
 */
type Vectors = Readonly<Record<'taken' | 'malformed' | 'departures' | 'looseOnly', readonly string[]>>
const file = new URL('../../vectors/cbor.json', import.meta.url)
const vectors: Vectors = JSON.parse(readFileSync(file, 'utf8'))

const CODES: Readonly<Record<keyof Vectors, Readonly<Record<CborForm, ProofErrorCode | null>>>> = {
  taken: { deterministic: null, loose: null },
  malformed: { deterministic: 'cbor_malformed', loose: 'cbor_malformed' },
  departures: { deterministic: 'cbor_not_deterministic', loose: 'cbor_malformed' },
  looseOnly: { deterministic: 'cbor_not_deterministic', loose: null },
}

function codeOf(hex: string, form: CborForm): ProofErrorCode | null {
  try {
    decodeCbor(fromHex(hex), form, 'tag 18')
    return null
  } catch (error) {
    return (error as ProofError).code
  }
}

for (const [kind, codes] of Object.entries(CODES))
  test(`vectors: ${kind}`, () => {
    for (const hex of vectors[kind as keyof Vectors])
      for (const form of ['deterministic', 'loose'] as const)
        assert.equal(codeOf(hex, form), codes[form], `${form} ${hex.slice(0, 80)}`)
  })

describe('values', () => {
  const decoded = (hex: string) => decodeCbor(fromHex(hex), 'deterministic', 'tag 18')

  test('integers beyond 2^53 are exact', () => {
    assert.equal(decoded('1b001fffffffffffff'), 2 ** 53 - 1)
    assert.equal(decoded('1b0020000000000000'), 2n ** 53n)
    assert.equal(decoded('1bffffffffffffffff'), 2n ** 64n - 1n)
    assert.equal(decoded('20'), -1)
    assert.equal(decoded('3bffffffffffffffff'), -(2n ** 64n))
  })

  test('a byte order mark stays in its text', () => {
    assert.equal(decoded('66efbbbf616263'), '\ufeffabc')
  })

  test('text that is not UTF-8 is decoded as BadText', () => {
    assert.deepEqual(decodeCbor(fromHex('8261ff61ff'), 'loose'), [new BadText(), new BadText()])
  })

  test('byte strings are copies', () => {
    const bytes = fromHex('4101')
    const value = decodeCbor(bytes, 'loose') as Uint8Array
    bytes[1] = 2
    assert.deepEqual(value, new Uint8Array([1]))
  })

  test('tag 18 is accepted only around the whole value, and only if allowed', () => {
    assert.deepEqual(decoded('d28101'), new Tag18([1]))
    refuses('cbor_malformed', () => decodeCbor(fromHex('d28101'), 'loose'))
  })

  test('random values equal their decoded encoding', () => {
    const leaf = fc.oneof(
      fc.bigInt({ min: -(2n ** 64n), max: 2n ** 64n - 1n }),
      fc.string({ unit: 'binary' }),
      fc.uint8Array({ maxLength: 300 }),
      fc.constantFrom(null, undefined, true, false),
    )
    const { value } = fc.letrec((tie) => ({
      value: fc.oneof(
        { maxDepth: 2 },
        leaf,
        fc.array(tie('value'), { maxLength: 4 }),
        fc.uniqueArray(fc.tuple(fc.oneof(fc.integer(), fc.string()), tie('value')), {
          maxLength: 4,
          selector: ([label]) => label,
        }),
      ),
    }))
    fc.assert(
      fc.property(value, (made) => {
        const bytes = encode(made, rfc8949EncodeOptions)
        assert.equal(toHex(encode(decodeCbor(bytes, 'deterministic'), rfc8949EncodeOptions)), toHex(bytes))
      }),
      { numRuns: runs(100) },
    )
  })
})

test('any bytes are decoded or refused with a code, without stack overflow', () => {
  const bytes = fc.oneof(
    fc.uint8Array({ maxLength: 64 }),
    fc
      .tuple(fc.nat(255), fc.constantFrom(100, 40_960))
      .map(([byte, length]) => new Uint8Array(length).fill(byte)),
  )
  fc.assert(
    fc.property(bytes, (sent) => {
      for (const form of ['deterministic', 'loose'] as const)
        assert.ok([null, 'cbor_malformed', 'cbor_not_deterministic'].includes(codeOf(toHex(sent), form)))
    }),
    { numRuns: runs(300) },
  )
})
