import assert from 'node:assert/strict'
import { test } from 'node:test'
import { randomFrom } from '../../../bench/random.ts'
import type { JournalLine } from '../faults/journal.ts'
import { planFaults } from './faults.ts'
import { countLost } from './losses.ts'

const acked = (ids: readonly string[], seq: number, ledger = 'led_a'): JournalLine => ({
  intent: ids[0]!,
  ledger,
  items: ids.length,
  hasKey: true,
  outcome: 'acked',
  ids,
  seq,
  replayed: false,
})

test('a lost record is named if a checkpoint that closed its ledger covers it, and the database lacks it', () => {
  const journal = [acked(['a'], 3), acked(['b', 'c'], 4), acked(['d'], 5), acked(['e'], 4, 'led_b')]
  const stored = [{ ledger: 'led_a', id: 'a', seq: 3, intent: 'a', item: 0 }]
  const losses = [{ ledger: 'led_a', known: 5, found: 4 }]
  assert.deepEqual(countLost(journal, stored, losses), { named: 2, beyond: 2 })
  assert.deepEqual(countLost(journal, stored, []), { named: 0, beyond: 4 })
})

test('a plan has all its kills, both kinds of them, and a slow fault of each kind for sixteen', () => {
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
