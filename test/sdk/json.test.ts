import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { toJson } from '../../sdk/json.ts'
import { parseJsonText } from '../../src/proof/json/json-text.ts'
import { JSON_DEPTH_MAX } from '../../src/proof/request-limits.ts'
import { runs } from '../helpers/runs.ts'

test('JSON values are written like JSON.stringify does, and parse in the server unchanged', () => {
  const json = fc.jsonValue({ noUnicodeString: false, maxDepth: 4 })
  fc.assert(
    fc.property(json, (value) => {
      const expected = JSON.stringify(value)
      if (expected.includes('\\u0000')) return
      const text = toJson(value)
      assert.equal(text, expected)
      assert.deepEqual(parseJsonText(text), JSON.parse(expected))
    }),
    { numRuns: runs(50) },
  )
})

test('undefined members are omitted, and toJSON is applied', () => {
  class Order {
    readonly id = 7
  }
  const value = {
    a: undefined,
    at: new Date(0),
    own: { toJSON: () => [1] },
    order: new Order(),
    bare: Object.create(null),
  }
  assert.equal(toJson(value), '{"at":"1970-01-01T00:00:00.000Z","own":[1],"order":{"id":7},"bare":{}}')
  assert.equal(toJson(value), JSON.stringify(value))
})

test('values that JSON.stringify would change are refused with their path', () => {
  const hidden = new (class {
    readonly #secret = 1
    read() {
      return this.#secret
    }
  })()
  const cases: [unknown, string][] = [
    [{ a: [{ b: Number.NaN }] }, '/a/0/b is NaN, which JSON cannot represent'],
    [{ a: Number.NEGATIVE_INFINITY }, '/a is -Infinity'],
    [{ a: 1n }, '/a is a bigint, which JSON does not have'],
    [{ a: () => 1 }, '/a is a function'],
    [{ a: Symbol('x') }, '/a is a symbol'],
    [[1, undefined], '/1 is undefined'],
    [new Array(2), '/0 is undefined'],
    [undefined, 'the value is undefined'],
    [{ 'a/b': { '~c': Number.NaN } }, '/a~1b/~0c is NaN'],
    [{ a: new Date(Number.NaN) }, '/a is an invalid Date'],
    [{ a: new Map([[1, 2]]) }, '/a is of class Map, which has no content in JSON'],
    [{ a: new Set([1]) }, '/a is of class Set'],
    [{ a: Object.assign(new Error('lost'), { code: 'E' }) }, '/a is of class Error'],
    [{ a: Promise.resolve(1) }, '/a is of class Promise'],
    [{ a: hidden }, 'has no content in JSON'],
    [{ a: 'half \ud83d' }, '/a contains half of a surrogate pair'],
    [{ 'half \udc00': 1 }, '/half ⟨U+DC00⟩ contains half'],
    [{ a: ['\0'] }, '/a/0 contains U+0000'],
    [{ a: { toJSON: () => Number.NaN } }, '/a is NaN'],
    [{ a: { toJSON: () => '\ud800' } }, '/a contains half'],
  ]
  for (const [value, message] of cases)
    assert.throws(
      () => toJson(value),
      (error: Error) => error.name === 'UsageError' && error.message.includes(message),
      message,
    )
  assert.throws(() => toJson(Number.NaN, '/payload'), /^UsageError: \/payload is NaN/)
})

test('a backslash before a u is not an escape', () => {
  assert.equal(toJson({ path: 'C:\\users\\u0000' }), '{"path":"C:\\\\users\\\\u0000"}')
  assert.equal(toJson('\u001f😀'), '"\\u001f😀"')
})

test('nesting above JSON_DEPTH_MAX and circular values are refused', () => {
  const nest = (depth: number): unknown =>
    depth === 0 ? 1 : depth % 2 === 0 ? [nest(depth - 1)] : { a: nest(depth - 1) }
  toJson(nest(JSON_DEPTH_MAX))
  assert.throws(() => toJson(nest(JSON_DEPTH_MAX + 1)), /is nested too deep, or contains itself/)
  const loop: { self?: unknown } = {}
  loop.self = loop
  assert.throws(() => toJson(loop), /contains itself/)
})
