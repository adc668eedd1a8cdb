import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Gaps } from './gaps.ts'

function probe(gaps: Gaps, up: { readonly from: number; readonly to: number }): void {
  for (let at = up.from; at <= up.to; at += 100) gaps.clusterCommitted(at)
}

test('a gap of records counts from the time when the cluster commits again', () => {
  const gaps = new Gaps(0)
  probe(gaps, { from: 0, to: 1_000 })
  gaps.recordWritten(950)
  gaps.begin(1_000)
  probe(gaps, { from: 6_000, to: 8_000 })
  gaps.recordWritten(8_050)
  assert.deepEqual(gaps.longest, { cluster: 5_000, records: 7_050, beyond: 2_000 })
  gaps.begin(9_000)
  assert.deepEqual(gaps.longest, { cluster: 0, records: 0, beyond: 0 })
})

test('time in which the cluster is away again is no gap of records', () => {
  const gaps = new Gaps(0)
  probe(gaps, { from: 5_000, to: 5_500 })
  probe(gaps, { from: 12_000, to: 12_300 })
  gaps.recordWritten(12_350)
  assert.deepEqual(gaps.longest, { cluster: 6_500, records: 12_350, beyond: 500 })
})
