import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import npmCanonicalize from 'canonicalize'
import fc from 'fast-check'
import { canonicalize, quote } from '../../../src/proof/json/jcs.ts'
import { parseJsonText } from '../../../src/proof/json/json-text.ts'
import type { JsonValue } from '../../../src/proof/json/json-value.ts'
import { codePoint } from '../../helpers/code-points.ts'
import { runs } from '../../helpers/runs.ts'
import { refuses } from '../refuses.ts'

const wellFormed = fc.string({ unit: 'grapheme' })
const values = fc.jsonValue({ stringUnit: codePoint }) as fc.Arbitrary<JsonValue>

test('equals the output of npm canonicalize for any JSON value', () => {
  fc.assert(
    fc.property(values, (value) => {
      assert.equal(canonicalize(value), npmCanonicalize(value))
    }),
    { numRuns: runs(3_000) },
  )
})

test('does not depend on the order in which members were set', () => {
  fc.assert(
    fc.property(fc.dictionary(wellFormed, fc.integer()), (members) => {
      const reversed = Object.fromEntries(Object.entries(members).reverse())
      assert.equal(canonicalize(reversed), canonicalize(members))
    }),
  )
})

test('the output parses in the strict parser and is canonical again, for any double', () => {
  const numbers = fc.oneof(
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.integer({ min: 50, max: 72 }).map((n) => 2 ** n),
  )
  fc.assert(
    fc.property(fc.oneof(values, fc.array(numbers)), (value) => {
      const canonical = canonicalize(value)
      fc.pre(!canonical.includes('\\u0000'))
      assert.equal(canonicalize(parseJsonText(canonical)), canonical)
    }),
    { numRuns: runs(2_000) },
  )
})

describe('RFC 8785', () => {
  test('§3.2.2: the sample of the RFC', () => {
    const sample = JSON.parse(
      '{"numbers":[333333333.33333329,1E30,4.50,2e-3,0.000000000000000000000000001],' +
        '"string":"\\u20ac$\\u000F\\u000aA\'\\u0042\\u0022\\u005c\\\\\\"\\/","literals":[null,true,false]}',
    )
    assert.equal(
      canonicalize(sample),
      '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],' +
        '"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}',
    )
  })

  test('§3.2.3: sorts by UTF-16 code units, not by code points', () => {
    const names = { '\u20ac': 1, '\r': 2, '\ufb33': 3, '1': 4, '\ud83d\ude00': 5, '\u0080': 6, '\u00f6': 7 }
    assert.deepEqual(Object.values(JSON.parse(canonicalize(names)) as object), [4, 2, 6, 7, 1, 5, 3])
    assert.match(canonicalize(names), /\u{1f600}.*\ufb33/u)
  })

  test('writes minus zero as zero', () => assert.equal(canonicalize([-0, 0]), '[0,0]'))

  test('keeps a member called __proto__', () => {
    assert.equal(canonicalize(JSON.parse('{"b":1,"__proto__":{"a":2}}')), '{"__proto__":{"a":2},"b":1}')
  })
})

describe('refuses', () => {
  test('a lone surrogate, in a value or a name', () => {
    refuses('json_surrogate', () => canonicalize('\ud800'))
    refuses('json_surrogate', () => canonicalize({ 'a\udc00': 1 }))
  })
  test('numbers that JSON cannot represent', () => {
    refuses('json_number_lossy', () => canonicalize(Number.NaN))
    refuses('json_number_lossy', () => canonicalize([Number.POSITIVE_INFINITY]))
  })
  test('values that are not JSON', () => {
    refuses('json_syntax', () => canonicalize({ a: undefined } as unknown as JsonValue))
    refuses('json_syntax', () => canonicalize([1n] as unknown as JsonValue))
  })
})

test('quotes as JSON.stringify does', () => {
  for (const text of ['', 'plain', 'a"b', 'a\\b', '\n', '\u007f\u2028', '😂', 'é']) {
    assert.equal(quote(text), JSON.stringify(text))
  }
})

test('writes names that exceed the name cache (65 characters, 5,000 names) like npm canonicalize', () => {
  const long = { ['n'.repeat(65)]: 1, 'a"b': 2 }
  const many = Object.fromEntries(Array.from({ length: 5_000 }, (_, i) => [`name ${i}`, i]))
  for (const value of [long, many, long, many]) assert.equal(canonicalize(value), npmCanonicalize(value))
})
