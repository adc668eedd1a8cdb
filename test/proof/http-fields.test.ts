import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  acceptWeightOf,
  cacheDirectivesOf,
  contentCodingsOf,
  entityTagsOf,
  type FieldValue,
  httpDateMsOf,
  listOf,
  mediaTypeOf,
  noneMatchHits,
  RETRY_AFTER_MS_MAX,
  retryAfterMsOf,
} from '../../src/proof/http-fields.ts'

const NOW = Date.parse('2026-08-01T12:00:00Z')

test('list elements may stand on one line or several; empty elements are dropped (RFC 9110 §5.6.1)', () => {
  const cases: [FieldValue, string[]][] = [
    [undefined, []],
    [null, []],
    ['', []],
    [' , ,\t', []],
    ['a,b ,\tc', ['a', 'b', 'c']],
    [
      ['a, b', 'c'],
      ['a', 'b', 'c'],
    ],
    ['a="x,y", b', ['a="x,y"', 'b']],
    [String.raw`a="x\",y", b`, [String.raw`a="x\",y"`, 'b']],
    ['a="x', ['a="x']],
  ]
  for (const [value, elements] of cases) assert.deepEqual(listOf(value), elements, String(value))
})

test('Accept gives a media type the weight of its most specific range (RFC 9110 §12.5.1)', () => {
  const cases: [FieldValue, number][] = [
    [undefined, 1],
    ['', 1],
    ['application/json', 1],
    ['Application/JSON', 1],
    [['text/html', 'application/json;q=0.25'], 0.25],
    ['*/*', 1],
    ['*/*;q=0.1, application/*;q=0.2', 0.2],
    ['application/json;q=0, */*', 0],
    ['application/*;q=0, */*', 0],
    ['application/json; charset=utf-8 ; Q=0.5', 0.5],
    ['application/json;q=0;ext=1', 0],
    ['application/json;q=nonsense', 1],
    ['application/json;q=1.000, application/json;q=0.2', 1],
    ['text/event-stream, text/*', 0],
    ['application/json-seq', 0],
    ['application', 0],
  ]
  for (const [value, weight] of cases)
    assert.equal(acceptWeightOf(value, 'application/json'), weight, String(value))
})

test('media types are compared without case and parameters (RFC 9110 §8.3.1)', () => {
  for (const value of ['application/json', 'Application/JSON; charset=utf-8', ' application/json ;x="a;b"'])
    assert.equal(mediaTypeOf(value), 'application/json', value)
  for (const value of ['application/jsonp', 'application/json-seq', 'application/json, text/html'])
    assert.notEqual(mediaTypeOf(value), 'application/json', value)
  for (const value of [null, undefined, '', ';charset=utf-8']) assert.equal(mediaTypeOf(value), '')
})

test('Cache-Control directives are found without case, among other directives (RFC 9111 §5.2)', () => {
  for (const value of [
    'no-cache',
    'No-Cache',
    'no-cache, no-store',
    'max-age=0,NO-CACHE',
    ['max-age=0', 'no-cache'],
    'no-cache="set-cookie"',
  ])
    assert.ok(cacheDirectivesOf(value).has('no-cache'), String(value))
  for (const value of [undefined, '', 'max-age=0', 'x="no-cache"', 'no-cachet'])
    assert.ok(!cacheDirectivesOf(value).has('no-cache'), String(value))
  assert.deepEqual(
    [...cacheDirectivesOf(String.raw`max-age=5, private="a, \"b", max-age = 7, no-store`)],
    [
      ['max-age', '5'],
      ['private', 'a, "b'],
      ['no-store', null],
    ],
  )
})

test('content codings are compared without case, and x-gzip equals gzip (RFC 9110 §8.4.1)', () => {
  const cases: [FieldValue, string[]][] = [
    [undefined, []],
    ['', []],
    ['identity', []],
    ['GZIP', ['gzip']],
    ['x-gzip', ['gzip']],
    ['X-Compress', ['compress']],
    [', gzip ,', ['gzip']],
    ['deflate, gzip', ['deflate', 'gzip']],
    ['x-zstd', ['x-zstd']],
  ]
  for (const [value, codings] of cases) assert.deepEqual(contentCodingsOf(value), codings, String(value))
})

test('entityTagsOf returns weak and strong entity tags, or any for a star (RFC 9110 §13.1)', () => {
  const strong = (opaque: string) => ({ weak: false, opaque })
  const weak = (opaque: string) => ({ weak: true, opaque })
  const cases: [FieldValue, ReturnType<typeof entityTagsOf>][] = [
    [undefined, null],
    [null, null],
    ['', []],
    ['*', 'any'],
    [' * ', 'any'],
    ['"1"', [strong('1')]],
    ['W/"1"', [weak('1')]],
    ['"7", W/"1"', [strong('7'), weak('1')]],
    ['"7",W/"1" ,, "a,b"', [strong('7'), weak('1'), strong('a,b')]],
    [
      ['"1"', '"2"'],
      [strong('1'), strong('2')],
    ],
    ['"1-gzip"', [strong('1-gzip')]],
    [String.raw`"a\", "b"`, [strong('a\\'), strong('b')]],
    ['""', [strong('')]],
    ['1, w/"2", "un finished', []],
  ]
  for (const [value, tags] of cases) assert.deepEqual(entityTagsOf(value), tags, String(value))
})

