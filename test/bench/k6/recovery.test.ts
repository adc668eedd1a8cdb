import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findRecovery } from '../../../k6/lib/recovery.js'

test('the throughput is back with the first of three seconds in which enough is accepted', () => {
  assert.equal(findRecovery([100, 100, 100, 100], 95), 0)
  assert.equal(findRecovery([0, 40, 95, 96, 97], 95), 2)
  assert.equal(findRecovery([100, 100, 0, 100, 100, 100], 95), 3)
})

test('it is not back where three seconds in a row were not seen', () => {
  assert.equal(findRecovery([0, 0, 0, 100, 100], 95), null)
  assert.equal(findRecovery([100, 94, 100, 94, 100], 95), null)
  assert.equal(findRecovery([], 95), null)
})
