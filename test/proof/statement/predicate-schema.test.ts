import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Ajv2020 } from 'ajv/dist/2020.js'
import fc from 'fast-check'
import type { JsonObject, JsonValue } from '../../../src/proof/json/json-value.ts'
import { schemaOf } from '../../../src/proof/statement/check-schemas.ts'
import { isTime, refuseFields } from '../../../src/proof/statement/fields.ts'
import { ENTRY_KINDS, type EntryKind, predicateTypeOf } from '../../../src/proof/statement/kinds.ts'
import { predicateSchemaOf } from '../../../src/proof/statement/predicate-schema.ts'
import { runs } from '../../helpers/runs.ts'
import { SAMPLES, TIME } from '../samples.ts'

const KINDS = Object.keys(ENTRY_KINDS) as EntryKind[]
const ajv = new Ajv2020({ strict: true, strictRequired: true, allErrors: false })

/**
 * Matches members with rules that JSON Schema cannot express, so that only their descriptions state them. Examples: the
 * day of a date exists, the order of scopes, the bytes of keys.
 */
const SAID_IN_WORDS =
  /^(recordedAt|occurredAt|deadline|validUntil|expiresAt|scopes|newKey|definition|signal)$/

const takes = (kind: EntryKind, value: JsonValue): boolean => {
  try {
    refuseFields(value, ENTRY_KINDS[kind].fields, 'statement_predicate')
    return true
  } catch {
    return false
  }
}

describe('the JSON Schema of the predicate of', () => {
  for (const kind of KINDS) {
    test(kind, () => {
      const schema = predicateSchemaOf(kind)
      assert.equal(schema['$id'], predicateTypeOf(kind))
      const validate = ajv.compile(schema)
      const { predicate } = SAMPLES[kind]
      assert.ok(validate(predicate), JSON.stringify(validate.errors))

      fc.assert(
        fc.property(changed(predicate), ({ name, value }) => {
          const code = takes(kind, value)
          const schema = validate(value)
          assert.ok(schema || !code, `code alone takes ${JSON.stringify(value)}`)
          if (!SAID_IN_WORDS.test(name)) assert.equal(schema, code, JSON.stringify(value))
        }),
        { numRuns: runs(300) },
      )
    })
  }
})

test('the JSON Schema of a time accepts a day that its month lacks; isTime refuses this day', () => {
  const validate = ajv.compile(schemaOf(isTime))
  for (const [time, code, schema] of [
    [TIME, true, true],
    ['2026-02-30T00:00:00.000Z', false, true],
    ['2026-13-01T00:00:00.000Z', false, false],
    ['2026-11-20T12:00:00Z', false, false],
  ] as const) {
    assert.deepEqual([isTime(time), validate(time)], [code, schema], time)
  }
})

test('schemaOf throws for a check without a described schema', () => {
  assert.throws(() => schemaOf(() => true), /has no schema/)
})

/** Returns the predicate with one member removed, added or replaced, and the member's name. */
function changed(predicate: JsonObject): fc.Arbitrary<{ name: string; value: JsonObject }> {
  const names = [...Object.keys(predicate), 'constructor', 'more', 'onBehalfOf', 'traceparent', 'occurredAt']
  return fc.tuple(fc.constantFrom(...names), replacement(predicate)).map(([name, value]) => {
    const { [name]: _, ...others } = predicate
    return { name, value: value === undefined ? others : { ...others, [name]: value } }
  })
}

function replacement(predicate: JsonObject): fc.Arbitrary<JsonValue | undefined> {
  const strings = Object.values(predicate).filter((value) => typeof value === 'string')
  const near = fc
    .tuple(fc.constantFrom(...strings), fc.nat(), fc.string({ maxLength: 2 }))
    .map(([text, at, put]) => {
      const place = at % (text.length + 1)
      return text.slice(0, place) + put + text.slice(place + 1)
    })
  return fc.oneof(
    fc.constant(undefined),
    near,
    fc.constantFrom<JsonValue>(...strings, ...Object.values(predicate)),
    fc.integer({ min: -2, max: 3_000 }),
    fc.constantFrom<JsonValue>(null, true, 1.5, 2 ** 53, [], {}, ['a'], ['a:b'], { a: 1 }, ''),
  )
}
