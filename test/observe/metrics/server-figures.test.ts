import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { test } from 'node:test'
import type { RefusalReason } from '../../../src/append/commit.ts'
import { makeAppendObserver } from '../../../src/append/metrics.ts'
import { APPEND_OUTCOMES } from '../../../src/db/chain/append-entries.ts'
import { DatabasePool } from '../../../src/db/connect/pools.ts'
import { watchPool } from '../../../src/db/metrics.ts'
import { METRICS_ANSWER_TIMEOUT_MS } from '../../../src/observe/limits.ts'
import { Durations } from '../../../src/observe/metrics/durations.ts'
import { Metrics } from '../../../src/observe/metrics/metrics.ts'
import { queryGauges } from '../../../src/observe/metrics/query-gauges.ts'
import { startServer } from '../../../src/run/server.ts'
import { buildTestApp, expectStatus, genericBody, OPERATOR_KEY, testConfig } from '../../helpers/app.ts'
import { assertProblem } from '../../helpers/assert-problem.ts'
import { sharedApp } from '../../helpers/shared-app.ts'
import { lockHeads, until } from '../../helpers/wait.ts'
import { parseExposition, sampleOf } from './exposition.ts'

const TYPE = { name: 'counted', version: 1, payloadSchema: { type: 'object' } }

test('metrics of a server', async (t) => {
  const app = await buildTestApp(t)
  const read = () => app.deps.metrics.registry.metrics()
  const figure = async (name: string, labels: Record<string, string> = {}) =>
    sampleOf(await read(), `tallystick_${name}`, labels)

  await t.test('show how long a commit batch has been running, and what waits behind it', async (t) => {
    const release = await lockHeads(t, app.database.superuserUrl)
    const first = app.send('POST', '/v1/records', { body: genericBody() })
    await until(async () => (await figure('append_lanes_busy')) === 1)
    const second = app.send('POST', '/v1/records', { body: genericBody() })
    await until(async () => (await figure('append_queue_records')) === 1)
    assert.ok((await figure('append_queue_bytes')) > 100)
    await until(async () => (await figure('append_stalled_seconds')) > 0.05)
    assert.equal(await figure('database_connections', { pool: 'write', state: 'used' }), 1)
    await release()
    for (const response of await Promise.all([first, second])) expectStatus(201, response)
    await until(async () => (await figure('append_lanes_busy')) === 0)
    assert.equal(await figure('append_stalled_seconds'), 0)
  })

  await t.test('count retries of a commit batch because of one bad entry', async (t) => {
    const release = await lockHeads(t, app.database.superuserUrl)
    const add = (name: string) => app.send('POST', '/v1/agents', { body: { name } })
    const first = add('a')
    await until(async () => (await figure('append_lanes_busy')) === 1)
    const adding = ['one', 'one', 'b'].map(add)
    await until(async () => (await figure('append_queue_entries')) === 3)
    await release()
    const statuses = (await Promise.all([first, ...adding])).map(({ statusCode }) => statusCode)
    assert.deepEqual(statuses.sort(), [201, 201, 201, 409])
    assert.ok((await figure('append_retries_total', { cause: 'data' })) >= 1)
    assert.equal(await figure('append_outcomes_total', { status: 'failed' }), 1)
  })

  await t.test('count refused entries by reason', async () => {
    const { ledger } = app.ledger
    const operate = (action: string) =>
      app.send('POST', `/v1/ledgers/${ledger.id}/${action}`, {
        key: OPERATOR_KEY,
        body: {},
      })
    expectStatus(200, await operate('freeze'))
    assertProblem(await app.send('POST', '/v1/records', { body: genericBody() }), 403, 'ledger_frozen')
    assert.equal(await figure('append_refusals_total', { reason: 'frozen' }), 1)
    assert.equal(await figure('append_outcomes_total', { status: 'refused' }), 1)
    expectStatus(200, await operate('unfreeze'))
  })

  await t.test('count cache hits and misses, and the cost of schemas', async () => {
    expectStatus(201, await app.send('POST', '/v1/types', { body: TYPE }))
    const hitsBefore = await figure('key_cache_lookups_total', { result: 'hit' })
    for (let i = 0; i < 3; i++) await app.notarize({ type: 'counted/1', payload: {} })
    assert.ok((await figure('key_cache_lookups_total', { result: 'hit' })) > hitsBefore)
    assert.ok((await figure('key_cache_lookups_total', { result: 'miss' })) >= 1)
    assert.equal(await figure('type_cache_lookups_total', { part: 'server', result: 'miss' }), 1)
    assert.equal(await figure('type_cache_lookups_total', { part: 'server', result: 'hit' }), 2)
    assert.ok((await figure('type_cache_bytes', { part: 'server' })) > 0)
    assert.ok((await figure('schema_work_seconds_total', { part: 'server' })) > 0)
  })

  await t.test('count look-ups and their shared queries', async () => {
    const { id } = await app.notarize()
    const keys = await figure('lookup_keys_total', { lookup: 'records' })
    const queries = await figure('lookup_queries_total', { lookup: 'records' })
    await Promise.all(Array.from({ length: 10 }, () => app.send('GET', `/v1/records/${id}`)))
    assert.equal((await figure('lookup_keys_total', { lookup: 'records' })) - keys, 10)
    assert.ok((await figure('lookup_queries_total', { lookup: 'records' })) - queries < 10)
    assert.equal(await figure('lookup_waiting', { lookup: 'records' }), 0)
  })
})

