import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiError } from '../../../../src/errors.ts'
import { parseRules } from '../../../../src/ledgers/types/rules/rules.ts'
import { parseTolerances } from '../../../../src/ledgers/types/rules/tolerances.ts'
import type { JsonValue } from '../../../../src/proof/json/json-value.ts'

const within = (id: string, changes: Record<string, JsonValue>) => ({
  id,
  op: 'within',
  expected: '/a',
  actual: '/a',
  ...changes,
})

const RULES = parseRules([
  within('quantity', { tolerance: { percent: '5' }, overridable: { percentMax: '10.5' } }),
  within('weight', { tolerance: { absolute: '0.5' }, overridable: { absoluteMax: '1' } }),
  within('fixed', { tolerance: { percent: '5' } }),
  { id: 'same', op: 'equals', expected: '/a', actual: '/a' },
  within('toString', { tolerance: { percent: '5' }, overridable: { percentMax: '5' } }),
])

test('accepts tolerances of overridable rules up to the type’s maximum, or stricter', () => {
  const given = { weight: { absolute: '0' }, quantity: { percent: '10.50' } }
  const { value, canonical, byRule } = parseTolerances(RULES, given)
  assert.deepEqual(value, given)
  assert.equal(canonical, '{"quantity":{"percent":"10.50"},"weight":{"absolute":"0"}}')
  assert.deepEqual(byRule.get('quantity'), { measure: 'percent', limit: '10.50' })
  assert.deepEqual(byRule.get('weight'), { measure: 'absolute', limit: '0' })
  assert.equal(byRule.size, 2)
  assert.equal(parseTolerances(RULES, {}).canonical, '{}')
  assert.ok(parseTolerances(RULES, { toString: { percent: '1' } }).byRule.has('toString'))
})

test('refuses tolerances beyond the type’s limits, with the rule and the path', () => {
  const rule = (id: string) => new RegExp(`rule ${id}: `)
  const cases: [tolerances: JsonValue, path: string, detail: RegExp][] = [
    [null, '/tolerances', /must be an object/],
    [[], '/tolerances', /must be an object/],
    ['5', '/tolerances', /must be an object/],
    [{ other: { percent: '5' } }, '/tolerances/other', /no rule other/],
    [{ valueOf: { percent: '5' } }, '/tolerances/valueOf', /no rule valueOf/],
    [{ 'a/b': { percent: '5' } }, '/tolerances', /not the id of a rule/],
    [{ [`x${'y'.repeat(9_000)}`]: 1 }, '/tolerances', /not the id of a rule/],
    [JSON.parse('{"__proto__":{"percent":"5"}}'), '/tolerances', /not the id of a rule/],
    [{ fixed: { percent: '5' } }, '/tolerances/fixed', rule('fixed')],
    [{ same: { percent: '5' } }, '/tolerances/same', rule('same')],
    [{ quantity: '5' }, '/tolerances/quantity', rule('quantity')],
    [{ quantity: null }, '/tolerances/quantity', rule('quantity')],
    [{ quantity: {} }, '/tolerances/quantity', rule('quantity')],
    [{ quantity: { absolute: '1' } }, '/tolerances/quantity', /only percent/],
    [{ weight: { percent: '1' } }, '/tolerances/weight', /only absolute/],
    [{ quantity: { percent: '1', absolute: '1' } }, '/tolerances/quantity', rule('quantity')],
    [{ quantity: { percent: 5 } }, '/tolerances/quantity/percent', /decimal ≥ 0/],
    [{ quantity: { percent: '-1' } }, '/tolerances/quantity/percent', /decimal ≥ 0/],
    [{ quantity: { percent: '-0' } }, '/tolerances/quantity/percent', /decimal ≥ 0/],
    [{ quantity: { percent: '1e1' } }, '/tolerances/quantity/percent', /decimal ≥ 0/],
    [
      { quantity: { percent: '10.500000000000000000000000000001' } },
      '/tolerances/quantity/percent',
      /at most 10\.5/,
    ],
    [{ weight: { absolute: '0.5' }, quantity: { percent: '11' } }, '/tolerances/quantity/percent', /10\.5/],
  ]
  for (const [tolerances, path, detail] of cases) {
    assert.throws(
      () => parseTolerances(RULES, tolerances),
      (error) =>
        error instanceof ApiError &&
        error.code === 'invalid_request' &&
        error.members['path'] === path &&
        detail.test(error.message),
      `${path}: ${JSON.stringify(tolerances).slice(0, 100)}`,
    )
  }
})

test('accepts tolerances of up to 16 KiB, and refuses longer ones', () => {
  const ids = Array.from({ length: 256 }, (_, i) => `${'r'.repeat(60)}${`${i}`.padStart(3, '0')}`)
  const rules = parseRules(
    ids.map((id) => within(id, { tolerance: { absolute: '5' }, overridable: { absoluteMax: '10' } })),
  )
  const all = (limit: string, count: number) =>
    Object.fromEntries(ids.slice(0, count).map((id) => [id, { absolute: limit }]))
  const bytesEach = JSON.stringify(all('1', 2)).length - JSON.stringify(all('1', 1)).length
  const most = Math.floor((16_384 - 1) / bytesEach)
  const { canonical } = parseTolerances(rules, all('1', most))
  assert.ok(canonical.length > 16_384 - bytesEach, `${canonical.length}`)
  assert.throws(
    () => parseTolerances(rules, all('1', most + 1)),
    (error) => error instanceof ApiError && /at most 16384/.test(error.message),
  )
})
