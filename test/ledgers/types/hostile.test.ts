import assert from 'node:assert/strict'
import { test } from 'node:test'
import { canonicalDefinition } from '../../../src/ledgers/types/definition.ts'
import { Schema } from '../../../src/ledgers/types/schema/schema.ts'
import { SchemaError } from '../../../src/ledgers/types/schema/schema-error.ts'
import { canonicalize } from '../../../src/proof/json/jcs.ts'
import type { JsonObject, JsonValue } from '../../../src/proof/json/json-value.ts'
import { DOCUMENT_BYTES_MAX, JSON_DEPTH_MAX } from '../../../src/proof/request-limits.ts'

/*
 * Attacks a shared server by types and documents. Slices of the event loop are measured in CPU time, so that other load
 * does not matter.
 */

/** Maximum CPU time in ms of a slice of the event loop. The limit exists because the event loop serves all ledgers. */
const SLICE_MS_MAX = 20
const SLICES = 8

/**
 * Returns the mean CPU time in ms of a call of `work`. Several calls are measured together, because CPU time is counted
 * in ticks of some milliseconds.
 */
function meanSliceMs(work: () => unknown): number {
  work()
  const begun = process.threadCpuUsage()
  for (let i = 0; i < SLICES; i++) work()
  const { user, system } = process.threadCpuUsage(begun)
  return (user + system) / 1000 / SLICES
}

const times = <T>(n: number, make: (i: number) => T): T[] => Array.from({ length: n }, (_, i) => make(i))
const named = (n: number, make: (i: number) => JsonValue): JsonObject =>
  Object.fromEntries(times(n, (i) => [`n${i}`, make(i)]))

function nested(depth: number, wrap: (inner: JsonValue) => JsonValue, core: JsonValue = true): JsonValue {
  let value = core
  for (let i = 0; i < depth; i++) value = wrap(value)
  return value
}

/** Makes `levels` nested definitions. Each of them contains `fan` references to the next one. */
function tower(levels: number, keyword: string, fan = 2, end: JsonValue = { type: 'integer' }): JsonObject {
  return named(levels, (i) =>
    i === levels - 1 ? end : { [keyword]: times(fan, () => ({ $ref: `#/$defs/n${i + 1}` })) },
  )
}

const REFUSED: Record<string, [schema: JsonValue, where: RegExp]> = {
  'a reference to itself': [{ $ref: '#' }, /endless loop/],
  'two references to each other': [
    { $defs: { a: { $ref: '#/$defs/b' }, b: { $ref: '#/$defs/a' } }, $ref: '#/$defs/a' },
    /endless loop/,
  ],
  'a loop through allOf, not and if': [
    { $defs: { a: { allOf: [{ not: { if: { $ref: '#/$defs/a' } } }] } } },
    /endless loop/,
  ],
  'a loop through dependentSchemas': [{ dependentSchemas: { a: { $ref: '#' } } }, /endless loop/],
  'a loop through an anchor': [{ $anchor: 'here', anyOf: [{ $ref: '#here' }] }, /endless loop/],
  'a tower of references': [{ $defs: tower(40, 'allOf'), $ref: '#/$defs/n0' }, /more than 16/],
  'a reference to the metaschema': [
    { $ref: 'https://json-schema.org/draft/2020-12/schema' },
    /does not refer to/,
  ],
  'a reference to a file': [{ $ref: 'file:///etc/passwd' }, /does not refer to/],
  'a reference to a neighbour': [{ $defs: { a: true }, items: { $ref: 'x/$defs/a' } }, /does not refer to/],
  'a reference that is no text': [{ $ref: '#/%zz' }, /does not refer to/],
  'a reference into an enum': [
    { enum: [{ type: 'string' }], properties: { a: { $ref: '#/enum/0' } } },
    /does not refer to/,
  ],
  'a reference into what every object inherits': [{ $ref: '#/__proto__' }, /does not refer to/],
  $dynamicRef: [{ $dynamicRef: '#a' }, /\$dynamicRef: this keyword/],
  $dynamicAnchor: [{ $dynamicAnchor: 'a' }, /\$dynamicAnchor: this keyword/],
  $id: [{ $id: 'https://ledger.example/other' }, /\$id: this keyword/],
  'an $id further in': [{ properties: { a: { $id: '#a' } } }, /\$id: this keyword/],
  $vocabulary: [{ $vocabulary: {} }, /this keyword/],
  '$data of ajv': [{ maximum: { $data: '/a' } }, /must be a number/],
  'another dialect': [{ $schema: 'http://json-schema.org/draft-07/schema#' }, /must be https/],
  'a dialect further in': [
    { items: { $schema: 'https://json-schema.org/draft/2020-12/schema' } },
    /at the root only/,
  ],
  'an anchor twice': [{ $defs: { a: { $anchor: 'x' }, b: { $anchor: 'x' } } }, /occurs twice/],
  '$defs that are no object': [{ $defs: [] }, /must be an object/],
  'a schema that is null': [{ properties: { a: null } }, /an object or a boolean/],
  'keywords of ajv': [{ nullable: true }, /this keyword/],
  'an unknown format': [{ format: 'regex' }, /must be one of/],
  'a format that objects inherit': [{ format: 'constructor' }, /must be one of/],
  'a keyword that objects inherit': [{ constructor: {} }, /this keyword/],
  'too many subschemas': [{ properties: named(1_001, () => true) }, /more than 1000 subschemas/],
  'a long name around many subschemas': [
    { properties: { ['n'.repeat(17_000)]: { properties: named(990, () => true) } } },
    /JSON Pointer has more than 1024 characters/,
  ],
  'an enum of a million': [{ enum: times(1_000_000, (i) => i) }, /more than 1000 values/],
  'many patterns': [
    { patternProperties: Object.fromEntries(times(65, (i) => [`a{${i}}`, true])) },
    /more than 64 patterns/,
  ],
  'a pattern bomb': [{ pattern: '(((a{99}){99}){99}){99}' }, /more than 1000 steps/],
  'a pattern bomb as a name': [
    { patternProperties: { '((a{0,99}){0,99}){0,99}': true } },
    /more than 1000 steps/,
  ],
  'a pattern that looks back': [{ pattern: '(a*)\\1' }, /backreferences/],
}

