import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { peer, startOrganisations } from '../../helpers/federation.ts'
import { until } from '../../helpers/wait.ts'
import { buildStage } from '../../helpers/webhook-stage.ts'
import { newCaller, startCollector } from '../../observe/tracing/collector.ts'

test('traces of a worker', async (t) => {
  const collector = await startCollector(t)
  const stage = await buildStage(t, { environment: collector.environment })
  await t.test('of a lifecycle, from creation to signal', async (t) => {
    const endpoint = await stage.subscribe(t, { events: ['completion.verified', 'signal.emitted'] })
    const [creator, performer, judge] = [newCaller(), newCaller(), newCaller()]
    const { id } = await stage.create({}, creator)
    await stage.take(id, 'activate')
    await stage.take(id, 'completions', performer)
    await endpoint.hears(1, 'completion.verified')
    await stage.take(id, 'verdict', judge)
    await endpoint.hears(1, 'signal.emitted')

    await t.test('each step is a span of its caller’s trace', async () => {
      const created = await collector.ofTrace(creator.traceId, 2)
      assert.equal(created.find(({ kind }) => kind === 'server')!.parentId, creator.spanId)
      const [complete] = await collector.received('POST /v1/records/:id/completions')
      assert.equal(complete!.traceId, performer.traceId)
      assert.equal(complete!.attributes['tallystick.record.id'], id)
      assert.equal(complete!.attributes['url.path'], `/v1/records/${id}/completions`)
      const [verdict] = await collector.received('POST /v1/records/:id/verdict')
      assert.equal(verdict!.parentId, judge.spanId)
    })

    await t.test(
      'the worker’s verification is in the completion’s trace, and linked to its round or job',
      async () => {
        const [verified] = await collector.received('verify completion')
        assert.equal(verified!.traceId, performer.traceId)
        assert.equal(verified!.parentId, performer.spanId)
        assert.equal(verified!.resource['service.name'], 'tallystick-worker')
        assert.equal(verified!.attributes['tallystick.verification.outcome'], 'pass')
        assert.equal(verified!.attributes['tallystick.record.id'], id)
        const [work] = verified!.links
        const [round] = await collector.ofTrace(work!.traceId, 1)
        assert.equal(round!.spanId, work!.spanId)
        assert.match(round!.name, /^round completions$|^job verify-completion$/)
      },
    )

    await t.test('a delivery is in the trace of its entry’s step, or else of its record', async () => {
      const [signal] = await collector.received('deliver signal.emitted')
      assert.equal(signal!.kind, 'client')
      assert.equal(signal!.traceId, judge.traceId)
      assert.equal(signal!.parentId, judge.spanId)
      assert.equal(signal!.attributes['http.response.status_code'], 204)
      assert.equal(signal!.attributes['server.address'], '127.0.0.1')
      assert.equal(signal!.attributes['tallystick.record.id'], id)
      assert.equal(signal!.attributes['tallystick.webhook.id'], endpoint.id)
      assert.equal(signal!.isError, false)
      const [verified] = await collector.received('deliver completion.verified')
      assert.equal(verified!.traceId, creator.traceId)
    })

    await t.test('the receiver gets no traceparent', () => {
      for (const { headers } of endpoint.receiver.received) assert.equal(headers['traceparent'], undefined)
    })
  })

  await t.test('a failed delivery is an error span, and the next attempt has a resend count', async (t) => {
    const failing = await stage.subscribe(t, { events: ['record.recorded'] }, (_, response) =>
      response.writeHead(500).end(),
    )
    const caller = newCaller()
    await stage.notarize(undefined, caller)
    await failing.hears(2, 'record.recorded', 20_000)
    const [first, second] = await collector.received('deliver record.recorded', 2)
    assert.equal(first!.traceId, caller.traceId)
    assert.equal(first!.isError, true)
    assert.equal(first!.attributes['error.type'], '500')
    assert.equal(first!.attributes['http.request.resend_count'], undefined)
    assert.equal(second!.attributes['http.request.resend_count'], 1)
    assert.equal(JSON.stringify(collector.spans).includes('/hook'), false)
  })

  await t.test('a webhook lease is a span of its job', async () => {
    const [turn] = await collector.received('job deliver-webhook')
    assert.equal(turn!.kind, 'consumer')
    assert.equal(turn!.attributes['tallystick.queue'], 'deliver-webhook')
    assert.equal(turn!.attributes['tallystick.jobs'], 1)
  })

  await t.test('rounds with work have a span, and idle rounds have none', async () => {
    await collector.received('round checkpoints')
    await collector.received('round completions')
    await collector.received('round entries')
    const rounds = () => collector.spans.filter(({ name }) => name.startsWith('round ')).length
    // After 3 s all work is done. If idle rounds made spans, the following 3 s would have 150 spans.
    await sleep(3_000)
    const before = rounds()
    await sleep(3_000)
    assert.ok(rounds() - before <= 3, `${rounds() - before} rounds`)
  })
})

test('a request to a peer is a span of its own job, and the peer’s work is another trace', async (t) => {
  const collector = await startCollector(t)
  const [home, guest] = await startOrganisations(t, 2, { environment: collector.environment })
  const id = await peer(home!, guest!)
  const [introduced] = await collector.received('POST /v1/federation/peerings', 2)
  const [sent] = (await collector.received('POST /v1/federation/entries', 2)).filter(
    ({ kind }) => kind === 'client',
  )
  assert.equal(introduced!.isError, false)
  assert.equal(sent!.attributes['tallystick.peer.id'], id)
  assert.equal(sent!.attributes['tallystick.ledger.id'], guest!.ledger)
  assert.equal(sent!.attributes['server.port'], Number(new URL(home!.url).port))
  // A job ends after its requests, so the job's span is exported after the spans of the requests.
  const findTurn = async () =>
    (await collector.received('job drain-peer')).find(({ spanId }) => spanId === sent!.parentId)
  await until(async () => (await findTurn()) !== undefined)
  assert.equal((await findTurn())!.traceId, sent!.traceId)
  const served = collector.spans.filter(
    ({ name, kind }) => name === 'POST /v1/federation/entries' && kind === 'server',
  )
  assert.ok(served.length > 0 && served.every(({ traceId }) => traceId !== sent!.traceId))
  await home!.stop('api')
  await guest!.ask('POST', `/v1/peers/${id}/suspend`, { body: {} })
  await guest!.ask('POST', `/v1/peers/${id}/revoke`, { body: {} })
  const failed = async () =>
    (await collector.received('POST /v1/federation/entries')).find(({ isError }) => isError)
  await until(async () => (await failed()) !== undefined, 20_000)
  assert.equal((await failed())!.attributes['error.type'], 'connect_failed')
})
