import assert from 'node:assert/strict'
import { test } from 'node:test'
import { flatness, growth } from '../../../bench/watch/trends.ts'

const series = (...values: number[]) => values.map((value, at) => ({ at, value }))

test('growth is the slope of the least-squares line, in percent of the mean', () => {
  assert.deepEqual(growth(series(100, 110, 120)), {
    mean: 110,
    slope: 10,
    max: 120,
    percent: (20 / 110) * 100,
  })
  assert.equal(growth(series(100, 140, 100)).slope, 0)
  assert.equal(growth(series(120, 110, 100)).percent, (-20 / 110) * 100)
})

test('the growth of one value or none is 0', () => {
  assert.equal(growth(series(100)).percent, 0)
  assert.deepEqual(growth([]), { mean: 0, slope: 0, max: 0, percent: 0 })
})

test('flatness has the variation, the growth, and the ratio of the worst period to the median', () => {
  const found = flatness(series(100, 100, 50, 100, 100))!
  assert.deepEqual([found.windows, found.growthPercent, found.worstPercent], [5, 0, 50])
  assert.ok(Math.abs(found.variationPercent - 100 * (20 / 90)) < 1e-9)
})

test('flatness of two periods is null', () => {
  assert.equal(flatness(series(100, 100)), null)
})
