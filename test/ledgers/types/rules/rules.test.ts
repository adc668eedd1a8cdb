import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BUILT_IN_TYPES } from '../../../../src/ledgers/types/built-in.ts'
import { compileType } from '../../../../src/ledgers/types/definition.ts'
import { parseRules } from '../../../../src/ledgers/types/rules/rules.ts'
import { SchemaError } from '../../../../src/ledgers/types/schema/schema-error.ts'
import type { JsonValue } from '../../../../src/proof/json/json-value.ts'

const WITHIN = {
  id: 'quantity',
  op: 'within',
  expected: '/quantity',
  actual: '/quantity',
  tolerance: { percent: '5' },
}

test('accepts rules of every operator', () => {
  parseRules([
    WITHIN,
    { ...WITHIN, id: 'a', overridable: { percentMax: '10.5' } },
    { ...WITHIN, id: 'b', tolerance: { absolute: '0' }, overridable: { absoluteMax: '1' } },
    { id: 'c', op: 'equals', value: { any: ['thing'] }, actual: '' },
    { id: 'd', op: 'atMost', value: 10.5, actual: '/total' },
    { id: 'e', op: 'atLeast', value: '10.50', actual: '/total' },
    { id: 'f', op: 'atMost', value: { amount: '19.90', currency: 'EUR' }, actual: '/price' },
    { id: 'j', op: 'atMost', value: { amount: 19.9, currency: 'EUR' }, actual: '/price' },
    { id: 'g', op: 'oneOf', value: ['a', 1, null], actual: '/colour' },
    { id: 'h', op: 'before', value: '2026-11-20T12:00:00.000Z', actual: '/at' },
    { id: 'i', op: 'after', expected: '/from~1to/0', actual: '/at' },
  ])
})

test('refuses meaningless rules, with the path of the fault', () => {
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
    [[{ ...amount, value: { amount: 'one', currency: 'EUR' } }], '/rules/0/value'],
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
      () => parseRules(rules),
      (error) => error instanceof SchemaError && error.path === path,
      `${path}: ${JSON.stringify(rules).slice(0, 200)}`,
    )
  }
})

test('an error about a rule names the rule’s id, if present', () => {
  const detailOf = (rule: JsonValue): string => {
    try {
      parseRules([{ ...WITHIN, id: 'first' }, rule])
    } catch (error) {
      if (error instanceof SchemaError) return error.detail
    }
    throw new Error('the rule was taken')
  }
  for (const change of [
    { op: 'matches' },
    { value: 1 },
    { run: 'code' },
    { actual: 1 },
    { tolerance: {} },
    { tolerance: { percent: 5 } },
    { overridable: { absoluteMax: '5' } },
    { op: 'equals' },
  ])
    assert.match(detailOf({ ...WITHIN, ...change }), /^rule quantity: /)
  for (const id of [1, '', 'a b', 'x'.repeat(64)])
    assert.match(detailOf({ ...WITHIN, id, op: 'matches' }), /^must be an id/)
  assert.equal(detailOf({ ...WITHIN, id: 'first' }), 'another rule has the id first')
})

test('parses rules into their internal form', () => {
  const equals = { id: 'e', op: 'equals', value: [1], actual: '' }
  assert.deepEqual(
    parseRules([WITHIN, { ...WITHIN, id: 'o', overridable: { percentMax: '9.50' } }, equals]),
    [
      {
        id: 'quantity',
        operator: 'within',
        expected: { pointer: '/quantity' },
        actual: '/quantity',
        tolerance: { measure: 'percent', limit: '5' },
        toleranceMax: null,
      },
      {
        id: 'o',
        operator: 'within',
        expected: { pointer: '/quantity' },
        actual: '/quantity',
        tolerance: { measure: 'percent', limit: '5' },
        toleranceMax: '9.50',
      },
      { id: 'e', operator: 'equals', expected: { constant: [1] }, actual: '' },
    ],
  )
})

test('a compiled type has its rules, and no rules without an evidence schema', () => {
  const definition = { name: 'a', version: 1, payloadSchema: true }
  assert.deepEqual(compileType(definition).rules, [])
  assert.deepEqual(compileType({ ...definition, evidenceSchema: true }).rules, [])
  const { gated, rules } = compileType({ ...definition, evidenceSchema: true, rules: [WITHIN] })
  assert.equal(gated, true)
  assert.deepEqual(rules, parseRules([WITHIN]))
  for (const type of BUILT_IN_TYPES.values()) assert.deepEqual(type.rules, [])
})

test('refuses rules without an evidenceSchema', () => {
  const definition = { name: 'a', version: 1, payloadSchema: true, rules: [WITHIN] }
  assert.throws(() => compileType(definition), /need an evidenceSchema/)
  assert.ok(compileType({ ...definition, evidenceSchema: true }).evidence)
})
