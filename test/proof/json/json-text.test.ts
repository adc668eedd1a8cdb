import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import type { ProofErrorCode } from '../../../src/proof/error.ts'
import { ProofError } from '../../../src/proof/error.ts'
import { JsonReader } from '../../../src/proof/json/json-parser.ts'
import { isCheap, parseExact, parseJsonText } from '../../../src/proof/json/json-text.ts'
import { JSON_DEPTH_MAX } from '../../../src/proof/limits.ts'
import { runs } from '../../helpers/runs.ts'
import { refuses } from '../refuses.ts'
import { slowCheck } from '../slow-json.ts'

const DEPTH_MAX = 4

function assertAgrees(text: string): void {
  const expected = slowCheck(text, DEPTH_MAX)
  if ('value' in expected) assert.deepEqual(parseJsonText(text, { depthMax: DEPTH_MAX }), expected.value)
  else {
    assert.throws(
      () => parseJsonText(text, { depthMax: DEPTH_MAX }),
      ProofError,
      `accepted ${JSON.stringify(text)} (${expected.refusal})`,
    )
  }
}

const digits = fc.string({ unit: fc.constantFrom(...'0123456789'), minLength: 1, maxLength: 20 })
const bounds = fc.constantFrom(
  '9007199254740992',
  '9007199254740993',
  '-9007199254740995',
  '18014398509481984',
  '18014398509481986',
  '1e308',
  '1.7976931348623157e308',
  '1.7976931348623159e308',
  '2e308',
  '4.9e-324',
  '2.4703282292062328e-324',
  '2.4703282292062327e-324',
  '0e999',
  '-0',
  '-0.0',
  '0.10000000000000001',
  '123456789012345.67',
  '100000000000000000000000',
  '1000000000000000000000000',
  '1E+2',
  '0.000000000000000000000000000001',
)
const numbers = fc.oneof(
  bounds,
  fc.double().map(String),
  fc
    .tuple(
      fc.constantFrom('', '-'),
      digits,
      fc.option(digits),
      fc.option(fc.tuple(fc.constantFrom('e', 'E', 'e-', 'e+'), fc.integer({ min: 0, max: 400 }))),
    )
    .map(([sign, whole, fraction, exponent]) => {
      const integer = whole.replace(/^0+(?=.)/, '')
      return `${sign}${integer}${fraction === null ? '' : `.${fraction}`}${exponent === null ? '' : exponent.join('')}`
    }),
)
const strings = fc
  .array(
    fc.constantFrom(
      'a',
      'b',
      '"',
      '\\"',
      '\\\\',
      '\\/',
      '\\n',
      '\\u0000',
      '\\u0061',
      '\\ud83d',
      '\\ude02',
      '😂',
      '\ud800',
      ':',
      '{',
      ']',
      '1e9',
      'é',
    ),
    { maxLength: 4 },
  )
  .map((parts) => `"${parts.join('')}"`)
const spaces = fc.constantFrom('', '', '', ' ', '\n\t', '\r')
const texts = fc.letrec<{ value: string; list: string; object: string }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 6 },
    numbers,
    strings,
    fc.constantFrom('null', 'true', 'false'),
    tie('list'),
    tie('object'),
  ),
  list: fc
    .tuple(spaces, fc.array(tie('value'), { maxLength: 3 }))
    .map(([s, v]) => `[${s}${v.join(`${s},`)}${s}]`),
  object: fc
    .tuple(
      spaces,
      fc.array(
        fc.tuple(fc.oneof(strings, fc.constantFrom('"a"', '"\\u0061"', '"__proto__"')), tie('value')),
        { maxLength: 3 },
      ),
    )
    .map(([s, members]) => `{${members.map(([n, v]) => `${s}${n}${s}:${s}${v}`).join(',')}${s}}`),
})).value

