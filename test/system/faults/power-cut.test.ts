import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatLoad } from './kill.ts'
import { whyNoLoopImages } from './loop-image.ts'
import { cutPowerUnderLoad } from './power-cut.ts'
import { formatReckoning } from './reckoning.ts'

const skip = whyNoLoopImages() ?? false
const PLAN = { clients: 8, loadMs: 1_500 }

test('a power cut loses no acknowledged record', { skip }, async () => {
  const { reckoning, recovered } = await cutPowerUnderLoad({ ...PLAN, fsync: 'on' })
  console.log(`power cut, fsync=on: ${formatReckoning(reckoning)}; ${formatLoad()}`)
  assert.equal(recovered, true)
  assert.ok(reckoning.acked > 0)
  const { lost, doubled, ghosts, torn } = reckoning
  assert.deepEqual({ lost, doubled, ghosts, torn }, { lost: 0, doubled: 0, ghosts: 0, torn: 0 })
})

test('the same power cut with fsync off loses records, which the test detects', { skip }, async () => {
  const { reckoning, recovered } = await cutPowerUnderLoad({ ...PLAN, fsync: 'off' })
  console.log(`power cut, fsync=off: ${formatReckoning(reckoning)}; recovered=${recovered}; ${formatLoad()}`)
  assert.ok(reckoning.lost > 0)
})
