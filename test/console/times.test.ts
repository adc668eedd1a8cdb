import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ago, clockTime, duration } from '../../console/times.ts'

test('a clock time has its zone, and its date if it is of another day in that zone', () => {
  const now = Date.parse('2026-11-29T15:00:00Z')
  const at = (text: string, zone: string) => clockTime(Date.parse(text), now, zone)
  assert.equal(at('2026-11-29T14:03:22.900Z', 'UTC'), '14:03:22 UTC')
  assert.equal(at('2026-11-29T14:03:22Z', 'America/New_York'), '09:03:22 EST')
  assert.equal(at('2026-11-29T03:00:00Z', 'America/New_York'), '2026-11-28 22:00:00 EST')
  assert.equal(at('2026-07-01T00:00:00Z', 'Europe/Berlin'), '2026-07-01 02:00:00 GMT+2')
})

test('an age has one unit', () => {
  for (const [ms, text] of [
    [0, '0 s ago'],
    [59_999, '59 s ago'],
    [3_600_000, '1 h ago'],
    [-90_000_000, 'in 1 d'],
  ] as const)
    assert.equal(ago(0, ms), text)
})

test('a duration is rounded, and never to a unit of the next size', () => {
  for (const [ms, text] of [
    [0, '0 ms'],
    [0.12193099999967671, '0.12 ms'],
    [0.99999, '1 ms'],
    [3.149, '3.1 ms'],
    [412, '412 ms'],
    [999.6, '1 s'],
    [1_249, '1.2 s'],
    [59_960, '1 min'],
    [125_000, '2 min 5 s'],
    [3_599_900, '1 h'],
    [61_000 * 60, '1 h 1 min'],
    [26 * 3_600_000, '1 d 2 h'],
  ] as const)
    assert.equal(duration(ms), text, `${ms}`)
})
