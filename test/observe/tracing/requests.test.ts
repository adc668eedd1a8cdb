import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { buildTestApp, expectStatus, genericBody } from '../../helpers/app.ts'
import { lockHeads, until } from '../../helpers/wait.ts'
import { newCaller, startCollector } from './collector.ts'

const CLOCKS_APART_MS = 5

test('traces of requests', async (t) => {
  const collector = await startCollector(t)
  const app = await buildTestApp(t, { environment: collector.environment })

  await t.test('writing a record is a span in the caller’s trace, with its commit as child', async () => {
    const { traceId, spanId, headers } = newCaller()
    const record = await app.notarize(undefined, {
      headers: { ...headers, tracestate: 'vendor=1,other=2' },
    })
    const spans = await collector.ofTrace(traceId, 2)
    const request = spans.find(({ name }) => name === 'POST /v1/records')!
    assert.equal(request.kind, 'server')
    assert.equal(request.parentId, spanId)
    assert.equal(request.traceState, 'vendor=1,other=2')
    assert.equal(request.isError, false)
    const { 'tallystick.request.id': requestId, ...attributes } = request.attributes
    assert.match(String(requestId), /^req_[0-9a-f]{32}$/)
    assert.deepEqual(attributes, {
      'http.request.method': 'POST',
      'http.route': '/v1/records',
      'http.response.status_code': 201,
      'url.scheme': 'http',
      'url.path': '/v1/records',
      'network.protocol.version': '1.1',
      'tallystick.ledger.id': app.ledger.ledger.id,
      'tallystick.record.id': record.id,
    })
    assert.equal(request.resource['service.name'], 'tallystick-server')

    const append = spans.find(({ name }) => name === 'append')!
    assert.equal(append.parentId, request.spanId)
    assert.equal(append.attributes['tallystick.append.outcome'], 'appended')
    assert.equal(append.attributes['tallystick.entry.kind'], 'record-notarized')
    assert.equal(append.attributes['tallystick.entry.seq'], record.entry.seq)
    assert.ok(Number(append.attributes['tallystick.append.wait_ms']) >= 0)
    // The times are from two clocks. A busy machine may read them at different times.
    assert.ok(append.startedAtMs >= request.startedAtMs - CLOCKS_APART_MS)
    assert.ok(append.endedAtMs <= request.endedAtMs + CLOCKS_APART_MS)
  })

  await t.test('a commit batch and the requests that waited for it link to each other', async (t) => {
    const callers = [newCaller(), newCaller(), newCaller()]
    const release = await lockHeads(t, app.database.superuserUrl)
    const first = app.notarize(undefined, newCaller())
    await sleep(100)
    const sent = callers.map((caller) => app.notarize(undefined, caller))
    await sleep(100)
    await release()
    await Promise.all([first, ...sent])
    const appends = []
    for (const { traceId } of callers)
      appends.push((await collector.ofTrace(traceId, 2)).find(({ name }) => name === 'append')!)
    const { links } = appends[0]!
    assert.equal(links.length, 1)
    for (const append of appends) assert.deepEqual(append.links, links)
    const commit = (await collector.ofTrace(links[0]!.traceId, 1))[0]!
    assert.equal(commit.name, 'append_entries')
    assert.equal(commit.kind, 'client')
    assert.equal(commit.parentId, '')
    assert.deepEqual(
      commit.links.map(({ spanId }) => spanId).toSorted(),
      appends.map(({ spanId }) => spanId).toSorted(),
    )
    assert.equal(commit.attributes['tallystick.batch.entries'], 3)
    assert.equal(commit.attributes['tallystick.batch.appended'], 3)
    for (const append of appends) {
      const waitMs = Number(append.attributes['tallystick.append.wait_ms'])
      assert.ok(waitMs >= 50, `${waitMs}`)
      assert.ok(Math.abs(append.startedAtMs + waitMs - commit.startedAtMs) < CLOCKS_APART_MS)
    }
  })

  await t.test('a span of a batch of records has the batch’s id', async () => {
    const { traceId, headers } = newCaller()
    const body = { records: [genericBody(), genericBody()] }
    const answer = await app.send('POST', '/v1/records/batch', { body, headers })
    const { batch } = expectStatus(201, answer).json()
    const spans = await collector.ofTrace(traceId, 2)
    const request = spans.find(({ kind }) => kind === 'server')!
    assert.equal(request.attributes['tallystick.batch.id'], batch)
    assert.equal(spans.find(({ name }) => name === 'append')!.attributes['tallystick.records'], 2)
  })

  await t.test('a replayed request has no attribute for a new record', async () => {
    const key = { 'idempotency-key': 'traced-twice' }
    const first = await app.notarize(undefined, { headers: key })
    const { traceId, headers } = newCaller()
    const again = await app.notarize(undefined, { headers: { ...key, ...headers } })
    assert.equal(again.id, first.id)
    const spans = await collector.ofTrace(traceId, 2)
    const append = spans.find(({ name }) => name === 'append')!
    assert.equal(append.attributes['tallystick.append.outcome'], 'replayed')
    assert.equal(spans.find(({ kind }) => kind === 'server')!.attributes['tallystick.record.id'], undefined)
  })

  await t.test('a refused request has its problem code, without error status', async () => {
    const { traceId, headers } = newCaller()
    const secret = 'a payload that nobody may see'
    const body = { type: 'none/1', payload: { secret } }
    await app.send('POST', '/v1/records', { body, headers: { ...headers, 'user-agent': secret } })
    const [request] = await collector.ofTrace(traceId, 1)
    assert.equal(request!.attributes['http.response.status_code'], 422)
    assert.equal(request!.attributes['tallystick.error.code'], 'unknown_type')
    assert.equal(request!.isError, false)
    assert.doesNotMatch(JSON.stringify(collector.spans), new RegExp(`${secret}|${app.ledger.key.key}`))
  })

  await t.test('a server fault has error status, with its code', async () => {
    const { traceId, headers } = newCaller()
    await app.sql('alter table tallystick.records rename to records_away')
    try {
      await app.send('GET', '/v1/records?type=generic/1', { headers })
    } finally {
      await app.sql('alter table tallystick.records_away rename to records')
    }
    const [request] = await collector.ofTrace(traceId, 1)
    assert.equal(request!.attributes['http.response.status_code'], 503)
    assert.equal(request!.attributes['error.type'], 'unavailable')
    assert.equal(request!.isError, true)
    assert.equal(request!.attributes['url.path'], '/v1/records')
  })

  await t.test('the span of an unknown path is named by method only, with the path cut', async () => {
    const { traceId, headers } = newCaller()
    await app.send('GET', `/nowhere/${'x'.repeat(5_000)}?secret=1`, { headers })
    const [request] = await collector.ofTrace(traceId, 1)
    assert.equal(request!.name, 'GET')
    assert.equal(String(request!.attributes['url.path']).length, 256)
    assert.equal(request!.attributes['http.response.status_code'], 404)
  })

  await t.test('a request that its caller does not sample has no span', async () => {
    const { traceId, headers } = newCaller('00')
    await app.notarize(undefined, { headers })
    const later = newCaller()
    await app.notarize(undefined, later)
    await collector.ofTrace(later.traceId, 2)
    assert.deepEqual(
      collector.spans.filter((span) => span.traceId === traceId),
      [],
    )
  })

  for (const [what, header] of [
    ['without a traceparent', null],
    ['with a malformed traceparent', '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7'],
    ['with a traceparent of zeros', '00-00000000000000000000000000000000-00f067aa0ba902b7-01'],
  ] as const) {
    await t.test(`a request ${what} begins a trace`, async () => {
      const record = await app.notarize(undefined, {
        headers: header === null ? {} : { traceparent: header },
      })
      const own = () => collector.spans.find((span) => span.attributes['tallystick.record.id'] === record.id)
      await until(() => own() !== undefined)
      assert.equal(own()!.parentId, '')
      assert.match(own()!.traceId, /^(?!0{32})[0-9a-f]{32}$/)
    })
  }

  await t.test('probes have no span', async () => {
    await app.send('GET', '/livez', { key: null })
    await app.send('GET', '/readyz', { key: null })
    const { traceId, headers } = newCaller()
    await app.notarize(undefined, { headers })
    await collector.ofTrace(traceId, 2)
    assert.deepEqual(
      collector.spans.filter(({ name }) => /livez|readyz/.test(name)),
      [],
    )
  })
})
