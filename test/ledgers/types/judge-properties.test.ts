import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { judge, RULE_CODES } from '../../../src/ledgers/types/rules/judge.ts'
import { parseRules } from '../../../src/ledgers/types/rules/rules.ts'
import { canonicalize } from '../../../src/proof/json/jcs.ts'
import type { JsonObject, JsonValue } from '../../../src/proof/json/json-value.ts'
import { codePoint } from '../../helpers/code-points.ts'
import { runs } from '../../helpers/runs.ts'

const eur = (amount: JsonValue) => ({ amount, currency: 'EUR' })
const LATE = '2026-11-20T12:00:00.001Z'
const NOON = '2026-11-20T12:00:00.000Z'

const rule = (op: string, more: JsonObject = {}): JsonObject => ({
  id: 'r',
  op,
  expected: '/a',
  actual: '/a',
  ...more,
})

function compare(definition: JsonObject, expected: JsonValue, actual: JsonValue): string {
  const documents = { payload: { a: expected }, evidence: { a: actual }, tolerances: null }
  return judge(parseRules([definition]), documents).rules[0]!.code ?? 'pass'
}

const name = fc.constantFrom('a', 'b', '0', '', '~', '/', '__proto__', 'amount', 'currency')
const scalar: fc.Arbitrary<JsonValue> = fc.oneof(
  fc.constantFrom<JsonValue>(null, true, 0, -0, 1, '1', '1.50', 1.5, 'EUR', 'USD', NOON, LATE, 1e308, 5e-324),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.string({ unit: codePoint }),
)
const amount = fc.constantFrom<JsonValue>(1, 1.5, '1.5', '1.50', eur('1.5'), eur(1.5), eur(1))
const json: fc.Arbitrary<JsonValue> = fc.letrec<{ any: JsonValue }>((tie) => ({
  any: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    scalar,
    amount,
    fc.array(tie('any'), { maxLength: 4 }),
    fc
      .array(fc.tuple(name, tie('any')), { maxLength: 4 })
      .map((entries) => Object.fromEntries(entries) as JsonValue),
  ),
})).any

const pointer = fc
  .array(fc.constantFrom('/a', '/b', '/0', '/', '/~0', '/~1', '/__proto__', '/amount', '/-'), {
    maxLength: 3,
  })
  .map((list) => list.join(''))
const tolerance = fc.constantFrom<JsonValue>(
  { percent: '5' },
  { absolute: '0.000000000000000000000000000001' },
)
const place = pointer.map((expected) => ({ expected }))
const constant = (value: fc.Arbitrary<JsonValue>) => value.map((value) => ({ value }))
const anyRule = fc
  .tuple(
    fc.oneof(
      fc.tuple(fc.constantFrom('atMost', 'atLeast'), fc.oneof(place, constant(amount))),
      fc
        .tuple(fc.oneof(place, constant(amount)), tolerance)
        .map(([more, tolerance]) => ['within', { ...more, tolerance }] as const),
      fc.tuple(fc.constant('equals'), fc.oneof(place, constant(json))),
      fc.tuple(
        fc.constant('oneOf'),
        fc.oneof(place, constant(fc.array(json, { minLength: 1, maxLength: 3 }))),
      ),
      fc.tuple(
        fc.constantFrom('before', 'after'),
        fc.oneof(place, constant(fc.constantFrom<JsonValue>(NOON, LATE))),
      ),
    ),
    pointer,
  )
  .map(([[op, more], actual]) => ({ op, actual, ...more }))
const anyRules = fc
  .array(anyRule, { maxLength: 5 })
  .map((list) => parseRules(list.map((rule, i) => ({ id: `r${i}`, ...rule }))))
const document = fc.option(json)

test('judging never throws, and returns a result for each rule, for any documents', () => {
  fc.assert(
    fc.property(anyRules, document, document, (rules, payload, evidence) => {
      const before = JSON.stringify([payload, evidence])
      const { outcome, rules: said, values } = judge(rules, { payload, evidence, tolerances: null })
      assert.deepEqual(
        said.map(({ id }) => id),
        rules.map(({ id }) => id),
      )
      for (const { outcome, code } of said)
        assert.ok(outcome === 'pass' ? code === undefined : RULE_CODES.includes(code!))
      assert.equal(outcome, said.every(({ code }) => code === undefined) ? 'pass' : 'fail')
      assert.equal((values as JsonValue[]).length, rules.length)
      assert.equal(JSON.stringify([payload, evidence]), before)
    }),
    { numRuns: runs(3000) },
  )
})

test('equality of values is symmetric, and equals equality of their canonical JSON', () => {
  const hasMoney = (value: JsonValue) => JSON.stringify(value).includes('currency')
  const pair = fc.oneof(fc.tuple(json, json), fc.tuple(scalar, scalar), json.map(reordered))
  fc.assert(
    fc.property(pair, ([a, b]) => {
      const said = compare(rule('equals'), a, b)
      assert.equal(compare(rule('equals'), b, a), said)
      assert.equal(compare(rule('oneOf'), [a], b) === 'pass', said === 'pass')
      if (!hasMoney(a)) assert.equal(said === 'pass', canonicalize(a) === canonicalize(b))
    }),
    { numRuns: runs(2000) },
  )
})

function reordered(value: JsonValue): [JsonValue, JsonValue] {
  const turn = (value: JsonValue): JsonValue => {
    if (Array.isArray(value)) return value.map(turn)
    if (value === null || typeof value !== 'object') return value
    return Object.fromEntries(
      Object.entries(value)
        .reverse()
        .map(([name, member]) => [name, turn(member)]),
    )
  }
  return [value, turn(value)]
}

test('atMost, atLeast and within agree with integer arithmetic on cents', () => {
  const cents = fc.integer({ min: -100_000, max: 100_000 })
  const text = (n: number) =>
    `${n < 0 ? '-' : ''}${Math.floor(Math.abs(n) / 100)}.${`${Math.abs(n) % 100}`.padStart(2, '0')}`
  const wrap = fc.constantFrom<(n: number) => JsonValue>(
    text,
    (n) => Number(text(n)),
    (n) => eur(text(n)),
    (n) => eur(Number(text(n))),
  )
  fc.assert(
    fc.property(cents, cents, fc.nat(100_000), fc.nat(10_000), wrap, (a, b, wide, percent, as) => {
      const said = (definition: JsonObject, expected: number, actual: number) =>
        compare(definition, as(expected), as(actual)) === 'pass'
      assert.equal(said(rule('atMost'), a, b), b <= a)
      assert.equal(said(rule('atLeast'), a, b), b >= a)
      const absolute = rule('within', { tolerance: { absolute: text(wide) } })
      assert.equal(said(absolute, a, b), Math.abs(a - b) <= wide)
      assert.equal(said(absolute, b, a), Math.abs(a - b) <= wide)
      assert.ok(said(absolute, a, a + wide) && said(absolute, a, a - wide))
      assert.ok(!said(absolute, a, a + wide + 1) && !said(absolute, a, a - wide - 1))
      const relative = rule('within', { tolerance: { percent: text(percent) } })
      assert.equal(said(relative, a, b), Math.abs(a - b) * 10_000 <= Math.abs(a) * percent)
    }),
  )
})
