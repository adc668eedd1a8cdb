import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JsonValue } from '../../src/proof/json-text.ts'
import { compileType } from '../../src/types/definition.ts'
import { verifyRules } from '../../src/types/rules.ts'
import { SchemaError } from '../../src/types/schema-error.ts'

const WITHIN = {
  id: 'quantity',
  op: 'within',
  expected: '/quantity',
  actual: '/quantity',
  tolerance: { percent: '5' },
}

test('takes rules of every operator', () => {
  verifyRules([
    WITHIN,
    { ...WITHIN, id: 'a', overridable: { percentMax: '10.5' } },
    { ...WITHIN, id: 'b', tolerance: { absolute: '0' }, overridable: { absoluteMax: '1' } },
    { id: 'c', op: 'equals', value: { any: ['thing'] }, actual: '' },
    { id: 'd', op: 'atMost', value: 10.5, actual: '/total' },
    { id: 'e', op: 'atLeast', value: '10.50', actual: '/total' },
    { id: 'f', op: 'atMost', value: { amount: '19.90', currency: 'EUR' }, actual: '/price' },
    { id: 'g', op: 'oneOf', value: ['a', 1, null], actual: '/colour' },
    { id: 'h', op: 'before', value: '2026-11-20T12:00:00.000Z', actual: '/at' },
    { id: 'i', op: 'after', expected: '/from~1to/0', actual: '/at' },
  ])
})

test('refuses what a rule can not mean, and says where', () => {
  const amount = { id: 'a', op: 'atMost', actual: '/a' }
  const cases: [rules: JsonValue, path: string][] = [
    [{}, '/rules'],
    [Array.from({ length: 257 }, (_, i) => ({ ...WITHIN, id: `${i}` })), '/rules'],
    [[null], '/rules/0'],
    [[WITHIN, WITHIN], '/rules/1/id'],
    [[{ ...WITHIN, id: '' }], '/rules/0/id'],
    [[{ ...WITHIN, id: 'a b' }], '/rules/0/id'],
    [[{ ...WITHIN, op: 'constructor' }], '/rules/0/op'],
    [[{ ...WITHIN, op: 'matches' }], '/rules/0/op'],
    [[{ ...WITHIN, run: 'code' }], '/rules/0/run'],
    [[{ ...WITHIN, actual: 'quantity' }], '/rules/0/actual'],
    [[{ ...WITHIN, actual: '/~2' }], '/rules/0/actual'],
    [[{ ...WITHIN, expected: 1 }], '/rules/0/expected'],
    [[{ ...WITHIN, value: 1 }], '/rules/0'],
    [[{ id: 'a', op: 'equals', actual: '/a' }], '/rules/0'],
    [[{ ...amount, value: 'ten' }], '/rules/0/value'],
    [[{ ...amount, value: '01' }], '/rules/0/value'],
    [[{ ...amount, value: { amount: 1, currency: 'EUR' } }], '/rules/0/value'],
    [[{ ...amount, value: { amount: '1', currency: 'eur' } }], '/rules/0/value'],
    [[{ ...amount, value: { amount: '1', currency: 'EUR', more: 1 } }], '/rules/0/value'],
    [[{ ...amount, op: 'oneOf', value: [] }], '/rules/0/value'],
    [[{ ...amount, op: 'oneOf', value: Array(257).fill(1) }], '/rules/0/value'],
    [[{ ...amount, op: 'before', value: 'tomorrow' }], '/rules/0/value'],
    [[{ ...amount, value: 1, tolerance: { percent: '5' } }], '/rules/0/tolerance'],
    [[{ ...amount, value: 1, overridable: { percentMax: '5' } }], '/rules/0/overridable'],
    [[{ ...WITHIN, tolerance: {} }], '/rules/0/tolerance'],
    [[{ ...WITHIN, tolerance: { percent: '5', absolute: '1' } }], '/rules/0/tolerance'],
    [[{ ...WITHIN, tolerance: { percent: 5 } }], '/rules/0/tolerance/percent'],
    [[{ ...WITHIN, tolerance: { percent: '-5' } }], '/rules/0/tolerance/percent'],
    [[{ ...WITHIN, overridable: { absoluteMax: '5' } }], '/rules/0/overridable'],
    [[{ ...WITHIN, overridable: { percentMax: '1e3' } }], '/rules/0/overridable/percentMax'],
  ]
  for (const [rules, path] of cases) {
    assert.throws(
      () => verifyRules(rules),
      (error) => error instanceof SchemaError && error.path === path,
      `${path}: ${JSON.stringify(rules).slice(0, 200)}`,
    )
  }
})

test('rules need evidence to compare', () => {
  const definition = { name: 'a', version: 1, payloadSchema: true, rules: [WITHIN] }
  assert.throws(() => compileType(definition), /without an evidenceSchema/)
  assert.ok(compileType({ ...definition, evidenceSchema: true }).evidence)
})
