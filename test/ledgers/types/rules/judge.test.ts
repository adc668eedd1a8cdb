import assert from 'node:assert/strict'
import { test } from 'node:test'
import { judge, RULE_CODES } from '../../../../src/ledgers/types/rules/judge.ts'
import { parseRules } from '../../../../src/ledgers/types/rules/rules.ts'
import { parseTolerances } from '../../../../src/ledgers/types/rules/tolerances.ts'
import type { JsonObject, JsonValue } from '../../../../src/proof/json/json-value.ts'

const rule = (op: string, more: JsonObject = {}): JsonObject => ({
  id: 'r',
  op,
  actual: '/a',
  ...(Object.hasOwn(more, 'value') ? {} : { expected: '/a' }),
  ...(op === 'within' && { tolerance: { percent: '5' } }),
  ...more,
})

function say(
  definition: JsonObject,
  payload: JsonValue | null,
  evidence: JsonValue | null,
  tolerances: JsonObject | null = null,
) {
  const rules = parseRules([definition])
  const judgement = judge(rules, {
    payload,
    evidence,
    tolerances: tolerances && parseTolerances(rules, tolerances),
  })
  const [said] = judgement.rules
  assert.equal(judgement.outcome, said!.outcome)
  assert.equal(said!.outcome === 'fail', Object.hasOwn(said!, 'code'))
  return said!.code ?? 'pass'
}

const compare = (definition: JsonObject, expected: JsonValue, actual: JsonValue) =>
  say(definition, { a: expected }, { a: actual })

const eur = (amount: JsonValue) => ({ amount, currency: 'EUR' })
const LATE = '2026-11-20T12:00:00.001Z'
const NOON = '2026-11-20T12:00:00.000Z'

test('each operator passes or fails as specified, at its bounds too', () => {
  const [absolute, percent] = [{ tolerance: { absolute: '0.3' } }, { tolerance: { percent: '5' } }]
  const cases: [rule: JsonObject, expected: JsonValue, actual: JsonValue, said: string][] = [
    [rule('atMost'), 10, 10, 'pass'],
    [rule('atMost'), '10', 10.000000000000002, 'above_maximum'],
    [rule('atMost'), 0.3, 0.1 + 0.2, 'above_maximum'],
    [rule('atMost'), -1, -1e308, 'pass'],
    [rule('atLeast'), '0.30', 0.3, 'pass'],
    [rule('atLeast'), '9007199254740993', 9007199254740992, 'below_minimum'],
    [rule('atLeast'), 5e-324, 0, 'below_minimum'],
    [rule('within', absolute), '0.1', '0.4', 'pass'],
    [rule('within', absolute), 0.1, -0.2, 'pass'],
    [rule('within', absolute), '0.1', '0.400000000000000000000000000001', 'outside_tolerance'],
    [rule('within', percent), 100, 105, 'pass'],
    [rule('within', percent), 100, '95.0', 'pass'],
    [rule('within', percent), -100, -105, 'pass'],
    [rule('within', percent), -100, -105.1, 'outside_tolerance'],
    [rule('within', percent), 105, 100, 'pass'],
    [rule('within', percent), 100, 94.99999999999999, 'outside_tolerance'],
    [rule('within', percent), 0, 0, 'pass'],
    [rule('within', percent), 0, '0.000000000000000000000000000001', 'outside_tolerance'],
    [rule('within', { tolerance: { percent: '0' } }), eur('1.50'), eur(1.5), 'pass'],
    [rule('within', percent), 1.7e308, 5e-324, 'outside_tolerance'],
    [rule('before'), NOON, NOON, 'not_before'],
    [rule('before'), LATE, NOON, 'pass'],
    [rule('after'), NOON, NOON, 'not_after'],
    [rule('after'), NOON, LATE, 'pass'],
    [rule('oneOf'), ['a', 1, null], 1, 'pass'],
    [rule('oneOf'), ['a', 1, null], null, 'pass'],
    [rule('oneOf'), ['a', 1, null], '1', 'not_one_of'],
    [rule('oneOf'), [eur('1.50'), { x: 1, y: 2 }], eur(1.5), 'pass'],
    [rule('oneOf'), [eur('1.50'), { x: 1, y: 2 }], { y: 2, x: 1 }, 'pass'],
    [rule('oneOf'), [], 1, 'not_one_of'],
    [rule('equals'), { x: [1, 'é'], y: {} }, { y: {}, x: [1, 'é'] }, 'pass'],
    [rule('equals'), [1, 2], [2, 1], 'not_equal'],
    [rule('equals'), 100, 1e2, 'pass'],
    [rule('equals'), -0, 0, 'pass'],
    [rule('equals'), 1, '1', 'not_equal'],
    [rule('equals'), '1.50', '1.5', 'not_equal'],
    [rule('equals'), eur('1.50'), eur(1.5), 'pass'],
    [rule('equals'), eur(1e21), eur('1000000000000000000000.0'), 'pass'],
    [rule('equals'), eur('1.50'), eur('1.51'), 'not_equal'],
    [rule('equals'), eur('1.50'), 1.5, 'not_equal'],
    [rule('equals'), eur('1.50'), 'EUR 15e-1', 'not_equal'],
    [rule('equals'), eur('1.50'), { amount: '1.50', currency: 'USD' }, 'currency_differs'],
  ]
  for (const [definition, expected, actual, said] of cases)
    assert.equal(
      compare(definition, expected, actual),
      said,
      JSON.stringify([definition['op'], expected, actual]),
    )
})

