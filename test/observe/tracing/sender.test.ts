import assert from 'node:assert/strict'
import { test } from 'node:test'
import { TRACE_CLOSE_MS_MAX, TRACE_SPANS_WAITING_MAX } from '../../../src/observe/limits.ts'
import { openTracing } from '../../../src/observe/tracing/open.ts'
import type { LossReason } from '../../../src/observe/tracing/span-sender.ts'
import type { Tracing } from '../../../src/observe/tracing/tracing.ts'
import { parseConfig } from '../../../src/run/config.ts'
import { until } from '../../helpers/wait.ts'
import { startCollector } from './collector.ts'

async function open(environment: Record<string, string>) {
  const figures = { sent: 0, lost: { queue_full: 0, not_taken: 0, closed: 0 } }
  const tracing = await openTracing(parseConfig(environment).tracing, 'tallystick-server', () => ({
    sent(spans) {
      figures.sent += spans
    },
    lost(spans: number, reason: LossReason) {
      figures.lost[reason] += spans
    },
  }))
  return { tracing: tracing!, figures }
}

function trace(tracing: Tracing, spans: number): void {
  for (let i = 0; i < spans; i++) tracing.start('something', { kind: 'internal', parent: null })?.end()
}

test('sends all ended spans before the process closes', async (t) => {
  const collector = await startCollector(t)
  const { tracing, figures } = await open(collector.environment)
  trace(tracing, 1_000)
  await tracing.close()
  assert.equal(collector.spans.length, 1_000)
  assert.deepEqual(figures, { sent: 1_000, lost: { queue_full: 0, not_taken: 0, closed: 0 } })
})

test('a hanging collector delays shutdown only up to the limit', async (t) => {
  const hanging = await startCollector(t, () => {})
  const { tracing, figures } = await open(hanging.environment)
  trace(tracing, 1_000)
  const startedAt = performance.now()
  await tracing.close()
  const ms = performance.now() - startedAt
  assert.ok(ms >= TRACE_CLOSE_MS_MAX - 50 && ms < TRACE_CLOSE_MS_MAX + 1_000, `${ms} ms`)
  assert.deepEqual(figures, { sent: 0, lost: { queue_full: 0, not_taken: 0, closed: 1_000 } })
})

test('with a hanging collector spans are dropped and counted, and nothing waits', async (t) => {
  const hanging = await startCollector(t, () => {})
  const { tracing, figures } = await open({ ...hanging.environment, OTEL_EXPORTER_OTLP_TIMEOUT: '500' })
  t.after(() => tracing.close())
  trace(tracing, TRACE_SPANS_WAITING_MAX + 1_234)
  assert.equal(figures.lost.queue_full, 1_234)
  // Waits until the first request has timed out. Its spans then count as lost, and its slots are free.
  await until(() => figures.lost.not_taken > 0)
  trace(tracing, 10)
  assert.equal(figures.lost.queue_full, 1_234)
})

test('times out a collector that drips its answer, and closes the connection', async (t) => {
  let closed = 0
  const collector = await startCollector(t, (response) => {
    response.writeHead(200)
    const drip = setInterval(() => response.write('.'), 50)
    response.once('close', () => {
      clearInterval(drip)
      closed++
    })
  })
  const { tracing, figures } = await open({ ...collector.environment, OTEL_EXPORTER_OTLP_TIMEOUT: '300' })
  t.after(() => tracing.close())
  trace(tracing, 256)
  await until(() => figures.lost.not_taken === 256)
  await until(() => closed === 1)
})

test('retries while the collector answers 503, and loses no span', async (t) => {
  const collector = await startCollector(t, (response) =>
    response.writeHead(503, { 'retry-after': '1' }).end(),
  )
  const { tracing, figures } = await open(collector.environment)
  trace(tracing, 256)
  await until(() => collector.requests.length > 1)
  assert.equal(figures.sent, 0)
  collector.answer = (response) => response.writeHead(200).end()
  await until(() => figures.sent === 256)
  await tracing.close()
  assert.equal(figures.lost.not_taken + figures.lost.closed, 0)
})

test('sends with the URL, headers, compression and resource of the environment', async (t) => {
  const collector = await startCollector(t)
  const { tracing } = await open({
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${collector.url}/custom/path`,
    OTEL_EXPORTER_OTLP_HEADERS: 'x-tenant=a%20b,authorization=Basic abc',
    OTEL_EXPORTER_OTLP_TRACES_HEADERS: 'authorization=Bearer xyz',
    OTEL_EXPORTER_OTLP_COMPRESSION: 'gzip',
    OTEL_SERVICE_NAME: 'ledger',
    OTEL_RESOURCE_ATTRIBUTES: 'service.name=other,deployment.environment.name=staging, team = a%2Cb',
  })
  trace(tracing, 1)
  await tracing.close()
  const [{ path, headers }] = collector.requests as [(typeof collector.requests)[number]]
  assert.equal(path, '/custom/path')
  assert.equal(headers['content-type'], 'application/x-protobuf')
  assert.equal(headers['content-encoding'], 'gzip')
  assert.equal(headers['x-tenant'], 'a b')
  assert.equal(headers.authorization, 'Bearer xyz')
  const { resource } = collector.spans[0]!
  assert.equal(resource['service.name'], 'ledger')
  assert.equal(resource['deployment.environment.name'], 'staging')
  assert.equal(resource['team'], 'a,b')
})

test('each sampler does what its name says', async (t) => {
  const collector = await startCollector(t)
  const parent = (flags: string) => `00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-${flags}`
  const sampled = async (sampler: string, ratio: string, traceparent: string | null) => {
    const { tracing } = await open({
      ...collector.environment,
      OTEL_TRACES_SAMPLER: sampler,
      OTEL_TRACES_SAMPLER_ARG: ratio,
    })
    const options = { kind: 'server', parent: tracing.parentOf(traceparent) } as const
    const found = Array.from({ length: 400 }, () => tracing.start('x', options)).filter((span) => span).length
    await tracing.close()
    return found
  }
  assert.equal(await sampled('parentbased_always_on', '1', null), 400)
  assert.equal(await sampled('parentbased_always_on', '1', parent('00')), 0)
  assert.equal(await sampled('parentbased_always_off', '1', parent('01')), 400)
  assert.equal(await sampled('parentbased_always_off', '1', null), 0)
  assert.equal(await sampled('always_on', '1', parent('00')), 400)
  assert.equal(await sampled('always_off', '1', parent('01')), 0)
  assert.equal(await sampled('parentbased_traceidratio', '0', parent('01')), 400)
  const half = await sampled('parentbased_traceidratio', '0.5', null)
  assert.ok(half > 120 && half < 280, `${half} of 400`)
})
