import assert from 'node:assert/strict'
import { test } from 'node:test'
import { measureWindow } from '../../../bench/k6/load-window.ts'
import type { Sample } from '../../../bench/watch/samples.ts'

const sample = (atMs: number, cores: Record<string, number>) =>
  ({ atMs, cores, rssMiB: {}, server: {} }) satisfies Sample

const run = (samples: readonly Sample[], extras: object, rate: number | null) =>
  ({ samples, cpu: { API: 9 }, summary: { extras, figures: { rate } } }) as unknown as Parameters<
    typeof measureWindow
  >[0]

test('the window excludes the start of k6, the warm-up, and everything after the load', () => {
  const samples = [1, 2, 3, 4, 5, 6, 7, 8].map((second) => sample(second * 1_000, { API: second, k6: 1 }))
  const { cores } = measureWindow(run(samples, { warmUpSeconds: 1, seconds: 4 }, 100))
  assert.deepEqual(cores, { API: 5, k6: 1 }, 'the samples at 4, 5 and 6 seconds')
})

test('CPU use is also reported in microseconds per record', () => {
  const samples = [sample(3_000, { API: 0.8, postgres: 0.4 }), sample(4_000, { API: 0.6, postgres: 0.4 })]
  const { microsPerRecord } = measureWindow(run(samples, { seconds: 5 }, 2_000))
  assert.equal(Math.round(microsPerRecord['API']!), 350)
  assert.equal(Math.round(microsPerRecord['postgres']!), 200)
})

test('a load too short for a sample uses the figures of the whole run', () => {
  assert.deepEqual(measureWindow(run([], { seconds: 1 }, 100)).cores, { API: 9 })
})

test('without a rate, no CPU use per record is reported', () => {
  const samples = [sample(3_000, { API: 0.8 })]
  assert.deepEqual(measureWindow(run(samples, { seconds: 5 }, null)).microsPerRecord, { API: 0 })
})
