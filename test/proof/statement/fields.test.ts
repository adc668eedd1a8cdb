import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { JsonValue } from '../../../src/proof/json/json-value.ts'
import type { Check } from '../../../src/proof/statement/check-schemas.ts'
import {
  isActor,
  isCode,
  isHash,
  isRuleId,
  isScope,
  isScopeList,
  isText,
  isTime,
  isTraceparent,
  isTypeName,
  listOf,
} from '../../../src/proof/statement/fields.ts'

const AGENT = 'agt_01jegv5gyme018000000000002'
const TRACE = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
const scopes = (count: number): string[] =>
  Array.from({ length: count }, (_, i) => `a:${String.fromCharCode(97 + (i >> 4), 97 + (i & 15))}`)

const FORMATS: Record<string, readonly [Check, readonly JsonValue[], readonly JsonValue[]]> = {
  text: [
    isText,
    ['a', 'é', 'x'.repeat(1_024), '漢'.repeat(341), '😂'.repeat(256)],
    ['', 'x'.repeat(1_025), '漢'.repeat(342), '😂'.repeat(257), 'a\n', '\u007f', '\u0085', 1, null],
  ],
  hash: [
    isHash,
    ['0'.repeat(64), 'af'.repeat(32)],
    ['0'.repeat(63), '0'.repeat(65), `${'0'.repeat(63)}g`, `${'0'.repeat(64)}\n`, 0],
  ],
  type: [
    isTypeName,
    ['a/1', `a${'b'.repeat(62)}/1`, 'a0.-/20', 'a/999999999'],
    [
      'A/1',
      '0a/1',
      '-a/1',
      ' a/1',
      `a${'b'.repeat(63)}/1`,
      'a/0',
      'a/01',
      'a/1000000000',
      'a/1 ',
      'a',
      'a/',
      'a/1/1',
      null,
    ],
  ],
  traceparent: [
    isTraceparent,
    [
      TRACE,
      TRACE.replace('b7ad6b7169203331', '1111111111111111'),
      TRACE.replace('b7ad6b7169203331', '0000000000000001'),
    ],
    [
      `01${TRACE.slice(2)}`,
      `${TRACE}-`,
      `${TRACE}0`,
      ` ${TRACE}`,
      TRACE.replace('b7ad6b7169203331', '0'.repeat(16)),
      TRACE.replace('0af7651916cd43dd8448eb211c80319c', '0'.repeat(32)),
      TRACE.toUpperCase(),
      1,
    ],
  ],
  code: [
    isCode,
    ['a', 'a_1', `a${'b'.repeat(63)}`],
    ['', 'A', '_a', '1a', `a${'b'.repeat(64)}`, 'a-b', 'a\n', ' a'],
  ],
  'rule id': [
    isRuleId,
    ['a', 'A.b_c-0', '0', `a${'b'.repeat(62)}`],
    ['', '-a', ' a', `a${'b'.repeat(63)}`, 'a/b', 'a\n'],
  ],
  scope: [
    isScope,
    ['records:read', 'records:read:own'],
    ['records', ':read', 'records:', 'Records:read', 'records:read1', ' records:read', 'records:read\n'],
  ],
  actor: [isActor, ['system', AGENT], ['System', 'key_01jegv5gyme018000000000002', '', null]],
  time: [
    isTime,
    ['2026-11-20T12:00:00.000Z', '2024-02-29T23:59:59.999Z', '0001-01-01T00:00:00.000Z'],
    [
      '2026-11-20T12:00:00.000Zx',
      'x2026-11-20T12:00:00.000Z',
      '2026-11-20T12:00:00.000z',
      '2025-02-29T00:00:00.000Z',
      '2026-11-20',
      0,
      null,
    ],
  ],
  'scope list': [
    isScopeList,
    [[], ['a:b'], ['a:b', 'a:c'], scopes(64)],
    [scopes(65), ['a:c', 'a:b'], ['a:b', 'a:b'], ['a'], 'a:b', { 0: 'a:b' }],
  ],
  'list of at most two': [listOf(isCode, 2), [[], ['a', 'b']], [['a', 'b', 'c'], ['A'], 'ab', null]],
}

for (const [name, [check, good, bad]] of Object.entries(FORMATS)) {
  describe(name, () => {
    for (const value of good) test(`accepts ${shown(value)}`, () => assert.equal(check(value), true))
    for (const value of bad) test(`refuses ${shown(value)}`, () => assert.equal(check(value), false))
  })
}

function shown(value: JsonValue): string {
  return JSON.stringify(value).slice(0, 60)
}

test('isTime accepts exactly the existing days of each month, as Date does', () => {
  for (const year of ['0000', '0004', '1900', '2000', '2026', '2028', '2100', '9999'])
    for (let month = 1; month <= 13; month++)
      for (let day = 0; day <= 32; day++) {
        const text = `${year}-${String(month).padStart(2, '0')}-${String(day).padStart(2, '0')}T23:59:59.999Z`
        const ms = Date.parse(text)
        assert.equal(isTime(text), !Number.isNaN(ms) && new Date(ms).toISOString() === text, text)
      }
  for (const hour of ['24:00:00', '23:60:00', '23:59:60'])
    assert.equal(isTime(`2026-11-20T${hour}.000Z`), false)
})
