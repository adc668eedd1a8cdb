import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { test } from 'node:test'
import { z } from 'zod'
import { whatOf } from '../../../cli/event-text.ts'
import type { LedgerEvent } from '../../../sdk/generated/api.ts'
import { webhookEvent } from '../../../src/http/schemas/events.ts'
import { EVENT_TYPES, NOTICE_TYPES } from '../../../src/outside/events/event-types.ts'

const PAGE = join(resolve(import.meta.dirname, '..', '..', '..'), 'docs', 'guides', 'webhooks.md')
const TYPES = [...EVENT_TYPES, ...NOTICE_TYPES]

test('docs/guides/webhooks.md lists exactly the events that exist', () => {
  const [, list] = /^## Events$([\s\S]*?)^(?=```|## )/m.exec(readFileSync(PAGE, 'utf8'))!
  const rows = list!.split('\n').flatMap((line) => /^\| (`[^|]*)\|/.exec(line)?.[1] ?? [])
  const named = rows.flatMap((row) => [...row.matchAll(/`([^`]+)`/g)].map(([, name]) => name!))
  assert.deepEqual(named.toSorted(), TYPES.toSorted())
})

test('every event has exactly one variant of a webhook’s body', () => {
  const named = webhookEvent.options.flatMap(({ shape }) => [...shape.type.values])
  assert.deepEqual(named.toSorted(), TYPES.toSorted())
})

for (const type of TYPES)
  test(`${type} has a text on the command line, with all of its data and with the least`, () => {
    const { shape } = webhookEvent.options.find((variant) => variant.shape.type.values.has(type))!
    for (const isLeast of [false, true]) {
      const data = sampleOf(z.toJSONSchema(shape.data), isLeast)
      const text = whatOf({ type, data } as LedgerEvent)
      assert.doesNotMatch(text, /undefined|null|NaN|\[object/)
      if (EVENT_TYPES.some((name) => name === type)) assert.notEqual(text, '')
    }
  })

test('an unknown event is shown by its record, or as an empty text', () => {
  const textOf = (data: unknown) => whatOf({ type: 'record.praised', data } as unknown as LedgerEvent)
  const record = { id: 'rec_1', type: 'generic/1', state: null, version: null }
  assert.deepEqual([{ record }, { record: null }, {}, null].map(textOf), ['rec_1 generic/1', '', '', ''])
})

type Schema = z.core.JSONSchema.BaseSchema

/** Makes a value of the schema. If `isLeast` is true, members are null or absent wherever the schema allows it. */
function sampleOf(schema: Schema, isLeast: boolean, named = schema.$defs ?? {}): unknown {
  const { $ref, type, anyOf, properties = {}, required = [] } = schema
  const part = (of: unknown) => sampleOf(of as Schema, isLeast, named)
  if ($ref !== undefined) return part(named[$ref.replace('#/$defs/', '')])
  if (schema.const !== undefined) return schema.const
  if (schema.enum) return schema.enum[0]
  if (anyOf) return part(anyOf.at(isLeast ? -1 : 0))
  if (type === 'object') {
    const names = isLeast ? required : Object.keys(properties)
    return Object.fromEntries(names.map((name) => [name, part(properties[name])]))
  }
  if (type === 'array') return []
  return { null: null, boolean: false, integer: 1, number: 1, string: 'text' }[type as string]
}
