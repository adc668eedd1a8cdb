import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compareLifecycles } from '../../../bench/k6/lifecycle-soak.ts'

test('a soak has no faults if every record seen as judged is accepted or rejected once', () => {
  assert.deepEqual(compareLifecycles({ states: { ACCEPTED: 90, REJECTED: 10 }, notOnce: 0 }, 100, 0), [])
})

test('an abandoned record may be in any state', () => {
  const found = { states: { ACCEPTED: 90, REJECTED: 9, SUBMITTED: 1 }, notOnce: 0 }
  assert.deepEqual(compareLifecycles(found, 99, 1), [])
})

test('names records that were seen as judged but are not judged', () => {
  const found = { states: { ACCEPTED: 90, REJECTED: 9, VERIFIED: 1 }, notOnce: 0 }
  assert.deepEqual(compareLifecycles(found, 100, 0), ['1 records were seen as judged, but are not'])
})

test('names records that belong to no client', () => {
  const found = { states: { ACCEPTED: 90, REJECTED: 10, CREATED: 2 }, notOnce: 0 }
  assert.deepEqual(compareLifecycles(found, 100, 1), ['1 records belong to no client'])
})

test('names records that were judged twice', () => {
  const found = { states: { ACCEPTED: 100 }, notOnce: 3 }
  assert.deepEqual(compareLifecycles(found, 100, 0), [
    '3 records were not delivered, verified and judged exactly once',
  ])
})
