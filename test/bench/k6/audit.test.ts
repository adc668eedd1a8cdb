import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findFaults } from '../../../bench/watch/audit.ts'

const CLEAN = {
  ledgers: 2,
  acknowledged: 100,
  unanswered: 0,
  found: 100,
  entries: 110,
  bytesPerRecord: 900,
  verified: 2,
  badVerdicts: [],
  ended: 0,
  deadLetters: 0,
  deliveries: null,
}

test('a run has no faults if the ledgers contain all acknowledged records and none that was not sent', () => {
  assert.deepEqual(findFaults(CLEAN), [])
  assert.deepEqual(findFaults({ ...CLEAN, unanswered: 5, found: 105 }), [])
  assert.deepEqual(findFaults({ ...CLEAN, deliveries: { due: 100, received: 100 } }), [])
})

test('names each fault: missing, extra and bad records, dead letters, ended processes, lost deliveries', () => {
  const named: [Partial<typeof CLEAN>, string][] = [
    [{ found: 99 }, '1 acknowledged records are missing from all ledgers'],
    [{ found: 101 }, '1 records are neither acknowledged nor left unanswered'],
    [{ unanswered: 5, found: 106 }, '1 records are neither acknowledged nor left unanswered'],
    [{ ledgers: 0, acknowledged: 0, found: 0 }, 'nothing was written'],
    [{ ended: 1 }, '1 processes have ended'],
    [{ deadLetters: 2 }, '2 dead letters'],
  ]
  for (const [found, fault] of named) assert.deepEqual(findFaults({ ...CLEAN, ...found }), [fault])
  assert.deepEqual(findFaults({ ...CLEAN, badVerdicts: ['INTEGRITY_FAILED seq=3'] }), [
    'verify: INTEGRITY_FAILED seq=3',
  ])
  assert.deepEqual(findFaults({ ...CLEAN, deliveries: { due: 100, received: 99 } }), [
    '99 of 100 deliveries arrived',
  ])
})
