import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BETWEEN, makeSteps } from '../../../k6/lib/steps.js'

const STEPS = makeSteps([
  { name: '100', target: 100, rampSeconds: 1, holdSeconds: 20 },
  { name: '500', target: 500, rampSeconds: 4, holdSeconds: 20 },
])

test('each step is a ramp followed by a constant load', () => {
  assert.deepEqual(STEPS.stages, [
    { duration: '1s', target: 100 },
    { duration: '20s', target: 100 },
    { duration: '4s', target: 500 },
    { duration: '20s', target: 500 },
  ])
  assert.equal(STEPS.seconds, 45)
})

test('a step is named only while its load is constant', () => {
  const names = [0, 999, 1_000, 20_999, 21_000, 24_999, 25_000, 44_999].map((ms) => STEPS.nameAt(ms))
  assert.deepEqual(names, [BETWEEN, BETWEEN, '100', '100', BETWEEN, BETWEEN, '500', '500'])
})

test('time after the last step belongs to no step', () => {
  assert.equal(STEPS.nameAt(45_000), BETWEEN)
})
