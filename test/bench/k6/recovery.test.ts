import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findRecovery } from '../../../k6/lib/recovery.js'

test('throughput is recovered at the first of three consecutive seconds above the threshold', () => {
  assert.equal(findRecovery([100, 100, 100, 100], 95), 0)
  assert.equal(findRecovery([0, 40, 95, 96, 97], 95), 2)
  assert.equal(findRecovery([100, 100, 0, 100, 100, 100], 95), 3)
})

test('throughput is not recovered without three consecutive seconds above the threshold', () => {
  assert.equal(findRecovery([0, 0, 0, 100, 100], 95), null)
  assert.equal(findRecovery([100, 94, 100, 94, 100], 95), null)
  assert.equal(findRecovery([], 95), null)
})
