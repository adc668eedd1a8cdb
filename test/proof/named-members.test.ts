import assert from 'node:assert/strict'
import { test } from 'node:test'
import { namedMembers } from '../../src/proof/named-members.ts'

test('a message shows the members that the advice names, and no member that every message has', () => {
  const problem = {
    detail: 'the detail',
    requestId: 'r1',
    state: 'ACTIVE',
    nextEvents: ['record-activated', 'record-cancelled'],
    limits: [],
    retry: { afterMs: 5 },
  }
  assert.equal(
    namedMembers('Read `detail`, `state` and `nextEvents`.', problem),
    ' (state: ACTIVE; nextEvents: record-activated, record-cancelled)',
  )
  assert.equal(
    namedMembers('Read `limits`, `retry` and again `limits`.', problem),
    ' (limits: none; retry: {"afterMs":5})',
  )
  assert.equal(namedMembers('Read `requestId` and `absent`. Ask nobody for state.', problem), '')
})
