import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import fc from 'fast-check'
import { piecesOf, plain } from '../../sdk/plain.ts'
import { hasHidden, quoted } from '../../src/proof/quoted.ts'
import { runs } from '../helpers/runs.ts'

/* Vectors of hidden and bidirectional characters. python/tests/test_text.py uses the same file. */

const VECTORS = JSON.parse(readFileSync(join(import.meta.dirname, '../vectors/hidden.json'), 'utf8')) as {
  readonly hidden: readonly string[]
  readonly texts: readonly (readonly [text: string, plain: string, quoted: string])[]
}

test('exactly the characters of the table are hidden', () => {
  const ranges = VECTORS.hidden.map((range) => range.split('-').map((code) => Number.parseInt(code, 16)))
  for (let code = 0; code <= 0x10ffff; code++) {
    const isListed = ranges.some(([from, to]) => code >= from! && code <= to!)
    if (hasHidden(String.fromCodePoint(code)) !== isListed) assert.fail(`U+${code.toString(16)}`)
  }
})

test('texts with hidden characters are shown and quoted as in the vectors', () => {
  for (const [text, shown, inLine] of VECTORS.texts) {
    assert.equal(plain(text), shown)
    assert.equal(quoted(text), inLine)
  }
})

test('pieces cover the whole text in order, escape hidden characters, and stay the same when split again', () => {
  const chars = fc.constantFrom(
    'a',
    '1',
    '\n',
    '\u202e',
    '\u200d',
    '\ufe0f',
    '\u{e0061}',
    '❤',
    '🏴',
    '\u0301',
    'ש',
    '\ud800',
  )
  const texts = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.array(chars).map((each) => each.join('')),
  )
  fc.assert(
    fc.property(texts, (text) => {
      const pieces = piecesOf(text)
      assert.equal(pieces.map((piece) => piece.hidden ?? piece.text).join(''), text)
      for (const { text: mark, hidden } of pieces) if (hidden !== null) assert.match(mark, /^⟨[^⟩]+⟩$/)
      assert.equal(plain(plain(text)), plain(text))
      assert.doesNotMatch(plain(text), /[\p{Cc}\u061c\u200b\u200e\u200f\u2028-\u202e\u2066-\u2069]/u)
    }),
    { numRuns: runs(1_000) },
  )
})