describe('parseJsonText accepts the same texts as the slow reference checker', () => {
  test('isCheap: few names and values, limited depth, no escape in a name', () => {
    const limits = { depthMax: 3, tokensMax: 5 }
    assert.equal(isCheap('{"a":{"b":"\\\\ \\" c"}}', limits), true)
    assert.equal(isCheap('{"\\u0061":1}', limits), false)
    assert.equal(isCheap('{"a":[1,2,3,4,5]}', limits), false)
    assert.equal(isCheap('[[[[1]]]]', limits), false)
    for (const broken of ['"', '"\\', '\\', '{"a', ']]]]', ''])
      assert.equal(typeof isCheap(broken, limits), 'boolean')
  })

  test('for texts generated from its own grammar, in unusual spellings', () => {
    fc.assert(fc.property(texts, assertAgrees), { numRuns: runs(5_000) })
  })

  test('for texts with one character removed or inserted', () => {
    const characters = fc.constantFrom(...'{}[]:,"\\u0109.eE+-x \u0000')
    fc.assert(
      fc.property(texts, fc.nat(), characters, fc.boolean(), (text, place, character, remove) => {
        const at = place % (text.length + 1)
        assertAgrees(text.slice(0, at) + character + text.slice(remove ? at + 1 : at))
      }),
      { numRuns: runs(5_000) },
    )
  })

  test('for numbers', () => {
    fc.assert(fc.property(numbers, assertAgrees), { numRuns: runs(5_000) })
  })

  test('for random characters', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(...'{}[]:,"\\u019.e- '), maxLength: 12 }), assertAgrees),
      { numRuns: runs(5_000) },
    )
  })
})

describe('names with escapes are decoded correctly, although V8 can mistake them for a backslash', () => {
  const remember = (): void => {
    for (let i = 0; i < 10; i++) JSON.parse('{"x":0,"\\\\":1}')
  }

  test('member names and values', () => {
    remember()
    assert.deepEqual(parseJsonText('{"x":0,"\\u0061":1}'), { x: 0, a: 1 })
    assert.deepEqual(parseJsonText('{"x":0,"\\n" :1}'), { x: 0, '\n': 1 })
    assert.deepEqual(parseJsonText('[{"x":0,"a\\"b"\t\r\n:1}]'), [{ x: 0, 'a"b': 1 }])
    assert.deepEqual(parseJsonText('{"x":"\\n","y":"\\\\"}'), { x: '\n', y: '\\' })
  })

  test('duplicates are refused with json_duplicate_member, NUL with json_nul', () => {
    remember()
    refuses('json_duplicate_member', () => parseJsonText('{"x":0,"a":1,"\\u0061":1}'))
    refuses('json_duplicate_member', () => parseJsonText('{"x":0,"\\u0061":1,"a":1}'))
    refuses('json_nul', () => parseJsonText('{"x":0,"\\u0000":1}'))
  })

  for (const [text, code] of [
    ['{"\\n":1', 'json_syntax'],
    ['{"\\n":1,}', 'json_syntax'],
    ['{"\\n":1}}', 'json_syntax'],
    ['{"\\n":}', 'json_syntax'],
    ['{"\\n":01}', 'json_syntax'],
    ['{"\\x":1}', 'json_syntax'],
    ['{"\\n":"\n"}', 'json_syntax'],
    ['{"\\n":1 "b":2}', 'json_syntax'],
    ['{"\\n":1,b:2}', 'json_syntax'],
    ['{"\\n":nul}', 'json_syntax'],
    ['{"a\\', 'json_syntax'],
    ['{"a\\":', 'json_syntax'],
    [`{"\\n":${'['.repeat(100_000)}`, 'json_depth'],
    [`${'{"\\n":'.repeat(65)}1${'}'.repeat(65)}`, 'json_depth'],
  ] as const) {
    test(`${code}: ${text.slice(0, 40)}`, () => refuses(code, () => parseJsonText(text)))
  }

  test('a text with many escapes is parsed in linear time', () => {
    const before = process.threadCpuUsage()
    const long = JSON.stringify({ a: '\n'.repeat(1_000_000), b: Array(100_000).fill('\\') })
    assert.deepEqual(parseJsonText(long), JSON.parse(long))
    assert.ok(process.threadCpuUsage(before).user < 10_000_000)
  })
})

