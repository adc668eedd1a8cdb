import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { Counter, Histogram } from 'prom-client'
import { mergeMetrics } from '../../../src/observe/metrics/merge.ts'
import { Metrics } from '../../../src/observe/metrics/metrics.ts'
import { parseExposition, sampleOf } from './exposition.ts'

test('metrics of two processes are each there once, with the samples of both', async () => {
  const [server, worker] = [new Metrics(), new Metrics()]
  for (const [metrics, process] of [[server, 'server'] as const, [worker, 'worker'] as const]) {
    const registers = [metrics.registry]
    new Counter({ name: 'shared_total', help: 'Of both', labelNames: ['process'], registers }).inc({
      process,
    })
    new Counter({ name: `${process}_total`, help: 'Of one', registers })
    new Histogram({ name: `${process}_seconds`, help: 'Of one', buckets: [1], registers }).observe(2)
    metrics.watchProcess(process)
  }
  // Waits until the event loop's lag was measured, because this metric has no value before.
  await sleep(100)
  const text = mergeMetrics([await server.registry.metrics(), await worker.registry.metrics()])
  const metrics = parseExposition(text)
  for (const name of ['shared_total', 'process_cpu_seconds_total', 'nodejs_heap_size_total_bytes'])
    assert.deepEqual(
      metrics.get(name)!.samples.map(({ labels }) => labels['process']),
      ['server', 'worker'],
      name,
    )
  assert.equal(metrics.get('tallystick_build_info')!.samples.length, 1)
  assert.equal(sampleOf(text, 'worker_seconds_count'), 1)
  assert.equal(sampleOf(text, 'server_total'), 0)
})

test('of two samples with equal labels the first wins; an empty text changes nothing', () => {
  const text = '# HELP a What\n# TYPE a gauge\na{b="c d"} 1\n'
  assert.equal(mergeMetrics([text, text.replace('} 1', '} 2')]), text)
  assert.equal(mergeMetrics([text, '']), text)
})
