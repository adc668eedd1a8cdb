import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { Schema } from '../../../../src/ledgers/types/schema/schema.ts'
import type { JsonValue } from '../../../../src/proof/json/json-value.ts'

type Group = {
  file: string
  group: string
  schema: JsonValue
  tests: { test: string; data: JsonValue; valid: boolean }[]
}

/**
 * Groups of the JSON Schema Test Suite whose schemas can be registered. Excluded: `$id`, `$dynamicRef`, references to
 * other documents, unsupported keywords, formats as annotations, IDNA hostnames.
 */
const { groups } = JSON.parse(
  readFileSync(new URL('../../../vectors/json-schema-2020-12.json', import.meta.url), 'utf8'),
) as { groups: Group[] }

test('agrees with the JSON Schema Test Suite', () => {
  let agreed = 0
  for (const { file, group, schema, tests } of groups) {
    const compiled = new Schema(schema, 'payloadSchema')
    for (const { test: name, data, valid } of tests) {
      const { outcome } = compiled.validate(data, JSON.stringify(data).length)
      assert.equal(outcome, valid ? 'valid' : 'invalid', `${file}: ${group}: ${name}`)
      agreed++
    }
  }
  assert.ok(agreed >= 1_400, `only ${agreed} cases`)
})
