import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readRecording } from '../../../bench/k6/series.ts'
import { parseMetrics } from '../../../bench/watch/metrics.ts'
import { thinSamples } from '../../../bench/watch/samples.ts'

const RECORDING = [
  {
    event: 'param',
    data: { aggregates: { counter: ['count', 'rate'], gauge: ['value'], trend: ['med', 'p(99)'] } },
  },
  { event: 'metric', data: { time: { type: 'gauge' } } },
  { event: 'start', data: [[1000]] },
  { event: 'cumulative', data: [[2000]] },
  { event: 'snapshot', data: [[2000]] },
  {
    event: 'metric',
    data: {
      accepted: { type: 'trend' },
      'accepted{scenario:one}': { type: 'trend' },
      http_reqs: { type: 'counter' },
      http_req_tls_handshaking: { type: 'trend' },
    },
  },
  { event: 'snapshot', data: [[3, 9], [4, 8], [0, 0], [20, 10], [3000]] },
  { event: 'snapshot', data: [[5, 7], null, [0, 0], [40, 20], [4000]] },
  { event: 'stop', data: [[4000]] },
]

test('parses k6’s recording into periods with their time and sorted metrics', () => {
  const points = readRecording(RECORDING.map((event) => JSON.stringify(event)).join('\n'))
  assert.deepEqual(points, [
    { atMs: 1000, metrics: {} },
    {
      atMs: 2000,
      metrics: {
        accepted: { med: 3, 'p(99)': 9 },
        'accepted{scenario:one}': { med: 4, 'p(99)': 8 },
        http_reqs: { count: 20, rate: 10 },
      },
    },
    { atMs: 3000, metrics: { accepted: { med: 5, 'p(99)': 7 }, http_reqs: { count: 40, rate: 20 } } },
  ])
})

test('parses metrics with their labels from Prometheus text', () => {
  assert.deepEqual(parseMetrics('# HELP a b\n# TYPE a counter\na 1\nb{c="d e",f="g"} 2.5\n'), [
    ['a', 1],
    ['b{c="d e",f="g"}', 2.5],
  ])
})

test('averages samples over five seconds, also a smaller last group', () => {
  const sample = (second: number) => ({
    atMs: second * 1000,
    cores: { API: second },
    rssMiB: { API: 100 },
    server: {},
  })
  const thinned = thinSamples([1, 2, 3, 4, 5, 6, 8].map(sample))
  assert.deepEqual(
    thinned.map(({ atMs, cores }) => [atMs, cores['API']]),
    [
      [5000, 3],
      [8000, 7],
    ],
  )
})
