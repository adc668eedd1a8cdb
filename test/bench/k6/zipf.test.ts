import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeZipf, placeOf, rankAt } from '../../../k6/lib/zipf.js'

const DRAWS = 200_000
const SIZES = [2, 3, 20, 100, 1_000, 10_000]

/**
 * Returns the frequency of each rank for evenly spread input numbers. This is the generator's own distribution without
 * randomness.
 */
function distribution(items: number, theta?: number): Float64Array {
  const zipf = makeZipf(items, theta)
  const shares = new Float64Array(items)
  for (let i = 0; i < DRAWS; i++) shares[rankAt(zipf, (i + 0.5) / DRAWS)]! += 1 / DRAWS
  return shares
}

function exact(items: number, theta = 0.99): number[] {
  const weights = Array.from({ length: items }, (_, rank) => 1 / (rank + 1) ** theta)
  const total = weights.reduce((sum, weight) => sum + weight, 0)
  return weights.map((weight) => weight / total)
}

test('cumulative frequencies of ranks match Zipf’s distribution within 2 % of all draws', () => {
  for (const items of SIZES) {
    const [drawn, due] = [distribution(items), exact(items)]
    let [sumDrawn, sumDue, largest] = [0, 0, 0]
    for (let rank = 0; rank < items; rank++) {
      sumDrawn += drawn[rank]!
      sumDue += due[rank]!
      largest = Math.max(largest, Math.abs(sumDrawn - sumDue))
    }
    assert.ok(largest < 0.02, `${items} items: off by ${largest}`)
  }
})

test('the first two ranks have exact frequencies', () => {
  for (const items of SIZES) {
    const [drawn, due] = [distribution(items), exact(items)]
    for (const rank of [0, 1])
      assert.ok(Math.abs(drawn[rank]! - due[rank]!) < 2 / DRAWS, `${items} items, rank ${rank}`)
  }
})

test('with theta 0 every rank comes up equally often', () => {
  for (const share of distribution(20, 0)) assert.ok(Math.abs(share - 1 / 20) < 2 / DRAWS)
})

test('every rank can come up, and none beyond the last', () => {
  assert.ok(distribution(1_000).every((share) => share > 0))
  const zipf = makeZipf(1_000)
  assert.equal(rankAt(zipf, 0), 0)
  assert.equal(rankAt(zipf, 1 - 2 ** -32), 999)
})

test('ranks map one to one to slots, and the first ten ranks are not adjacent', () => {
  for (const items of SIZES) {
    const zipf = makeZipf(items)
    const places = Array.from({ length: items }, (_, rank) => placeOf(zipf, rank))
    assert.deepEqual(
      places.toSorted((a, b) => a - b),
      Array.from({ length: items }, (_, i) => i),
    )
    if (items < 100) continue
    const first = places.slice(0, 10).sort((a, b) => a - b)
    assert.ok(first.every((place, i) => i === 0 || place - first[i - 1]! > 1))
  }
})

test('the parameters survive a JSON round trip', () => {
  for (const items of SIZES) {
    const zipf = makeZipf(items)
    assert.deepEqual(JSON.parse(JSON.stringify(zipf)), zipf)
  }
})

test('refuses item counts and thetas outside its formula', () => {
  for (const items of [1, 1.5, 2_000_000]) assert.throws(() => makeZipf(items), /items/)
  for (const theta of [1, -0.1, Number.NaN]) assert.throws(() => makeZipf(100, theta), /theta/)
})
