import assert from 'node:assert/strict'
import { test } from 'node:test'
import { resolvePointer } from '../../../../src/ledgers/types/schema/json-pointer.ts'
import type { JsonValue } from '../../../../src/proof/json/json-value.ts'

/** The example of RFC 6901 §5. */
const DOCUMENT: JsonValue = {
  foo: ['bar', 'baz'],
  '': 0,
  'a/b': 1,
  'c%d': 2,
  'e^f': 3,
  'g|h': 4,
  'i\\j': 5,
  'k"l': 6,
  ' ': 7,
  'm~n': 8,
}

test('resolves the pointers of RFC 6901', () => {
  for (const [pointer, value] of [
    ['', DOCUMENT],
    ['/foo', ['bar', 'baz']],
    ['/foo/0', 'bar'],
    ['/', 0],
    ['/a~1b', 1],
    ['/c%d', 2],
    ['/e^f', 3],
    ['/g|h', 4],
    ['/i\\j', 5],
    ['/k"l', 6],
    ['/ ', 7],
    ['/m~0n', 8],
  ] as const)
    assert.deepEqual(resolvePointer(DOCUMENT, pointer), value, pointer)
  assert.equal(resolvePointer({ '~1': 'tilde', '/': 'slash' }, '/~01'), 'tilde')
})

test('a pointer to a missing value finds nothing', () => {
  for (const pointer of [
    '/foo/2',
    '/foo/-',
    '/foo/01',
    '/foo/+1',
    '/foo/1e0',
    '/foo/99999999999999999999',
    '/foo/length',
    '/foo/0/0',
    '/bar',
    '/bar/baz',
    '/constructor',
    '/__proto__',
    '//',
  ])
    assert.equal(resolvePointer(DOCUMENT, pointer), undefined, pointer)
  assert.equal(resolvePointer(null, '/a'), undefined)
  assert.equal(resolvePointer('text', '/length'), undefined)
  assert.equal(resolvePointer(JSON.parse('{"__proto__":1}'), '/__proto__'), 1)
})