test('refuses schemas with unbounded cost, within 500 ms and with a reason', () => {
  for (const [what, [schema, reason]] of Object.entries(REFUSED)) {
    const begun = performance.now()
    assert.throws(
      () => new Schema(schema, 'payloadSchema'),
      (error) =>
        error instanceof SchemaError && error.path.startsWith('/payloadSchema') && reason.test(error.message),
      what,
    )
    assert.ok(performance.now() - begun < 500, what)
  }
})

test('refuses a definition of more than 65,536 bytes', () => {
  const payloadSchema = { description: 'x'.repeat(1_000_000) }
  assert.throws(() => canonicalDefinition({ name: 'a', version: 1, payloadSchema }), /at most 65536/)
})

const list = (item: (i: number) => JsonValue): JsonValue[] => {
  const items: JsonValue[] = []
  for (let bytes = 200; ; ) {
    const one = item(items.length)
    bytes += canonicalize(one).length + 1
    if (bytes > DOCUMENT_BYTES_MAX) return items
    items.push(one)
  }
}
const noise = times(60_000, (i) => ((i * 7_919) % 13 < 6 ? 'a' : 'b')).join('')

/** Accepted schemas, with the worst document for each. */
const COSTLY: Record<string, [schema: JsonValue, document: JsonValue]> = {
  'exponential allOf': [
    { $defs: tower(8, 'allOf'), properties: { list: { items: { $ref: '#/$defs/n0' } } } },
    { list: list(() => 1) },
  ],
  'exponential anyOf': [
    { $defs: tower(8, 'anyOf', 3, false), properties: { list: { items: { $ref: '#/$defs/n0' } } } },
    { list: list(() => 1) },
  ],
  'exponential oneOf': [
    { $defs: tower(8, 'oneOf', 4), properties: { list: { items: { $ref: '#/$defs/n0' } } } },
    { list: list(() => 1) },
  ],
  'recursion on the way in, twice each time': [
    {
      $defs: { a: { allOf: times(8, () => ({ additionalProperties: { $ref: '#/$defs/a' } })) } },
      $ref: '#/$defs/a',
    },
    nested(JSON_DEPTH_MAX - 2, (inner) => ({ a: inner })),
  ],
  'as deep as both go': [
    nested(13, (inner) => ({ not: inner }), { not: { items: { $ref: '#' } } }),
    nested(JSON_DEPTH_MAX - 2, (inner) => [inner]),
  ],
  'uniqueItems on 30,000 numbers': [
    { properties: { list: { uniqueItems: true } } },
    { list: list((i) => i % 1e9) },
  ],
  'uniqueItems on objects': [{ properties: { list: { uniqueItems: true } } }, { list: list((i) => ({ i })) }],
  'uniqueItems at every depth': [
    {
      $defs: { a: { uniqueItems: true, items: { $ref: '#/$defs/a' } } },
      additionalProperties: { $ref: '#/$defs/a' },
    },
    {
      list: nested(
        JSON_DEPTH_MAX - 4,
        (inner) => [inner],
        list((i) => i),
      ),
    },
  ],
  'an enum of structures at every depth': [
    {
      $defs: { a: { anyOf: [{ enum: [[1], { a: 1 }] }, { items: { $ref: '#/$defs/a' } }] } },
      additionalProperties: { $ref: '#/$defs/a' },
    },
    {
      list: nested(
        JSON_DEPTH_MAX - 4,
        (inner) => [inner],
        list(() => 1),
      ),
    },
  ],
  'contains on every item, many times': [
    {
      properties: {
        list: { allOf: times(200, () => ({ contains: { type: 'integer' }, maxContains: 99_999 })) },
      },
    },
    { list: list(() => 1) },
  ],
  'unevaluatedProperties around many that evaluate': [
    {
      allOf: times(100, () => ({ additionalProperties: true })),
      anyOf: times(100, () => ({ additionalProperties: true })),
      unevaluatedProperties: false,
    },
    named(5_000, () => 1),
  ],
  'unevaluatedItems inside each other': [
    {
      properties: {
        list: nested(6, (inner) => ({ anyOf: [inner, inner], unevaluatedItems: false }), { items: true }),
      },
    },
    { list: list(() => 1) },
  ],
  'sixty patterns for every name': [
    { patternProperties: Object.fromEntries(times(40, (i) => [`([a-z0-9]{1,9}){1,${i + 1}}x`, true])) },
    named(5_000, () => 1),
  ],
  'a pattern that backtracks': [
    { properties: { text: { pattern: '^(a+)+$' } } },
    { text: `${'a'.repeat(60_000)}!` },
  ],
  'a pattern with many ways': [
    { properties: { text: { pattern: '[ab]*a[ab]{400}[^ab][^ab]' } } },
    { text: noise },
  ],
  'a pattern of classes beyond ASCII': [
    { properties: { text: { pattern: '(\\p{L}|\\p{N}|\\p{P}|\\p{S}|[^a]){60}$' } } },
    { text: 'é'.repeat(16_000) },
  ],
  'required names by the thousand': [
    { properties: { list: { items: { not: { required: times(900, (i) => `n${i}`) } } } } },
    { ...named(900, () => 1), list: list(() => ({})).slice(0, 15_000) },
  ],
  'multiples with six hundred digits': [
    { properties: { list: { items: { multipleOf: 1e-300 } } } },
    { list: list(() => 1.5e300) },
  ],
  'formats of long texts': [
    { properties: { text: { allOf: times(300, () => ({ format: 'uri' })) } } },
    { text: `http://a/${'a'.repeat(60_000)}` },
  ],
  'lengths of long texts': [
    { properties: { text: { allOf: times(300, () => ({ minLength: 1 })) } } },
    { text: 'a'.repeat(60_000) },
  ],
}

