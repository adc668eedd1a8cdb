import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseRetryAfterMs } from '../../../src/outside/connector/retry-after.ts'

const NOW = Date.parse('2026-08-01T12:00:00Z')

test('Retry-After is seconds or a date, never less than now', () => {
  const cases: [header: string | string[] | undefined, ms: number | null][] = [
    ['120', 120_000],
    ['0', 0],
    ['-5', 0],
    ['999999999999', 999_999_999_999_000],
    ['Sat, 01 Aug 2026 12:01:30 GMT', 90_000],
    ['Sat, 01 Aug 2026 11:00:00 GMT', 0],
  ]
  for (const [header, ms] of cases) assert.equal(parseRetryAfterMs(header, NOW), ms, String(header))
})

test('a Retry-After that is neither asks for nothing', () => {
  const nonsense = [
    '',
    'soon',
    '1.5',
    '1e3',
    '0x10',
    '12 ',
    '2026-08-01',
    '9999999999999',
    'Infinity',
    '120, 3',
  ]
  for (const header of [...nonsense, 'Xyz, 99 Foo 2026 25:61:61 GMT', ['1', '2'], undefined]) {
    assert.equal(parseRetryAfterMs(header, NOW), null, String(header))
  }
})
