import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import { runInNewContext } from 'node:vm'
import canonicalize from 'canonicalize'
import fc from 'fast-check'
import { type ContentDigest, contentOf, errorOf } from '../../sdk/actions/content.ts'
import { formOf } from '../../sdk/actions/content-form.ts'
import { matchesDigest } from '../../sdk/actions/index.ts'
import { runs } from '../helpers/runs.ts'
import { Declared, untag } from '../helpers/untag.ts'

type Vector = { name: string; languages: string[]; form: unknown; digest: { of: string; sha256: string } }
type Unformed = { name: string; languages: string[]; why: string }

const VECTORS = new URL('../vectors/content-digests.json', import.meta.url)
const vectors = JSON.parse(readFileSync(VECTORS, 'utf8')) as { cases: Vector[]; none: Unformed[] }

const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')
const digestOf = (value: unknown) =>
  contentOf('result', value, { include: false, sha256 })['resultDigest'] as ContentDigest
const isOurs = ({ languages }: { languages: string[] }) => languages.includes('typescript')

test('digests equal those of the vectors, which the Python package checks too', () => {
  for (const { name, form, digest } of vectors.cases.filter(isOurs)) {
    const value = untag(form)
    assert.deepEqual(digestOf(value), digest, name)
    assert.ok(matchesDigest(value, digest), name)
  }
})

test('a value without a canonical form has a reason instead of a digest', () => {
  const itself: unknown[] = []
  itself.push(itself)
  let deep: unknown = 1
  for (let i = 0; i < 128; i++) deep = [deep]
  assert.notEqual(digestOf(deep).of, 'none')
  deep = [deep]
  const unreadable = {
    get a() {
      throw new TypeError('gone')
    },
  }
  const values: Readonly<Record<string, unknown>> = {
    'itself in a list': itself,
    'a function': () => 1,
    'an instance of a class': new (class Box {
      readonly #hidden = 1
      readonly shown = 2
      both() {
        return this.#hidden + this.shown
      }
    })(),
    'an error': new RangeError('x'),
    '129 lists in each other': deep,
    'a list of 4 MiB': Array(4).fill('x'.repeat(2 ** 20)),
    'an integer of 4301 digits': 10n ** 4300n,
    'an object that cannot be read': unreadable,
  }
  for (const { name, why } of vectors.none.filter(isOurs)) {
    for (const value of [values[name], { in: [values[name]] }])
      for (const include of [false, true])
        assert.deepEqual(
          contentOf('result', value, { include, sha256 }),
          { resultDigest: { of: 'none', why } },
          name,
        )
    assert.equal(matchesDigest(values[name], { of: 'none', why }), false)
  }
})

test('an object whose form would omit a part has no digest', () => {
  const symbol = Symbol('hidden')
  const throwing = new Proxy({}, { ownKeys: () => assert.fail('no names') })
  const calledLike = (name: string) =>
    new (class {
      readonly #hidden = 0
      get [Symbol.toStringTag]() {
        return name
      }
      get length() {
        return this.#hidden
      }
    })()
  const transferred = new ArrayBuffer(8)
  structuredClone(transferred, { transfer: [transferred] })
  const hidden = [
    [Symbol('a'), 'no-form'],
    [/a/g, 'no-form'],
    ['abc'.match(/b/), 'no-form'],
    [{ [symbol]: 1 }, 'no-form'],
    [Object.assign([1], { [symbol]: 1 }), 'no-form'],
    [Object.assign(new Map(), { extra: 1 }), 'no-form'],
    [new (class Cache extends Map {})(), 'no-form'],
    [new (class Rows extends Array {})(), 'no-form'],
    [new (class Chunk extends Uint8Array {})(1), 'no-form'],
    [Object.create({ inherited: 1 }), 'no-form'],
    [calledLike('Array'), 'no-form'],
    [calledLike('DataView'), 'no-form'],
    [calledLike('ArrayBuffer'), 'unreadable'],
    [calledLike('SharedArrayBuffer'), 'unreadable'],
    [calledLike('Date'), 'unreadable'],
    [calledLike('Map'), 'unreadable'],
    [transferred, 'unreadable'],
    [Object(1n), 'no-form'],
    [new Number(1), 'no-form'],
    [new WeakMap(), 'no-form'],
    [Promise.resolve(1), 'no-form'],
    [(function* () {})(), 'no-form'],
    [new Blob(['a']), 'no-form'],
    [Math, 'no-form'],
    [new Proxy(new Map([[1, 2]]), {}), 'unreadable'],
    [throwing, 'unreadable'],
    [{ toJSON: () => assert.fail('none') }, 'unreadable'],
    [Array(2 ** 32 - 1), 'too-large'],
    ['x'.repeat(2 ** 26 + 1), 'too-large'],
  ] as const
  for (const [value, why] of hidden) assert.deepEqual(digestOf(value), { of: 'none', why })
})

test('objects that are equal in JavaScript have the same digest', () => {
  const other = (code: string) => runInNewContext(code) as unknown
  const same = [
    [{ a: 1 }, { b: undefined, a: 1 }, Object.assign(Object.create(null), { a: 1 }), other('({ a: 1 })')],
    [new Map([[1, { a: 2 }]]), other('new Map([[1, { a: 2 }]])')],
    [Buffer.from('abc'), new TextEncoder().encode('abc'), new TextEncoder().encode('abc').buffer],
    [new Set([1, 2]), new Set([2, 1])],
    [new Date(5), other('new Date(5)')],
  ]
  for (const values of same)
    assert.equal(new Set(values.map((each) => JSON.stringify(digestOf(each)))).size, 1)
})