test('no accepted schema blocks the event loop, whatever document it validates', {
  timeout: 60_000,
}, async (t) => {
  for (const [what, [schema, document]] of Object.entries(COSTLY)) {
    await t.test(what, () => {
      const compiled = new Schema(schema, 'payloadSchema')
      const compileMs = meanSliceMs(() => new Schema(schema, 'payloadSchema'))
      const bytes = Buffer.byteLength(canonicalize(document))
      assert.ok(bytes <= DOCUMENT_BYTES_MAX, `${bytes} bytes`)
      const validateMs = meanSliceMs(() => compiled.validate(document, bytes))
      assert.ok(compileMs < SLICE_MS_MAX, `compiling took ${compileMs.toFixed(1)} ms`)
      assert.ok(validateMs < SLICE_MS_MAX, `validating took ${validateMs.toFixed(1)} ms`)
    })
  }
})

const LARGE: Record<string, JsonValue> = {
  'as many subschemas as are taken': { properties: named(990, () => ({ type: 'string' })) },
  'as many patterns as are taken': {
    patternProperties: Object.fromEntries(
      times(60, (i) => [`[\\p{L}\\P{Lu}\\p{N}\\P{Nd}]{${i}}(?:[^a-z]?){400}`, true]),
    ),
  },
  'classes of many properties': {
    patternProperties: Object.fromEntries(
      times(60, (i) => [`[${'\\p{L}\\P{Lu}\\p{Script=Greek}'.repeat(8)}]{${i}}`, true]),
    ),
  },
  'a chain of references as long as can be': {
    $defs: named(400, (i) => ({ properties: { a: { $ref: `#/$defs/n${Math.min(399, i + 1)}` } } })),
    $ref: '#/$defs/n0',
  },
  'many subschemas below a long name': {
    properties: { ['n'.repeat(980)]: { properties: named(990, () => true) } },
  },
  'many references to a place with a long name': {
    $defs: { ['n'.repeat(1_000)]: { $anchor: 'a' } },
    properties: named(990, () => ({ $ref: '#a' })),
  },
  'enums as large as are taken': { properties: named(60, (j) => ({ enum: times(900, (i) => i * j) })) },
}

test('compiling an accepted definition never blocks the event loop', async (t) => {
  for (const [what, schema] of Object.entries(LARGE)) {
    await t.test(what, () => {
      const ms = meanSliceMs(() => new Schema(schema, 'payloadSchema'))
      assert.ok(ms < SLICE_MS_MAX, `it took ${ms.toFixed(1)} ms`)
    })
  }
})
