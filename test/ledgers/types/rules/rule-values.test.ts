import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { judge } from '../../../../src/ledgers/types/rules/judge.ts'
import { parseRules } from '../../../../src/ledgers/types/rules/rules.ts'
import { canonicalize } from '../../../../src/proof/json/jcs.ts'
import { parseJsonText } from '../../../../src/proof/json/json-text.ts'
import type { JsonObject, JsonValue } from '../../../../src/proof/json/json-value.ts'
import { DOCUMENT_BYTES_MAX, JSON_DEPTH_MAX } from '../../../../src/proof/request-limits.ts'
import { runs } from '../../../helpers/runs.ts'

const times = <T>(n: number, make: (i: number) => T): T[] => Array.from({ length: n }, (_, i) => make(i))
const equals = (at: string, more: JsonObject = {}) => ({
  id: `r${at}`.replaceAll('/', '.'),
  op: 'equals',
  actual: at,
  ...(Object.hasOwn(more, 'value') ? {} : { expected: at }),
  ...more,
})

function valuesOf(rules: JsonValue, payload: JsonValue | null, evidence: JsonValue | null): JsonObject[] {
  return judge(parseRules(rules), { payload, evidence, tolerances: null }).values as JsonObject[]
}

/**
 * Asserts that the values' canonical bytes are within the limit and can be parsed again. Returns the number of bytes.
 */
function assertDocument(values: JsonValue): number {
  const text = canonicalize(values)
  const bytes = Buffer.byteLength(text)
  assert.ok(bytes <= DOCUMENT_BYTES_MAX, `${bytes}`)
  assert.deepEqual(parseJsonText(text, { depthMax: JSON_DEPTH_MAX }), values)
  return bytes
}

test('lists the compared values of each rule in order, without missing values', () => {
  const rules = [
    equals('/a'),
    {
      id: 'w',
      op: 'within',
      expected: '/a',
      actual: '/b',
      tolerance: { percent: '5.0' },
      overridable: { percentMax: '9' },
    },
    { id: 'c', op: 'atMost', value: '10.0', actual: '/nothing' },
    { id: 'n', op: 'equals', value: null, actual: '/null' },
  ]
  const evidence = { a: 1, b: { amount: '1.50', currency: 'EUR' }, null: null }
  assert.deepEqual(valuesOf(rules, { a: [1, 'é'] }, evidence), [
    { id: 'r.a', expected: [1, 'é'], actual: 1 },
    { id: 'w', expected: [1, 'é'], actual: evidence.b, tolerance: { percent: '5.0' } },
    { id: 'c', expected: '10.0' },
    { id: 'n', expected: null, actual: null },
  ])
  assert.deepEqual(valuesOf([equals('/a')], null, { a: 1 }), [{ id: 'r.a', actual: 1 }])
  assert.deepEqual(valuesOf([equals('/a')], { a: 1 }, null), [{ id: 'r.a', expected: 1 }])
})

test('replaces a value longer than 1,024 bytes by its size', () => {
  const [most, more] = ['é'.repeat(511), `${'é'.repeat(511)}x`]
  assert.deepEqual(valuesOf([equals('/a')], { a: most }, { a: more }), [
    { id: 'r.a', expected: most, actualBytes: 1_025 },
  ])
  assert.deepEqual(valuesOf([equals('/a', { value: more })], {}, { a: 1 }), [
    { id: 'r.a', expectedBytes: 1_025, actual: 1 },
  ])
})

test('replaces a value nested too deeply for a document by its size', () => {
  const nested = (depth: number) => JSON.parse('['.repeat(depth) + ']'.repeat(depth)) as JsonValue
  const values = valuesOf([equals('/a')], { a: nested(31) }, { a: nested(30) })
  assert.deepEqual(values, [{ id: 'r.a', expectedBytes: 62, actual: nested(30) }])
  assertDocument(values)
})

test('omits the longest values if all together are too large', () => {
  const text = (n: number) => 'x'.repeat(n)
  const document = Object.fromEntries(times(128, (i) => [`m${i}`, text(300 + 4 * i)]))
  const values = valuesOf(
    times(128, (i) => equals(`/m${i}`)),
    document,
    document,
  )
  const bytes = assertDocument(values)
  assert.ok(bytes > DOCUMENT_BYTES_MAX - 1_024, `${bytes}`)
  const left = values.filter((member) => Object.hasOwn(member, 'expectedBytes')).map(({ id }) => id)
  assert.ok(left.length > 0 && left.length < 128)
  assert.deepEqual(
    left,
    times(left.length, (i) => `r.m${128 - left.length + i}`),
  )
})

test('is always a valid document, whatever was compared', () => {
  const id = (i: number) => `${'r'.repeat(60)}${`${i}`.padStart(3, '0')}`
  const limit = `${'9'.repeat(30)}.${'9'.repeat(30)}`
  const within = (i: number, at: string) => ({
    id: id(i),
    op: 'within',
    expected: at,
    actual: at,
    tolerance: { absolute: limit },
  })
  const whole = { a: 'x'.repeat(65_000) }
  const wide = Object.fromEntries(times(256, (i) => [`${i}`, 'y'.repeat(240)]))
  const least = assertDocument(
    valuesOf(
      times(256, (i) => within(i, '')),
      whole,
      whole,
    ),
  )
  assert.ok(least > 50_000, `${least}`)
  const most = assertDocument(
    valuesOf(
      times(256, (i) => within(i, `/${i}`)),
      wide,
      wide,
    ),
  )
  assert.ok(most > DOCUMENT_BYTES_MAX - 240, `${most}`)
  // Texts are without U+0000, which documents cannot contain.
  const text = fc.string({ unit: fc.constantFrom('a', '"', '\n', 'é', '𝄞'), maxLength: 600, size: 'max' })
  fc.assert(
    fc.property(fc.array(text, { minLength: 200, maxLength: 256, size: 'max' }), (list) => {
      const rules = list.map((_, i) => within(i, `/${i}`))
      assertDocument(valuesOf(rules, list, list.toReversed()))
    }),
    { numRuns: runs(10) },
  )
})
