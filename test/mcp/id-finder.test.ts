import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { IdFinder } from '../../src/mcp/id-finder.ts'
import { runs } from '../helpers/runs.ts'

function found(text: string, cuts: readonly number[] = []) {
  const bytes = Buffer.from(text)
  const finder = new IdFinder()
  const places = [...new Set([0, ...cuts.map((each) => each % (bytes.length + 1)), bytes.length])].sort(
    (a, b) => a - b,
  )
  for (const [i, to] of places.slice(1).entries()) finder.push(bytes.subarray(places[i]!, to))
  return { id: finder.id, isRequest: finder.isRequest }
}

const id = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 20 }),
  fc.integer(),
  fc.constantFrom(null, {}, [1], true),
)
const other = fc.tuple(
  fc.string({ unit: 'binary', maxLength: 4 }).filter((name) => name !== 'id' && name !== 'method'),
  fc.jsonValue(),
)
const named = fc.tuple(
  fc.constantFrom('params', 'result'),
  fc.record({ id, method: fc.constant('x'), more: fc.jsonValue() }),
)

test('finds the same id as JSON.parse, in any chunks, and ignores ids of inner objects', () => {
  const members = fc.array(
    fc.oneof(
      other,
      named,
      fc.tuple(fc.constant('id'), id),
      fc.tuple(fc.constant('method'), fc.constant('ping')),
    ),
  )
  const property = fc.property(members, fc.boolean(), fc.array(fc.nat(500)), (all, isSpaced, cuts) => {
    const value = Object.fromEntries(all)
    const text = JSON.stringify(value, null, isSpaced ? 2 : 0)
    const isId = typeof value['id'] === 'string' || typeof value['id'] === 'number'
    assert.deepEqual(found(text, cuts), { id: isId ? value['id'] : null, isRequest: 'method' in value })
  })
  fc.assert(property, { numRuns: runs(1_000) })
})

test('ignores an id that is too long, and finds an id after a long name', () => {
  assert.deepEqual(found(`{"id":"${'a'.repeat(100_000)}","method":"x"}`), { id: null, isRequest: true })
  assert.deepEqual(found(`{"${'a'.repeat(100_000)}":1,"id":"b"}`), { id: 'b', isRequest: false })
})

test('finds no id in bytes that are not a message', () => {
  for (const text of [
    '',
    '[{"id":1}]',
    '"id"',
    '{"id"',
    '{"id":',
    '}{"id":1',
    'no JSON',
    '{"id":tru}',
    '\ufeff[1,"id"]',
  ])
    assert.equal(found(text).id, null, text)
})
