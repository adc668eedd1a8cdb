import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { cutJson } from '../../../src/load/threads/cut-json.ts'
import { ProofError } from '../../../src/proof/error.ts'
import { parseJsonText } from '../../../src/proof/json/json-text.ts'
import type { JsonObject, JsonValue } from '../../../src/proof/json/json-value.ts'

const ANY = { depthMax: 1_000, tokensInPieceMax: Number.MAX_SAFE_INTEGER }

function join(text: string): JsonObject {
  const members = new Map<string, JsonValue>()
  for (const { name: nameText, text: piece, isElements } of cutJson(text, ANY)) {
    const name = JSON.parse(nameText) as string
    const before = (members.get(name) ?? []) as JsonValue[]
    members.set(name, isElements ? [...before, ...JSON.parse(`[${piece}]`)] : JSON.parse(piece))
  }
  return Object.fromEntries(members)
}

test('the pieces of an object join to the same object, with any whitespace', () => {
  const objects = fc.dictionary(fc.string(), fc.jsonValue())
  fc.assert(
    fc.property(objects, fc.constantFrom(0, 1, '\n\t '), (object, space) => {
      const text = JSON.stringify(object, null, space)
      assert.deepEqual(join(text), parseJsonText(text))
    }),
  )
  for (const text of [
    '{}',
    ' {\t} ',
    '{"a":[]}',
    '{"a" : [ ] , "b":[[],{}]}',
    '{"__proto__":[1],"a\\"":"],}"}',
  ])
    assert.deepEqual(join(text), parseJsonText(text))
})

test('cuts a long list into many pieces, and never throws on text that is not JSON', () => {
  const records = Array.from({ length: 40_000 }, (_, i) => ({ i, list: [i] }))
  const text = JSON.stringify({ before: 1, records, after: [2] })
  assert.ok(cutJson(text, ANY).length > 10)
  assert.deepEqual(join(text), JSON.parse(text))
  fc.assert(fc.property(fc.string(), (any) => void cutJson(any, ANY)))
  for (const broken of ['{"a":[', '{"a":[1,', '{"a', '{"a":"', '["a":[[', '{"a":]}]}'])
    assert.ok(cutJson(broken, ANY).length < 10)
})

test('refuses too many tokens in a piece, and too many members, with json_too_costly', () => {
  const refuses = (text: string, tokens: number) => {
    cutJson(text, { ...ANY, tokensInPieceMax: tokens })
    assert.throws(
      () => cutJson(text, { ...ANY, tokensInPieceMax: tokens - 1 }),
      (error) => error instanceof ProofError && error.code === 'json_too_costly',
    )
  }
  refuses('{"a":[1,{"b":[1,2]},3]}', 5)
  refuses('{"a":{"b":1,"c":2}}', 5)
  refuses('{"a":{"\\u0062":"\\u0062","c":2}}', 7)
  const members = (n: number) =>
    JSON.stringify(Object.fromEntries(Array.from({ length: n }, (_, i) => [`m${i}`, 1])))
  assert.equal(cutJson(members(64), ANY).length, 64)
  assert.throws(() => cutJson(members(65), ANY), ProofError)
})