test('a value of the wrong type fails the rule with expected_type or actual_type', () => {
  const cases: [rule: JsonObject, expected: JsonValue, actual: JsonValue, said: string][] = [
    [rule('atMost'), '1 kg', 1, 'expected_type'],
    [rule('atMost'), null, null, 'expected_type'],
    [rule('atMost'), 1, '1e3', 'actual_type'],
    [rule('atLeast'), 1, true, 'actual_type'],
    [rule('atLeast'), 1, [1], 'actual_type'],
    [rule('within'), 1, eur(1), 'actual_type'],
    [rule('within'), eur(1), 1, 'actual_type'],
    [rule('within'), eur(1), eur('one'), 'actual_type'],
    [rule('within'), eur(1), { amount: 1 }, 'actual_type'],
    [rule('within'), eur(1), { amount: 1, currency: 'eur' }, 'actual_type'],
    [rule('within'), eur(1), { ...eur(1), vat: 19 }, 'actual_type'],
    [rule('within'), eur(1), { amount: 1, currency: 'USD' }, 'currency_differs'],
    [rule('atMost'), eur(1), { amount: 0, currency: 'USD' }, 'currency_differs'],
    [rule('before'), 'tomorrow', NOON, 'expected_type'],
    [rule('before'), NOON, '2026-11-20T12:00:00Z', 'actual_type'],
    [rule('before'), NOON, '2026-11-20T13:00:00.000+01:00', 'actual_type'],
    [rule('after'), NOON, '2026-02-30T12:00:00.000Z', 'actual_type'],
    [rule('after'), NOON, 0, 'actual_type'],
    [rule('oneOf'), { 0: 'a' }, 'a', 'expected_type'],
  ]
  for (const [definition, expected, actual, said] of cases)
    assert.equal(
      compare(definition, expected, actual),
      said,
      JSON.stringify([definition['op'], expected, actual]),
    )
})

test('a missing or erased value fails the rules that need it', () => {
  for (const op of ['equals', 'atMost', 'within', 'oneOf', 'before']) {
    assert.equal(say(rule(op), {}, { a: 1 }), 'expected_missing')
    assert.equal(say(rule(op), { a: 1 }, {}), 'actual_missing')
    assert.equal(say(rule(op), {}, {}), 'expected_missing')
    assert.equal(say(rule(op), null, { a: 1 }), 'expected_erased')
    assert.equal(say(rule(op), { a: 1 }, null), 'actual_erased')
    assert.equal(say(rule(op), null, null), 'expected_erased')
    assert.equal(say(rule(op), {}, null), 'actual_erased')
  }
  assert.equal(say(rule('atMost', { value: 1 }), null, { a: 1 }), 'pass')
  assert.equal(say(rule('equals', { expected: '' }), { a: 1 }, { a: { a: 1 } }), 'pass')
  assert.equal(say(rule('equals', { actual: '/constructor' }), { a: 1 }, { a: 1 }), 'actual_missing')
})

test('the verification passes if every rule passes, or if there are no rules', () => {
  assert.deepEqual(judge([], { payload: null, evidence: null, tolerances: null }), {
    outcome: 'pass',
    rules: [],
    values: [],
  })
  const rules = parseRules([
    { ...rule('equals'), id: 'x' },
    { ...rule('atMost'), id: 'y' },
    { ...rule('atLeast'), id: 'z' },
  ])
  const of = (actual: number) =>
    judge(rules, { payload: { a: 1 }, evidence: { a: actual }, tolerances: null })
  assert.equal(of(1).outcome, 'pass')
  assert.deepEqual(of(2).rules, [
    { id: 'x', outcome: 'fail', code: 'not_equal' },
    { id: 'y', outcome: 'fail', code: 'above_maximum' },
    { id: 'z', outcome: 'pass' },
  ])
  assert.equal(of(2).outcome, 'fail')
})

test('a record’s own tolerance counts instead of its type’s, wider or stricter', () => {
  const definition = rule('within', { overridable: { percentMax: '10' } })
  const of = (actual: number, percent: string | null) =>
    say(definition, { a: 100 }, { a: actual }, percent === null ? null : { r: { percent } })
  assert.deepEqual(
    [of(105, null), of(106, null), of(106, '10'), of(110, '10')],
    ['pass', 'outside_tolerance', 'pass', 'pass'],
  )
  assert.deepEqual(
    [of(101, '0.5'), of(100.5, '0.5'), of(110.1, '10')],
    ['outside_tolerance', 'pass', 'outside_tolerance'],
  )
})

test('compares with a bound of 30 decimals exactly', () => {
  const thirds = '3'.repeat(29)
  const [percent, absolute] = [{ percent: `33.${thirds}3` }, { absolute: `0.${thirds}3` }]
  for (const [tolerance, expected, whole] of [
    [percent, 100, 133],
    [absolute, '1', 1],
  ] as const) {
    assert.equal(compare(rule('within', { tolerance }), expected, `${whole}.${thirds}3`), 'pass')
    assert.equal(compare(rule('within', { tolerance }), expected, `${whole}.${thirds}4`), 'outside_tolerance')
  }
})

test('every result code is at most 20 characters of a-z, 0-9 and _', () => {
  for (const code of RULE_CODES) assert.match(code, /^[a-z][a-z0-9_]{0,19}$/)
})