test('If-None-Match compares weakly (RFC 9110 §8.8.3.2)', () => {
  for (const value of ['"1"', 'W/"1"', '"7", W/"1"', '*', ['"7"', '"1"']])
    assert.ok(noneMatchHits(value, '1'), String(value))
  for (const value of [undefined, '', '1', '"2"', 'W/"11"', '"1-gzip"'])
    assert.ok(!noneMatchHits(value, '1'), String(value))
})

test('Retry-After parses seconds and three forms of date, never to less than now (RFC 9110 §10.2.3)', () => {
  const cases: [FieldValue, ms: number | null][] = [
    ['120', 120_000],
    ['0', 0],
    [' 12\t', 12_000],
    ['1.5', 1_500],
    ['999999999999999', RETRY_AFTER_MS_MAX],
    ['9'.repeat(400), RETRY_AFTER_MS_MAX],
    ['Sat, 01 Aug 2026 12:01:30 GMT', 90_000],
    ['Saturday, 01-Aug-26 12:01:30 GMT', 90_000],
    ['Sat Aug  1 12:01:30 2026', 90_000],
    ['Sat, 01 Aug 2026 11:00:00 GMT', 0],
    ['Fri, 31 Dec 9999 23:59:59 GMT', RETRY_AFTER_MS_MAX],
    ['10, 30', 30_000],
    [['10', '30'], 30_000],
    [['soon', '30'], 30_000],
    [['Sat, 01 Aug 2026 12:01:30 GMT', '5'], 90_000],
  ]
  for (const [value, ms] of cases) assert.equal(retryAfterMsOf(value, NOW), ms, String(value))
})

test('a Retry-After that is neither seconds nor a date gives null', () => {
  const nonsense = ['', 'soon', '-5', '1e3', '0x10', '1.', '.5', '2026-08-01', 'Infinity', 'NaN']
  for (const value of [...nonsense, 'Xyz, 99 Foo 2026 25:61:61 GMT', undefined, null])
    assert.equal(retryAfterMsOf(value, NOW), null, String(value))
})

test('an HTTP-date has three forms and must be an existing day (RFC 9110 §5.6.7)', () => {
  const expected = Date.UTC(1994, 10, 6, 8, 49, 37)
  for (const text of [
    'Sun, 06 Nov 1994 08:49:37 GMT',
    'Sunday, 06-Nov-94 08:49:37 GMT',
    'Sun Nov  6 08:49:37 1994',
  ])
    assert.equal(httpDateMsOf(text, NOW), expected, text)
  // A two-digit year means a year that is at most 50 years in the future. 76 is still 2076 here, but 77 is 1977.
  assert.equal(httpDateMsOf('Saturday, 01-Aug-76 00:00:00 GMT', NOW), Date.UTC(2076, 7, 1))
  assert.equal(httpDateMsOf('Saturday, 01-Aug-77 00:00:00 GMT', NOW), Date.UTC(1977, 7, 1))
  assert.equal(httpDateMsOf('Fri, 30 Jun 1972 23:59:60 GMT', NOW), Date.UTC(1972, 5, 30, 23, 59, 59))
  for (const text of [
    'Sun, 31 Feb 2026 08:49:37 GMT',
    'Sun, 06 Foo 1994 08:49:37 GMT',
    'Sun, 06 Nov 1994 24:00:00 GMT',
    'Sun, 06 Nov 1994 08:60:00 GMT',
    'Sun, 06 Nov 1994 08:49:61 GMT',
    'Sun, 00 Nov 1994 08:49:37 GMT',
    'Sun, 06 Nov 1994 08:49:37 UTC',
    'sun, 06 nov 1994 08:49:37 gmt',
    '1994-11-06T08:49:37Z',
  ])
    assert.equal(httpDateMsOf(text, NOW), null, text)
})

test('every reader takes linear time on 128 KiB of input made for regular expression backtracking', () => {
  const size = 128 * 1024
  const hostile = [' ', '\t', ',', '"', '\\"', ', ', 'a ', 'W/', 'W/"', '1.', '=', ';', '"a', ' "'].flatMap(
    (piece) => {
      const run = piece.repeat(size / piece.length)
      return [run, `a${run}b`, `"${run}`, `${run},`]
    },
  )
  const readers = [
    listOf,
    mediaTypeOf,
    cacheDirectivesOf,
    (text: string) => acceptWeightOf(text, 'application/json'),
    contentCodingsOf,
    entityTagsOf,
    (text: string) => noneMatchHits(text, 'x'),
    (text: string) => retryAfterMsOf(text, NOW),
    (text: string) => httpDateMsOf(text, NOW),
  ]
  const beganAt = performance.now()
  for (const reader of readers) for (const text of hostile) reader(text)
  // A reader with quadratic time would take many seconds for one text.
  assert.ok(performance.now() - beganAt < 20_000)
})
