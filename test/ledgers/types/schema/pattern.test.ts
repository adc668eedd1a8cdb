import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Meter, TooCostly } from '../../../../src/ledgers/types/schema/meter.ts'
import { Pattern } from '../../../../src/ledgers/types/schema/pattern.ts'
import { PatternError } from '../../../../src/ledgers/types/schema/pattern-syntax.ts'
import { runs } from '../../../helpers/runs.ts'

const STEPS_ENOUGH = 1_000_000

const ATOMS = [
  ...['a', 'b', 'Z', '1', ' ', '-', 'é', '𝄞', '.', '\\.', '\\n', '\\t', '\\x61', '\\u00e9', '\\cJ', '\\0'],
  ...[
    '\\u{1d11e}',
    '\\ud834\\udd1e',
    '\\ud834',
    '\\d',
    '\\D',
    '\\w',
    '\\W',
    '\\s',
    '\\S',
    '\\p{L}',
    '\\P{Lu}',
  ],
  ...[
    '[ab]',
    '[^a]',
    '[a-z0-9]',
    '[\\s\\S]',
    '[\\]a]',
    '[^]',
    '[]',
    '[\\w-]',
    '[\\b]',
    '\\p{Script=Greek}',
    '\\/',
  ],
]
const ASSERTIONS = ['^', '$', '\\b', '\\B']
const QUANTIFIERS = ['*', '+', '?', '*?', '+?', '??', '{2}', '{0}', '{1,3}', '{0,2}?', '{2,}']

const pattern = fc.letrec<{ choice: string; sequence: string; one: string }>((tie) => ({
  choice: fc.array(tie('sequence'), { minLength: 1, maxLength: 2 }).map((ways) => ways.join('|')),
  sequence: fc.array(tie('one'), { maxLength: 3 }).map((ones) => ones.join('')),
  one: fc.oneof(
    { maxDepth: 2, depthIdentifier: 'pattern' },
    fc.constantFrom(...ATOMS, ...ASSERTIONS),
    fc.tuple(fc.constantFrom(...ATOMS), fc.constantFrom(...QUANTIFIERS)).map((parts) => parts.join('')),
    fc
      .tuple(fc.constantFrom('(', '(?:', '(?<n>'), tie('choice'), fc.constantFrom('', ...QUANTIFIERS))
      .map(([open, inner, quantifier]) => `${open}${inner})${quantifier}`),
  ),
})).choice

const text = fc
  .array(
    fc.constantFrom(
      'a',
      'b',
      'Z',
      '1',
      ' ',
      '-',
      '\n',
      '\u2028',
      '\ufeff',
      'é',
      'Ω',
      '𝄞',
      '.',
      ']',
      '\b',
      '\0',
    ),
    {
      maxLength: 7,
    },
  )
  .map((chars) => chars.join(''))

test('matches like ECMA-262', () => {
  const numRuns = runs(3_000)
  let matched = 0
  fc.assert(
    fc.property(pattern, fc.array(text, { minLength: 3, maxLength: 3 }), (source, texts) => {
      fc.pre(isWellFormed(source))
      const found = new Pattern(source)
      for (const one of texts) {
        const expected = matches(source, one)
        assert.equal(
          found.test(one, new Meter(STEPS_ENOUGH)),
          expected,
          `${source} on ${JSON.stringify(one)}`,
        )
        if (expected) matched++
      }
    }),
    { numRuns },
  )
  assert.ok(matched > numRuns / 3, `only ${matched} matched`)
})

/**
 * Matches as ECMA-262 says: each code point is tried (RegExpBuiltinExec, with `u`). V8 differs from that: it also
 * finds `\B` within a surrogate pair, as in `a𝄞a`.
 */
function matches(source: string, text: string): boolean {
  const sticky = new RegExp(source, 'uy')
  for (let i = 0; i <= text.length; i += (text.codePointAt(i) ?? 0) > 0xffff ? 2 : 1) {
    sticky.lastIndex = i
    if (sticky.test(text)) return true
  }
  return false
}

test('finds no boundary between the halves of a surrogate pair', () => {
  assert.equal(/\B/u.exec('a𝄞a')?.index, 2, 'V8 does not find one any more: compare with it directly')
  assert.equal(new Pattern('\\B').test('a𝄞a', new Meter(STEPS_ENOUGH)), false)
})

/** Returns false for invalid sources, for example one with two groups of the same name. */
function isWellFormed(source: string): boolean {
  try {
    new RegExp(source, 'u')
    return source.length <= 256
  } catch {
    return false
  }
}

test('refuses lookaround, flags, backreferences and invalid patterns', () => {
  for (const [source, message] of [
    ['(?=a)', /lookahead/],
    ['(?!a)', /lookahead/],
    ['(?<=a)b', /lookahead/],
    ['(?<!a)b', /lookahead/],
    ['(?i:a)', /flags/],
    ['(?-i:a)', /flags/],
    ['(a)\\1', /backreferences/],
    ['(?<n>a)\\k<n>', /backreferences/],
    ['(', /not a regular expression/],
    ['a{2,1}', /not a regular expression/],
    ['\\Q', /not a regular expression/],
    ['\\p{Nonsense}', /not a regular expression/],
    ['a'.repeat(257), /has 257 characters/],
  ] as const) {
    assert.throws(
      () => new Pattern(source),
      (error) => error instanceof PatternError && message.test(error.message),
      source,
    )
  }
})

test('refuses repetitions that expand too far, before expanding them', () => {
  for (const source of [
    'a{1001}',
    '(((a{99}){99}){99}){99}',
    'a{9999999999999999999}',
    '(a?){500,1000}',
    '((a{0,9}){0,99}){0,99}',
  ])
    assert.throws(() => new Pattern(source), PatternError, source)
  for (const source of ['(?:){99999999999}', '((?:){999}){999}', '(a{0}){9999999}', 'a{999}', '(?:()*)*'])
    assert.ok(new Pattern(source).instructions <= 1_000, source)
})

test('patterns with catastrophic backtracking in V8 take linear time here', () => {
  for (const [source, hostile] of [
    ['^(a+)+$', `${'a'.repeat(20_000)}b`],
    ['^(a|a)*$', `${'a'.repeat(20_000)}b`],
    ['(x+x+)+y', 'x'.repeat(20_000)],
    ['^(([a-z])+.)+[A-Z]([a-z])+$', 'a'.repeat(20_000)],
    ['(.*)(.*)(.*)(.*)(.*)[0-9]$', 'a'.repeat(20_000)],
  ] as const) {
    const meter = new Meter(100 * hostile.length)
    assert.equal(new Pattern(source).test(hostile, meter), false, source)
  }
})

test('stops an expensive match with TooCostly when its steps are used up', () => {
  const hostile = Array.from({ length: 60_000 }, (_, i) => ((i * 7919) % 13 < 6 ? 'a' : 'b')).join('')
  for (const source of ['[ab]*a[ab]{400}[^ab][^ab]', '(?:[ab]?){300}[ab]{300}c', '\\p{L}{900}z']) {
    const meter = new Meter(500_000)
    const begun = performance.now()
    assert.throws(() => new Pattern(source).test(hostile, meter), TooCostly, source)
    assert.ok(performance.now() - begun < 1_000, source)
  }
})
