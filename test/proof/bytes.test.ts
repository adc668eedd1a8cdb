import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import {
  concat,
  equalBytes,
  fromBase64,
  fromBase64Url,
  fromHex,
  isLonger,
  ownCopies,
  ownCopy,
  ownText,
  toBase64,
  toBase64Url,
  toHex,
  utf8Decode,
  utf8Encode,
  withoutMark,
} from '../../src/proof/bytes.ts'
import { withoutBom } from '../../src/proof/json/json-text.ts'
import { codePoint } from '../helpers/code-points.ts'
import { runs } from '../helpers/runs.ts'
import { refuses } from './refuses.ts'

const anyBytes = fc.uint8Array({ maxLength: 200 })

describe('hex', () => {
  test('equals Buffer’s encoding, and decodes to the same bytes', () => {
    fc.assert(
      fc.property(anyBytes, (bytes) => {
        const hex = toHex(bytes)
        assert.equal(hex, Buffer.from(bytes).toString('hex'))
        assert.deepEqual(fromHex(hex), bytes)
      }),
    )
  })

  for (const bad of ['0', 'AB', '0g', 'g0', '0/', '0:', '0`', '  ', '0x', 'é0', '00\n0']) {
    test(`refuses ${JSON.stringify(bad)}`, () => refuses('bad_hex', () => fromHex(bad)))
  }
})

describe('base64', () => {
  test('equals Buffer’s encoding, and decodes to the same bytes', () => {
    fc.assert(
      fc.property(anyBytes, (bytes) => {
        assert.equal(toBase64(bytes), Buffer.from(bytes).toString('base64'))
        assert.deepEqual(fromBase64(toBase64(bytes)), bytes)
        assert.equal(toBase64Url(bytes), Buffer.from(bytes).toString('base64url'))
        assert.deepEqual(fromBase64Url(toBase64Url(bytes)), bytes)
      }),
    )
  })

  test('accepts exactly the one spelling of each byte string', () => {
    const alphabet = fc.constantFrom(...'ABQgwZ019+/-_= \n')
    fc.assert(
      fc.property(fc.string({ unit: alphabet, maxLength: 9 }), (text) => {
        const canonical = Buffer.from(text, 'base64').toString('base64') === text
        if (canonical) assert.equal(toBase64(fromBase64(text)), text)
        else refuses('bad_base64', () => fromBase64(text))
        const canonicalUrl = Buffer.from(text, 'base64url').toString('base64url') === text
        if (canonicalUrl) assert.equal(toBase64Url(fromBase64Url(text)), text)
        else refuses('bad_base64url', () => fromBase64Url(text))
      }),
      { numRuns: runs(3_000) },
    )
  })

  for (const bad of [
    'A',
    'AA',
    'AAA',
    'AB==',
    'AAB=',
    'AA=A',
    '====',
    '=',
    'AA==\n',
    'AA-_',
    'AAé=',
    '€AAA',
    'AAAA=',
  ]) {
    test(`refuses ${JSON.stringify(bad)}`, () => refuses('bad_base64', () => fromBase64(bad)))
  }
  for (const bad of ['A', 'AB', 'AAB', 'AA==', 'AA+/', 'A\u0100', 'AAAAA']) {
    test(`refuses ${JSON.stringify(bad)} as base64url`, () =>
      refuses('bad_base64url', () => fromBase64Url(bad)))
  }
})

describe('UTF-8', () => {
  test('round trip returns the same text', () => {
    fc.assert(
      fc.property(fc.string({ unit: codePoint }), (text) => {
        assert.equal(utf8Decode(utf8Encode(text)), text)
      }),
    )
  })

  test('keeps a byte order mark', () => {
    assert.equal(utf8Decode(new Uint8Array([0xef, 0xbb, 0xbf, 0x61])), '\ufeffa')
  })

  for (const bad of ['ff', 'c080', 'eda080', 'f4908080', 'e282', '80']) {
    test(`refuses the bytes ${bad}`, () => refuses('bad_utf8', () => utf8Decode(fromHex(bad))))
  }
})

test('equalBytes compares length and all bytes', () => {
  const bytes = fromHex('0102')
  assert.ok(equalBytes(bytes, fromHex('0102')))
  for (const other of ['01', '010203', '0103', '0202', ''])
    assert.ok(!equalBytes(bytes, fromHex(other)), other)
})

test('joins parts in order', () => {
  assert.deepEqual(concat([fromHex('01'), fromHex(''), fromHex('0203')]), fromHex('010203'))
})

test('ownCopy copies a part of a larger buffer, and returns whole buffers unchanged', () => {
  const part = new Uint8Array(65_536).subarray(100, 132).fill(7)
  const kept = ownCopy(part)
  assert.deepEqual(kept, part)
  assert.equal(kept.buffer.byteLength, 32)
  assert.equal(ownCopy(kept), kept)
})

test('ownCopies puts all parts into one shared buffer', () => {
  const parts = ['01', '', '0203'].map((hex) => Buffer.from(hex, 'hex'))
  const kept = ownCopies(parts)
  assert.deepEqual(kept.map(toHex), ['01', '', '0203'])
  assert.deepEqual(
    kept.map(({ buffer }) => buffer.byteLength),
    [3, 3, 3],
  )
})

test('isLonger compares the UTF-8 length of a text with a limit', () => {
  fc.assert(
    fc.property(fc.string({ unit: codePoint, maxLength: 40 }), fc.nat(3), (text, less) => {
      const bytes = Buffer.byteLength(text)
      for (const bytesMax of [bytes - less, bytes + less, 0, 200])
        assert.equal(isLonger(text, bytesMax), bytes > bytesMax)
    }),
  )
})

test('ownText returns an equal text', () => {
  for (const text of ['', 'ä💶\ufeff', 'a text of more than 13 characters']) assert.equal(ownText(text), text)
})

test('removes one leading byte order mark from bytes and text', () => {
  for (const [text, rest] of [
    ['\ufeff{}', '{}'],
    ['\ufeff\ufeff{}', '\ufeff{}'],
    ['{}\ufeff', '{}\ufeff'],
    ['', ''],
  ] as const) {
    assert.equal(withoutBom(text), rest)
    assert.deepEqual(withoutMark(Buffer.from(text)), Buffer.from(rest))
  }
})
