import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { Webhook } from 'standardwebhooks'
import { WEBHOOK_POLL_MS } from '../../../src/outside/webhooks/limits.ts'
import { expectStatus } from '../../helpers/app.ts'
import { until } from '../../helpers/wait.ts'
import { buildStage, type Endpoint } from '../../helpers/webhook-stage.ts'

const RECORDED = { events: ['record.recorded'] }
const ok = (_: unknown, response: ServerResponse) => void response.writeHead(204).end()
const fails = (_: unknown, response: ServerResponse) => void response.writeHead(500).end()
const slowly = (_: unknown, response: ServerResponse) =>
  void setTimeout(() => response.writeHead(204).end(), 300)

test('requests about an endpoint', { concurrency: true }, async (t) => {
  const stage = await buildStage(t)
  const notarizeMany = (count: number, type = 'generic/1') =>
    Promise.all(Array.from({ length: count }, (_, n) => stage.notarize({ type, payload: { n } })))
  const idsOf = (endpoint: Endpoint) => endpoint.received().map(({ id }) => id)
  const countOf = async (endpoint: Endpoint, state: string) =>
    (await endpoint.deliveries(`?state=${state}`)).length
  const giveUp = (endpoint: Endpoint) =>
    endpoint.sql(
      `update tallystick.webhook_deliveries set state = 'dead', due_at = null, finished_at = now()
       where webhook_id = $1 and state in ('pending', 'held')`,
    )
  const deadEndpoint = async (t: TestContext, count: number, type = 'generic/1') => {
    const endpoint = await stage.subscribe(t, { ...RECORDED, types: [type] }, fails)
    await notarizeMany(count, type)
    await until(async () => (await countOf(endpoint, 'pending')) === count)
    await endpoint.rests()
    await giveUp(endpoint)
    endpoint.receiver.answer = ok
    return endpoint
  }

  // The tests run concurrently: each has its own endpoint and events.
  await Promise.all([
    t.test('redelivers one event with the same id and body, then all dead deliveries', async (t) => {
      const endpoint = await deadEndpoint(t, 3)
      const [first] = endpoint.received()
      const asked = await endpoint.ask('POST', `/deliveries/${first!.id}/redeliver`)
      assert.deepEqual([asked.id, asked.state], [first!.id, 'pending'])
      await endpoint.hears(4)
      const again = endpoint.received().at(-1)!
      assert.deepEqual([again.id, again.body], [first!.id, first!.body])
      await until(async () => (await countOf(endpoint, 'delivered')) === 1)
      assert.deepEqual(await endpoint.ask('POST', '/redeliver-dead'), { redelivered: 2, more: false })
      await endpoint.hears(6)
      await until(async () => (await countOf(endpoint, 'delivered')) === 3)
      assert.equal(new Set(idsOf(endpoint)).size, 3)
      await endpoint.ask('POST', `/deliveries/${first!.id}/redeliver`)
      await endpoint.hears(7)
      assert.equal(idsOf(endpoint).at(-1), first!.id)
    }),
    t.test('redelivers the dead deliveries of a record in order', async (t) => {
      const states = ['record.created', 'record.activated', 'record.cancelled']
      const endpoint = await stage.subscribe(t, { events: states }, fails)
      const { id } = await stage.create()
      await stage.take(id, 'activate')
      await stage.take(id, 'cancel')
      await until(async () => (await countOf(endpoint, 'held')) === 2)
      await endpoint.rests()
      await giveUp(endpoint)
      endpoint.receiver.answer = slowly
      assert.deepEqual(await endpoint.ask('POST', '/redeliver-dead'), { redelivered: 3, more: false })
      await endpoint.hears(4)
      assert.deepEqual(
        endpoint
          .received()
          .slice(1)
          .map(({ event }) => event.type),
        states,
      )
    }),
    t.test(
      'recovers the undelivered events of a time range, or all events if `delivered` is set',
      async (t) => {
        const since = new Date().toISOString()
        // A recovery also includes events that are up to a minute older than `since`. So the test needs events of its
        // own type.
        const body = { name: 'order', version: 1, payloadSchema: {} }
        expectStatus(201, await stage.send('POST', '/v1/types', { body }))
        const endpoint = await deadEndpoint(t, 2, 'order/1')
        await notarizeMany(2, 'order/1')
        await endpoint.hears(4)
        await until(async () => (await countOf(endpoint, 'delivered')) === 2)
        await endpoint.ask('POST', '/recover', { since })
        await endpoint.hears(6)
        await until(async () => (await countOf(endpoint, 'delivered')) === 4)
        await endpoint.rests()
        assert.deepEqual([idsOf(endpoint).length, new Set(idsOf(endpoint)).size], [6, 4])
        const [delivery] = (await endpoint.deliveries()).filter(({ attempts }) => attempts === 2)
        assert.equal(delivery.attempts, 2, 'the attempts before are still told')
        await endpoint.ask('POST', '/recover', { since, delivered: true })
        await until(() => idsOf(endpoint).length >= 10)
        await endpoint.rests()
        assert.deepEqual([idsOf(endpoint).length, new Set(idsOf(endpoint).slice(6)).size], [10, 4])
      },
    ),
    t.test('sends a test event about the endpoint at once', async (t) => {
      const endpoint = await stage.subscribe(t, { events: ['record.cancelled'] })
      const { id } = await endpoint.ask('POST', '/test')
      await endpoint.hears(1)
      const [received] = endpoint.received()
      assert.deepEqual(
        [received!.id, received!.event.type, received!.event.data.webhook],
        [id, 'webhook.test', { id: endpoint.id }],
      )
    }),
  ])

  await t.test('recovers events that did not match the earlier settings', async (t) => {
    const since = new Date().toISOString()
    const endpoint = await stage.subscribe(t, { events: ['record.created'] })
    const record = await stage.notarize()
    await until(async () => (await endpoint.ask('GET')).standing.behind === 0)
    await endpoint.rests()
    await endpoint.ask('PATCH', '', RECORDED)
    await endpoint.ask('POST', '/recover', { since })
    await until(() => endpoint.received().some(({ event }) => event.data.record.id === record.id))
  })

  await t.test(
    'delivers each event exactly once while the endpoint is changed, paused and resumed',
    async (t) => {
      const endpoint = await stage.subscribe(t, RECORDED, slowly)
      const elsewhere = await stage.subscribe(t, { events: ['record.cancelled'] })
      await notarizeMany(8)
      await endpoint.hears(1)
      await endpoint.ask('PATCH', '', { url: `${elsewhere.receiver.url}?other`, include: ['envelope'] })
      await until(() => elsewhere.received().length > 0)
      assert.equal(typeof elsewhere.received()[0]!.event.data.envelope, 'string')
      elsewhere.receiver.answer = slowly
      await notarizeMany(8)
      await endpoint.ask('POST', '/pause')
      await sleep(700)
      const whilePaused = endpoint.received().length + elsewhere.received().length
      await notarizeMany(4)
      await sleep(400)
      assert.equal(endpoint.received().length + elsewhere.received().length, whilePaused)
      await endpoint.ask('POST', '/resume')
      const all = () => [...idsOf(endpoint), ...idsOf(elsewhere)]
      await until(() => new Set(all()).size === 20)
      assert.equal(all().length, 20)
    },
  )

  await t.test('resuming during a delivery keeps the pending retries', async (t) => {
    const endpoint = await stage.subscribe(t, RECORDED, fails)
    await stage.notarize()
    await until(async () => (await countOf(endpoint, 'pending')) === 1)
    // The sender still waits for its retry. The resume takes the lease from the sender.
    await endpoint.ask('POST', '/resume')
    await sleep(300)
    endpoint.receiver.answer = ok
    await endpoint.hears(2)
  })

  await t.test('after a rotation during a delivery, sends both signatures, newest first', async (t) => {
    const endpoint = await stage.subscribe(t, RECORDED, slowly)
    await notarizeMany(8)
    await endpoint.hears(1)
    const { secret } = await endpoint.ask('POST', '/rotate-secret', {})
    await sleep(500)
    await notarizeMany(4)
    await endpoint.hears(12)
    const last = endpoint.received().at(-1)!
    assert.equal(String(last.headers['webhook-signature']).split(' ').length, 4)
    for (const one of [endpoint.secret, secret])
      new Webhook(one).verify(last.body, last.headers as Record<string, string>)
    for (const { body, headers } of endpoint.received())
      new Webhook(endpoint.secret).verify(body, headers as Record<string, string>)
  })

  await t.test(
    'after a deletion during a delivery, sends nothing more and removes the endpoint',
    async (t) => {
      // Requests stay unanswered, so that the worker sends no further request before it has read the endpoint again.
      const waiting: ServerResponse[] = []
      const endpoint = await stage.subscribe(t, RECORDED, (_, response) => void waiting.push(response))
      const other = await stage.subscribe(t, RECORDED)
      await notarizeMany(20)
      await endpoint.hears(1)
      await endpoint.ask('DELETE')
      await sleep(20 * WEBHOOK_POLL_MS)
      const heard = endpoint.received().length
      assert.ok(heard < 20)
      for (const response of waiting) response.writeHead(204).end()
      await notarizeMany(2)
      await other.hears(22)
      assert.equal(endpoint.received().length, heard)
    },
  )
})