describe('refuses with a code', () => {
  const cases: readonly (readonly [string, ProofErrorCode])[] = [
    ['', 'json_syntax'],
    ['{"a":1}x', 'json_syntax'],
    ['\ufeff{}', 'json_syntax'],
    ['{"a":01}', 'json_syntax'],
    ['"\u0000"', 'json_syntax'],
    ['[NaN]', 'json_syntax'],
    ['{"a":1,"a":2}', 'json_duplicate_member'],
    ['{"a":{"b":[{"c":1,"d":{},"c":2}]}}', 'json_duplicate_member'],
    ['{"a":1,"\\u0061":2}', 'json_duplicate_member'],
    ['{"__proto__":1,"__proto__":2}', 'json_duplicate_member'],
    ['{"a:\\"":[1,2],"b":3,"a:\\"":4}', 'json_duplicate_member'],
    ['"\ud800"', 'json_surrogate'],
    ['"\\udc00"', 'json_surrogate'],
    ['{"\\ud800":1}', 'json_surrogate'],
    ['[{"a":["\\u0000"]}]', 'json_nul'],
    ['{"\\u0000":null}', 'json_nul'],
    ['9007199254740993', 'json_number_lossy'],
    ['-9007199254740993', 'json_number_lossy'],
    ['1152921504606846975', 'json_number_lossy'],
    ['1152921504606847001', 'json_number_lossy'],
    ['[1e400]', 'json_number_lossy'],
    ['[-1E400]', 'json_number_lossy'],
    ['1e-400', 'json_number_lossy'],
    ['0.100000000000000001', 'json_number_lossy'],
    ['0.1234567890123456789012345678901234567890123', 'json_number_lossy'],
    [`1${'0'.repeat(400)}`, 'json_number_lossy'],
    ['['.repeat(65) + ']'.repeat(65), 'json_depth'],
  ]
  for (const [text, code] of cases) {
    test(`${code}: ${JSON.stringify(text).slice(0, 60)}`, () => refuses(code, () => parseJsonText(text)))
  }

  test('the message names the position, also after names with escapes', () => {
    assert.throws(() => parseJsonText('{"\\n":1 x}'), /unexpected "x" at character 8/)
    assert.throws(() => parseJsonText('{"\\n":1'), /the text ends at character 7/)
    assert.throws(
      () => parseJsonText('{"a":[[1]]}', { depthMax: 2 }),
      /nested more than 2 levels deep at character 6/,
    )
    assert.throws(() => parseJsonText('[ 1, 1e400]'), /1e400 at character 5 would change/)
  })

  test('the message names the duplicate member', () => {
    assert.throws(() => parseJsonText('{"x":{"a":1},"y":{"a":1,"b":2,"a":3}}'), /"a" occurs twice/)
  })

  test('the message shortens a number of 5,000 digits', () => {
    assert.throws(() => parseJsonText(`0.${'1'.repeat(5_000)}`), /0\.1{38}… at character 0 would change/)
  })
})

test('accepts depthMax levels, 64 by default, and refuses deeper texts with json_depth', () => {
  const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth)
  assert.ok(parseJsonText(nested(3), { depthMax: 3 }))
  refuses('json_depth', () => parseJsonText(nested(4), { depthMax: 3 }))
  // The text has more than 64 KiB, and its only string contains no escapes. In a text without escapes, the parser finds
  // the end of a string by a faster function.
  const long = `["${'x'.repeat(70_000)}",{"a":[]}]`
  parseJsonText(long, { depthMax: 3, tokensMax: 5 })
  refuses('json_too_costly', () => parseJsonText(long, { depthMax: 3, tokensMax: 4 }))
  assert.equal(isCheap(long, { depthMax: 3, tokensMax: 4 }), false)
  refuses('json_syntax', () => parseJsonText(long.slice(0, 70_000)))
  assert.ok(parseJsonText(nested(JSON_DEPTH_MAX)))
  assert.ok(parseJsonText('[[],[],{"a":{}},{}]', { depthMax: 3 }), 'levels that were closed do not count')
})

