import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PausedLedgers } from '../../src/followers/checkpoints/faulty-ledgers.ts'
import { watchCheckpoints } from '../../src/followers/checkpoints/metrics.ts'
import { publishCheckpoints } from '../../src/followers/checkpoints/publish.ts'
import { type FollowerObserver, runFollower } from '../../src/followers/loop.ts'
import { makeFollowerObserver } from '../../src/followers/metrics.ts'
import { Metrics } from '../../src/observe/metrics/metrics.ts'
import { serveMetrics } from '../../src/run/listen-metrics.ts'
import { buildTestApp, expectStatus, genericBody } from '../helpers/app.ts'
import { openTestPool } from '../helpers/connect.ts'
import { makePublisher } from '../helpers/publisher.ts'
import { temporaryFiles } from '../helpers/temporary-files.ts'
import { lockHeads, until } from '../helpers/wait.ts'

test('GET /metrics, on a port of its own', async (t) => {
  const app = await buildTestApp(t)
  const { metrics } = app.deps
  const listener = await serveMetrics(metrics, { host: '127.0.0.1', port: 0 })
  t.after(() => listener.close())
  const read = async () => parseMetrics(await (await fetch(listener.url)).text())

  await t.test('counts requests by route and status, and the appender’s outcomes', async () => {
    const before = await read()
    await app.notarize()
    await app.notarize()
    await app.send('POST', '/v1/records/batch', {
      body: { records: Array.from({ length: 3 }, () => ({ type: 'generic/1', payload: {} })) },
    })
    await app.send('GET', '/v1/records/rec_01jegv5gyme05800000000000a')
    const after = await read()
    const grown = (name: string) => (after.get(name) ?? 0) - (before.get(name) ?? 0)
    const requests = 'tallystick_http_request_duration_seconds_count'
    assert.equal(grown(`${requests}{method="POST",route="/v1/records",status="201"}`), 2)
    assert.equal(grown(`${requests}{method="GET",route="/v1/records/:id",status="404"}`), 1)
    assert.equal(grown('tallystick_http_problems_total{code="not_found"}'), 1)
    assert.equal(grown('tallystick_append_outcomes_total{status="appended"}'), 3)
    assert.equal(grown('tallystick_append_records_total'), 5)
    assert.equal(grown('tallystick_append_batch_entries_sum'), 3)
    for (const step of ['prepare', 'wait', 'commit', 'answer'])
      assert.equal(grown(`tallystick_append_${step}_duration_seconds_count`), 3, step)
    assert.equal(after.get('tallystick_append_queue_entries'), 0)
    assert.equal(after.get('tallystick_database_waiting{pool="write"}'), 0)
    assert.ok(after.get('tallystick_key_cache_keys')! >= 1)
    assert.ok(after.has('process_cpu_seconds_total') && after.has('nodejs_eventloop_lag_seconds'))
  })

  await t.test('has no labels with values of clients, and names no ledger', async () => {
    await read()
    // The metrics of garbage collection are not counted, because each series appears only after the first collection of
    // its kind.
    const names = async () =>
      [...(await read()).keys()].filter((name) => !name.startsWith('nodejs_gc_')).length
    // A request is counted shortly after its answer, at the latest before the answer to the next request.
    await app.app.inject({ method: 'PURGE' as 'GET', url: '/v1/records' })
    await app.send('GET', '/a')
    await app.send('GET', '/b')
    const before = await names()
    for (let i = 0; i < 5; i++) await app.send('GET', `/made-up/${i}`)
    for (const method of ['LOCK', 'MKCOL'])
      await app.app.inject({ method: method as 'GET', url: '/v1/records' })
    assert.equal(await names(), before)
    assert.doesNotMatch(
      await (await fetch(listener.url)).text(),
      /(led|key|agt|rec)_[0-9a-z]{26}|tly_|made-up/,
    )
  })

  await t.test('is the only route of its port', async () => {
    const ask = async (path: string, method = 'GET') => {
      const { status, headers } = await fetch(new URL(path, listener.url), { method })
      return [status, headers.get('allow')]
    }
    for (const path of ['/', '/v1/ledger', '/metrics/', '/metricsx'])
      assert.deepEqual(await ask(path), [404, null], path)
    assert.deepEqual(await ask('/metrics', 'POST'), [405, 'GET, HEAD, OPTIONS'])
    assert.equal((await app.send('GET', '/metrics', { key: null })).statusCode, 404)
  })
})

test('a worker’s metrics show the lag of checkpoints, and count failed rounds', async (t) => {
  const app = await buildTestApp(t)
  const metrics = new Metrics()
  const faulty = new PausedLedgers(Date.now)
  watchCheckpoints(metrics, app.deps.readPool, faulty)
  const read = async () => parseMetrics(await metrics.registry.metrics())
  const lag = async () => (await read()).get('tallystick_checkpoint_lag_seconds')!

  const behind = await lag()
  assert.ok(behind > 0 && behind < 60, String(behind))
  const pool = openTestPool(app.database.workerUrl, {})
  t.after(() => pool.end())
  await publishCheckpoints(await makePublisher(pool, temporaryFiles(t).directory))
  assert.equal(await lag(), 0)
  const sentAt = performance.now()
  await app.notarize()
  const seconds = await lag()
  assert.ok(
    seconds > 0 && seconds <= (performance.now() - sentAt + 5) / 1_000,
    'of the oldest that is not covered',
  )
  faulty.pause('a ledger')
  assert.equal((await read()).get('tallystick_checkpoint_faulty_ledgers'), 1)

  const observe = makeFollowerObserver(metrics, ['good', 'bad'])
  await runRound(observe, 'good', async () => false)
  await runRound(observe, 'bad', () => Promise.reject(new Error('x')))
  const after = await read()
  assert.equal(after.get('tallystick_follower_rounds_total{follower="good",result="ok"}'), 1)
  assert.equal(after.get('tallystick_follower_rounds_total{follower="bad",result="failed"}'), 1)
})

test('the number of waiting appends is a metric', async (t) => {
  const app = await buildTestApp(t)
  const metrics = app.deps.metrics.registry
  const waiting = async () => parseMetrics(await metrics.metrics()).get('tallystick_append_queue_entries')!
  const release = await lockHeads(t, app.database.superuserUrl)
  const first = app.send('POST', '/v1/records', { body: genericBody() })
  await until(async () => app.deps.writePool.totalCount - app.deps.writePool.idleCount > 0)
  const second = app.send('POST', '/v1/records', { body: genericBody() })
  await until(async () => (await waiting()) === 1)
  await release()
  for (const response of await Promise.all([first, second])) expectStatus(201, response)
  assert.equal(await waiting(), 0)
})

async function runRound(
  observe: FollowerObserver,
  name: string,
  step: () => Promise<boolean>,
): Promise<void> {
  const stop = new AbortController()
  const log = { error() {} }
  const follower = {
    name,
    everyMs: 1,
    step: () => {
      stop.abort()
      return step()
    },
  }
  await runFollower(follower, log, stop.signal, observe)
}

function parseMetrics(text: string): Map<string, number> {
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  return new Map(
    lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ')))]),
  )
}