test('every part of a value is read only once', () => {
  const read: unknown[] = []
  const value = new Proxy({ b: [1], a: { c: 2 } } as Record<string, unknown>, {
    get(target, name, receiver) {
      read.push(name)
      return Reflect.get(target, name, receiver)
    },
  })
  assert.deepEqual(contentOf('result', value, { include: true, sha256 }), { result: { a: { c: 2 }, b: [1] } })
  assert.deepEqual(
    read.filter((name) => typeof name === 'string'),
    ['a', 'b'],
  )
})

test('with content on, the record has the value with its types', () => {
  const row = { id: 2n, at: new Date(0), tags: new Set(['a']), note: undefined }
  const kept = contentOf('result', row, { include: true, sha256 })['result']
  assert.deepEqual(untag(kept), { id: 2n, at: new Date(0), tags: new Set(['a']) })
  assert.deepEqual(Object.keys(contentOf('result', ['a\0'], { include: true, sha256 })), ['resultDigest'])
})

test('an error is recorded as its class with the digest of its text or, with content on, the text', () => {
  const text = Buffer.from('password=hunter2')
  const errorDigest = { sha256: sha256(text), of: 'bytes', length: 16 }
  const thrown = (error: unknown, include = false) => errorOf(error, { include, sha256 })
  assert.deepEqual(thrown(new RangeError(`${text}`)), { errorType: 'RangeError', errorDigest })
  assert.deepEqual(thrown(`${text}`), { errorDigest })
  assert.deepEqual(thrown(new RangeError(`${text}`), true), { errorType: 'RangeError', error: `${text}` })
  assert.deepEqual(thrown(Object.assign(new Error(''), { name: `${text} in a name` })), {})
  const long = thrown('x'.repeat(5_000), true)
  assert.deepEqual([long.error!.length, long.errorDigest!.of], [4_096, 'bytes'])
  assert.notDeepEqual(thrown({ code: 1 }).errorDigest, thrown({ code: 2 }).errorDigest)
  assert.equal(thrown(undefined).errorDigest?.of, 'tagged-jcs')
  const gone = Object.defineProperty(new Error(), 'message', { get: () => assert.fail('gone') })
  assert.deepEqual(thrown(gone), { errorDigest: { of: 'none', why: 'unreadable' } })
})

/** Generates values with few different leaves, so that two values are often equal or differ only in a type. */
const { value: anything } = fc.letrec((tie) => {
  const leaf = fc.constantFrom<unknown>(
    ...[null, undefined, true, 0, -0, 1, Number.NaN, 1n, '', '0', '1', 'null', '\ud800', '\udfff', '\ufffd'],
    ...[new Date(0), '1970-01-01T00:00:00.000Z', Buffer.from('1'), 'MQ==', new URL('http://a/'), 'http://a/'],
  )
  const list = fc.array(tie('value'), { maxLength: 3 })
  const pairs = fc.array(fc.tuple(tie('value'), tie('value')), { maxLength: 2 })
  const name = fc.constantFrom('a', 'b', '', '$is', 'value', '\ud800', '__proto__', '1')
  const tag = fc.record({ $is: fc.constantFrom('integer', 'object', 'set', 'hole'), value: tie('value') })
  return {
    value: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      leaf,
      list,
      list.map((values) => new Set(values)),
      pairs.map((each) => new Map(each)),
      pairs.map((each) => each),
      fc.dictionary(name, tie('value'), { maxKeys: 3 }),
      tag,
      list.map((values) => Object.assign(Array(values.length + 1), values)),
      fc.array(fc.constantFrom(0, 1), { maxLength: 2 }).map((numbers) => new Float32Array(numbers)),
    ),
  }
})

test('a form converts back to its value', () => {
  fc.assert(
    fc.property(anything, (value) => {
      const form = formOf(value)
      assert.ok(typeof form !== 'string')
      assert.ok(isDeepStrictEqual(plain(untag(JSON.parse(form.text))), plain(value)), form.text)
      if (form.of === 'jcs') assert.equal(form.text, canonicalize(value))
      assert.equal(form.of, form.text.includes('"$is":') ? 'tagged-jcs' : 'jcs')
    }),
    { numRuns: runs(2_000) },
  )
})

test('two values have the same digest if and only if they are equal', () => {
  fc.assert(
    fc.property(anything, anything, (a, b) => {
      const [ofA, ofB] = [digestOf([a]), digestOf([b])]
      assert.equal(isDeepStrictEqual(ofA, ofB), isDeepStrictEqual(plain(a), plain(b)))
    }),
    { numRuns: runs(5_000) },
  )
  assert.notDeepEqual(digestOf(new Declared('a')), digestOf('a'))
})

const URL_TEXT = Symbol('url')

/** Normalizes a value, so that node:util can compare it: no undefined members, one class of bytes, URLs as texts. */
function plain(value: unknown): unknown {
  if (value instanceof Map) return new Map(Array.from(value, ([key, member]) => [plain(key), plain(member)]))
  if (value instanceof Set) return new Set(Array.from(value, plain))
  if (value instanceof Uint8Array) return Buffer.from(value)
  if (value instanceof URL) return { [URL_TEXT]: value.href }
  if (Array.isArray(value)) {
    const array = value.map(plain)
    array.length = value.length
    return array
  }
  if (Object.prototype.toString.call(value) !== '[object Object]') return value
  const members = Object.entries(value as object).filter(([, member]) => member !== undefined)
  return Object.fromEntries(members.map(([name, member]) => [name, plain(member)]))
}