test('every refusal reason of the database has its counter', async () => {
  const metrics = new Metrics()
  const observer = makeAppendObserver(metrics)
  const refused = APPEND_OUTCOMES.filter((outcome) => outcome.startsWith('refused_'))
  const reasons = refused.map((outcome) => outcome.slice('refused_'.length) as RefusalReason)
  const outcomes = reasons.map((reason) => ({ status: 'refused', reason }) as const)
  observer.committed({ entries: [], outcomes, records: 0, ms: 1, waitsMs: [] })
  const exposed = await metrics.registry.metrics()
  const figureOf = (name: string, labels: Record<string, string>) =>
    sampleOf(exposed, `tallystick_append_${name}_total`, labels)
  const counts = reasons.map((reason) => [reason, figureOf('refusals', { reason })])
  assert.deepEqual(
    counts,
    reasons.map((reason) => [reason, 1]),
  )
  assert.equal(figureOf('outcomes', { status: 'refused' }), reasons.length)
})

test('HTTP metrics of a listening server', async (t) => {
  const app = await sharedApp()
  const metrics = new Metrics()
  const server = await startServer(testConfig(app.database.apiUrl), undefined, metrics)
  t.after(() => server.close())
  const figure = async (name: string, labels: Record<string, string> = {}) =>
    sampleOf(await metrics.registry.metrics(), `tallystick_http_${name}`, labels)
  const { hostname, port } = new URL(server.url)
  const send = async (text: string) => {
    const socket = connect(Number(port), hostname)
      .on('error', () => {})
      .resume()
    await once(socket, 'connect')
    socket.write(text)
    return socket
  }
  const body = JSON.stringify(genericBody())
  const head = `POST /v1/records HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${app.ledger.key.key}\r\n`
  const request = `${head}content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`

  await t.test(
    'count open connections, and requests whose client disconnected before the answer',
    async (t) => {
      const release = await lockHeads(t, app.database.superuserUrl)
      const socket = await send(request)
      await until(async () => (await figure('requests_under_way')) === 1)
      assert.equal(await figure('connections'), 1)
      // The client resets the connection. A client that only half-closes may still wait for its answer.
      socket.resetAndDestroy()
      await until(async () => (await figure('requests_aborted_total')) === 1)
      await release()
      await until(async () => (await figure('connections')) === 0)
      await until(async () => (await figure('requests_under_way')) === 0)
    },
  )

  await t.test('count requests that are not HTTP', async () => {
    const socket = await send('nonsense\r\n\r\n')
    await once(socket, 'close')
    assert.equal(await figure('problems_total', { code: 'bad_request' }), 1)
    assert.equal(await figure('requests_aborted_total'), 1)
  })
})

test('counts failed attempts to get a connection from a pool', async (t) => {
  const app = await sharedApp()
  const metrics = new Metrics()
  const nowhere = new DatabasePool({ host: '127.0.0.1', port: 1, connectionTimeoutMillis: 1_000 })
  watchPool(metrics, 'nowhere', nowhere)
  const full = new DatabasePool({
    connectionString: app.database.apiUrl,
    max: 1,
    connectionTimeoutMillis: 100,
  })
  watchPool(metrics, 'full', full)
  t.after(() => full.end())
  await assert.rejects(nowhere.query('select'), /ECONNREFUSED/)
  await assert.rejects(nowhere.connect(), /ECONNREFUSED/)
  // The test connects in a loop, because on a busy machine the first connection may take more than the 100 ms that this
  // pool waits.
  let client = null
  for (let i = 0; client === null && i < 50; i++) client = await full.connect().catch(() => null)
  const before = full.failures.wait
  await assert.rejects(full.query('select'), /timeout exceeded/)
  client!.release()
  const failures = async (pool: string, failure: string) =>
    sampleOf(await metrics.registry.metrics(), 'tallystick_database_connection_failures_total', {
      pool,
      failure,
    })
  assert.equal(await failures('nowhere', 'connect'), 2)
  assert.equal(await failures('nowhere', 'wait'), 0)
  assert.equal((await failures('full', 'wait')) - before, 1)
  await full.query('select')
})

test('a hanging database delays a scrape only up to a timeout, and gets no second query', async () => {
  const metrics = new Metrics()
  const answer = Promise.withResolvers<number>()
  let asked = 0
  const ask = () => {
    asked++
    return asked === 1 ? answer.promise : Promise.resolve(asked)
  }
  const read = (value: number) => value
  queryGauges(metrics, ask, [
    { name: 'one', help: 'One', read },
    { name: 'other', help: 'Other', read },
  ])
  const scrape = async () => parseExposition(await metrics.registry.metrics()).get('other')!.samples
  const startedAt = performance.now()
  assert.deepEqual(await Promise.all([scrape(), scrape()]), [[], []])
  assert.ok(performance.now() - startedAt < METRICS_ANSWER_TIMEOUT_MS + 1_000)
  assert.equal(asked, 1)
  answer.resolve(1)
  await answer.promise
  await until(async () => (await scrape())[0]?.value === asked && asked > 1)
})

test('a duration counts in the first bucket whose bound it does not exceed', () => {
  const durations = new Durations([1, 10])
  for (const ms of [0.5, 1, 1.5, 10, 11]) durations.observe(ms)
  assert.deepEqual(
    durations
      .readings('d_seconds', { a: 'b' })
      .map(({ metricName, labels, value }) => [metricName, labels!['le'], value]),
    [
      ['d_seconds_bucket', '0.001', 2],
      ['d_seconds_bucket', '0.01', 4],
      ['d_seconds_bucket', '+Inf', 5],
      ['d_seconds_sum', undefined, 0.024],
      ['d_seconds_count', undefined, 5],
    ],
  )
})
