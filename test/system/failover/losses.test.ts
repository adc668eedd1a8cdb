import assert from 'node:assert/strict'
import { test } from 'node:test'
import { randomFrom } from '../../../bench/load/random.ts'
import type { JournalLine } from '../faults/journal.ts'
import { findGivenUp, findLate, planFaults, type Suffered } from './faults.ts'
import { countLosses } from './losses.ts'

const acked = (ids: readonly string[], seq: number, atMs: number, ledger = 'led_a'): JournalLine => ({
  intent: ids[0]!,
  ledger,
  items: ids.length,
  hasKey: true,
  outcome: 'acked',
  ids,
  seq,
  replayed: false,
  atMs,
})

test('a lost record is named if a closing checkpoint covers it, and counts for the next fault', () => {
  const faults = [
    { fault: 'switchover', endedAtMs: 10 },
    { fault: 'kill -9 of the primary', endedAtMs: 20 },
  ] as const
  const journal = [
    acked(['a'], 3, 5),
    acked(['before'], 4, 6),
    acked(['b', 'c'], 4, 11),
    acked(['d'], 5, 12),
    acked(['below'], 2, 12),
    acked(['e'], 4, 12, 'led_b'),
  ]
  const stored = [{ ledger: 'led_a', id: 'a', seq: 3, intent: 'a', item: 0 }]
  const losses = [{ ledger: 'led_a', known: 5, found: 4, atMs: 15 }]
  const switched = { fault: 'switchover', lost: 1, named: 0, closed: 0 }
  const killed = { fault: 'kill -9 of the primary', lost: 5, named: 2, closed: 1 }
  assert.deepEqual(countLosses(faults, journal, stored, losses), [switched, killed])
  assert.deepEqual(countLosses(faults, journal, stored, []), [switched, { ...killed, named: 0, closed: 0 }])
})

test('a plan of 16 has both kinds of kills, switchovers, and each slow fault once', () => {
  const plan = planFaults(16, randomFrom(1))
  const counts = Object.fromEntries(
    [...Map.groupBy(plan, (name) => name)].map(([name, all]) => [name, all.length]),
  )
  assert.deepEqual(counts, {
    'kill -9 of the primary': 8,
    'kill -9 while standbys are behind': 8,
    switchover: 4,
    'machine gone': 1,
    'machine paused': 1,
    partition: 1,
  })
  assert.deepEqual(planFaults(16, randomFrom(1)), plan)
})

const suffered = (fields: Partial<Suffered>): Suffered => ({
  fault: 'switchover',
  endedAtMs: 0,
  clusterMs: 4_000,
  recordsMs: 4_300,
  beyondMs: 300,
  callsGivenUp: 0,
  attemptsRefused: 5,
  ...fields,
})

test('findLate reports records that return later than the cluster', () => {
  assert.deepEqual(findLate([suffered({}), suffered({ beyondMs: 3_001 })]), [
    'switchover: 3001 ms without a record, though the cluster committed',
  ])
})

test('findGivenUp reports calls given up in switchovers, and switchovers that refused nothing', () => {
  const killed = suffered({ fault: 'kill -9 of the primary', callsGivenUp: 3 })
  assert.deepEqual(findGivenUp([killed, suffered({ attemptsRefused: 0 }), suffered({})]), [])
  assert.deepEqual(findGivenUp([killed, suffered({ callsGivenUp: 2 })]), [
    'the SDK gave up 2 calls in switchovers',
  ])
  assert.equal(findGivenUp([killed, suffered({ attemptsRefused: 0 })]).length, 1)
})
