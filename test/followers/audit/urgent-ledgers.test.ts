import assert from 'node:assert/strict'
import { test } from 'node:test'
import { UrgentLedgers } from '../../../src/followers/audit/urgent-ledgers.ts'
import { URGENT_LEDGER_MS, URGENT_LEDGERS_STORED_MAX } from '../../../src/followers/limits.ts'
import type { Uuid } from '../../../src/proof/ids.ts'

const [A, B] = ['a' as Uuid, 'b' as Uuid]

test('a ledger stays urgent for a time after it was last added, and is returned at least once', () => {
  let wakes = 0
  const ledgers = new UrgentLedgers(() => wakes++)
  assert.deepEqual(ledgers.take(0), [])
  ledgers.add(A, 0)
  ledgers.add(B, 0)
  ledgers.add(A, 1)
  assert.equal(wakes, 3)
  assert.deepEqual(ledgers.take(URGENT_LEDGER_MS), [B, A])
  assert.deepEqual(
    ledgers.take(URGENT_LEDGER_MS + 1),
    [B, A],
    'returned by the round that finds that B is too old',
  )
  assert.deepEqual(ledgers.take(URGENT_LEDGER_MS + 2), [A])
  assert.deepEqual(ledgers.take(URGENT_LEDGER_MS + 3), [])
  ledgers.add(A, 0)
  assert.deepEqual(ledgers.take(10 * URGENT_LEDGER_MS), [A], 'also if the round is late')
  assert.deepEqual(ledgers.take(10 * URGENT_LEDGER_MS), [])
})

test('of many ledgers, each is returned once, and those added last stay', () => {
  const ledgers = new UrgentLedgers(() => {})
  const ids = Array.from({ length: URGENT_LEDGERS_STORED_MAX + 2 }, (_, i) => String(i) as Uuid)
  for (const id of ids) ledgers.add(id, 0)
  ledgers.add(ids[0]!, 0)
  assert.equal(ledgers.take(0).length, ids.length)
  assert.deepEqual(ledgers.take(0), [...ids.slice(3), ids[0]!])
})