test('4 MiB of brackets are refused without a stack overflow', () => {
  refuses('json_depth', () => parseJsonText('['.repeat(2 ** 21) + ']'.repeat(2 ** 21)))
})

test('a number as long as the largest body is parsed in linear time', () => {
  const before = process.threadCpuUsage()
  const zeros = '0'.repeat(4_000_000)
  refuses('json_number_lossy', () => parseJsonText('9'.repeat(4_000_000)))
  refuses('json_number_lossy', () => parseJsonText(`1${zeros}1`))
  refuses('json_number_lossy', () => parseJsonText(`0.1${zeros}1`))
  assert.equal(parseJsonText(`1.${zeros}`), 1)
  assert.ok(process.threadCpuUsage(before).user < 10_000_000)
})

for (const text of [
  '1e21',
  '100.0',
  '-0',
  '"\\u20ac"',
  '5e-324',
  '9007199254740992',
  '100000000000000000000',
  '1152921504606847000',
  '0e5',
  '1.00000000000000000000',
]) {
  test(`accepts ${text}`, () => assert.equal(parseJsonText(text), JSON.parse(text)))
}

describe('a text with several faults is refused with the first code in the documented order', () => {
  const cases = JSON.parse(
    readFileSync(new URL('../../vectors/json-codes.json', import.meta.url), 'utf8'),
  ) as { text: string; code: ProofErrorCode | null }[]
  for (const { text, code } of cases) {
    test(`${code}: ${text}`, () => {
      const parse = () => parseJsonText(text, { depthMax: 4 })
      if (code === null) parse()
      else refuses(code, parse)
    })
  }
})

test('a subclass of JsonReader gets number literals, duplicate names, and values that are too deep', () => {
  const doubled: unknown[] = []
  class Reader extends JsonReader {
    protected override number(literal: string) {
      return `number ${literal}`
    }
    protected override doubled(object: object, name: string) {
      doubled.push(object, name)
    }
    protected override tooDeep() {
      this.at = this.text.indexOf(']', this.at) + 1
      return 'deep'
    }
  }
  const read = (text: string) => new Reader(text, 2).readText()
  const value = read('{"a":[1e3,-0.10,[2]],"__proto__":9007199254740993,"a":{}}')
  assert.deepEqual(doubled, [value, 'a'])
  assert.equal(JSON.stringify(value), '{"a":{},"__proto__":"number 9007199254740993"}')
  assert.deepEqual(read('[[1e3,-0.10,[2],3]]'), [['number 1e3', 'number -0.10', 'deep', 'number 3']])
  refuses('json_depth', () => new JsonReader('[[[]]]', 2).readText())
})

test('parseExact returns the same value as JSON.parse, or undefined where JSON.parse loses something', () => {
  for (const text of ['null', '{"a":[1,-0,1.0,0.30000000000000004,1e-7],"b":"\\ud800\\u0000"}', '"\ud800"'])
    assert.deepEqual(parseExact(text, 2), JSON.parse(text), text)
  const hiding = [
    '{"a":1,"a":2}',
    '{"\\u0061":1}',
    '[[[]]]',
    '[1',
    '1e3',
    '9007199254740993',
    '1.0000000000000001',
  ]
  // A double represents 2^55 exactly, but JavaScript writes it with other digits.
  for (const text of [...hiding, '36028797018963968']) assert.equal(parseExact(text, 2), undefined, text)
})
