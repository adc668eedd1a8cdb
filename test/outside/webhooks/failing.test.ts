import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { WEBHOOK_OPEN_MAX } from '../../../src/outside/webhooks/limits.ts'
import { genericBody } from '../../helpers/app.ts'
import { until } from '../../helpers/wait.ts'
import { buildStage, type Endpoint } from '../../helpers/webhook-stage.ts'

const STATES = ['record.created', 'record.activated', 'record.cancelled']
const RECORDED = { events: ['record.recorded'] }

test('endpoints that fail', { concurrency: true }, async (t) => {
  const stage = await buildStage(t)

  const ok = (_: unknown, response: ServerResponse) => void response.writeHead(204).end()
  const answers = (status: number) => (_: unknown, response: ServerResponse) =>
    void response.writeHead(status).end()

  async function threeEvents(): Promise<string> {
    const { id } = await stage.create()
    await stage.take(id, 'activate')
    await stage.take(id, 'cancel')
    return id
  }

  /** Makes deliveries due that are pending after `attempts` attempts. Repeats this until `condition` holds. */
  async function hurry(endpoint: Endpoint, attempts: number, condition: () => boolean | Promise<boolean>) {
    await until(async () => {
      if (await condition()) return true
      await endpoint.sql(
        `update tallystick.webhook_deliveries set due_at = now()
       where webhook_id = $1 and state = 'pending' and attempts = ${attempts}`,
      )
      await endpoint.sql(
        'update tallystick.webhook_cursors set due_at = now(), resume_at = null where webhook_id = $1',
      )
      await sleep(50)
      return false
    })
  }

  const standing = async (endpoint: Endpoint) => (await endpoint.ask('GET')).standing

  // Runs concurrently with the next tests, whose records differ.
  const sentAgain = t.test(
    'a failed delivery is repeated after 5 s with the same id, before later events of its record',
    async (t) => {
      let failing = ''
      const endpoint = await stage.subscribe(t, { events: STATES }, (received, response) => {
        if (failing !== '') return ok(received, response)
        failing = received.event.data.record.id
        answers(500)(received, response)
      })
      const slow = await threeEvents()
      const other = await threeEvents()
      await endpoint.hears(4)
      const of = (record: string) =>
        endpoint.received().filter(({ event }) => event.data.record.id === record)
      const typesOf = (record: string) => of(record).map(({ event }) => event.type)
      assert.deepEqual([typesOf(slow), typesOf(other)], [['record.created'], STATES])
      await until(async () => (await standing(endpoint)).held === 2)
      const [last, , first] = await endpoint.deliveries(`?record=${slow}`)
      assert.deepEqual([last.state, first.state, first.attempts], ['held', 'pending', 1])
      await endpoint.hears(7)
      assert.deepEqual(typesOf(slow), ['record.created', ...STATES])
      const [failed, again] = of(slow)
      assert.deepEqual([again!.id, again!.body], [failed!.id, failed!.body])
      const waitedMs = again!.atMs - failed!.atMs
      assert.ok(waitedMs > 4_400 && waitedMs < 6_500, `tried again after ${waitedMs} ms`)
      await until(async () => (await standing(endpoint)).pending === 0)
      const { state, attemptLog } = await endpoint.ask('GET', `/deliveries/${failed!.id}`)
      const statuses = attemptLog.map(({ status }: { status: number }) => status)
      assert.deepEqual([state, statuses], ['delivered', [500, 204]])
    },
  )

  await t.test(
    'an endpoint at its limit of open deliveries still gets due deliveries, after any number of failures',
    async (t) => {
      let isUp = false
      const endpoint = await stage.subscribe(t, RECORDED, (received, response) =>
        answers(isUp ? 204 : 500)(received, response),
      )
      await stage.notarize(genericBody())
      await until(async () => (await standing(endpoint)).pending === 1)
      await endpoint.rests()
      await endpoint.sql(
        `insert into tallystick.webhook_deliveries
         (ledger_id, webhook_id, event_id, event, seq, place, record_id, state, tries, attempts, attempt_log)
       select ledger_id, webhook_id, gen_random_uuid(), 'record.recorded', 0, 0, gen_random_uuid(), 'held', 0, 0, '[]'
       from tallystick.webhooks cross join generate_series(1, ${WEBHOOK_OPEN_MAX}) where webhook_id = $1`,
      )
      isUp = true
      // With an even number of failures, the worker sends a new delivery before the waiting ones.
      await endpoint.sql('update tallystick.webhook_cursors set failures = 6 where webhook_id = $1')
      await hurry(endpoint, 1, async () => (await standing(endpoint)).pending === 0)
      assert.equal(endpoint.received().length, 2)
    },
  )

  await t.test(
    '410 disables an endpoint and emits webhook.paused; resuming delivers the missed events',
    async (t) => {
      const other = await stage.subscribe(t, { events: ['webhook.paused'] })
      const endpoint = await stage.subscribe(t, RECORDED, answers(410))
      await stage.notarize()
      await other.hears(1)
      const { state, reason } = await endpoint.ask('GET')
      assert.deepEqual([state, reason], ['disabled', 'gone'])
      assert.equal((await standing(endpoint)).pending, 1)
      const { type, data } = other.received()[0]!.event
      assert.equal(type, 'webhook.paused')
      assert.deepEqual(data.webhook, { id: endpoint.id, state: 'disabled', reason: 'gone' })
      await stage.notarize()
      await sleep(500)
      assert.equal(endpoint.received().length, 1)
      endpoint.receiver.answer = ok
      await endpoint.ask('POST', '/resume', {})
      await hurry(endpoint, 1, () => endpoint.received().length === 3)
      assert.equal(new Set(endpoint.received().map(({ id }) => id)).size, 2)
    },
  )

  for (const status of [429, 500, 522]) {
    await t.test(
      `${status} with Retry-After pauses an endpoint for that time, at most an hour`,
      async (t) => {
        let asked: string | string[] = ['10', '30']
        const endpoint = await stage.subscribe(t, RECORDED, (_, response) => {
          response.setHeader('retry-after', asked).writeHead(status).end()
        })
        const resumeMs = async () => Date.parse((await standing(endpoint)).resumeAt) - Date.now()
        await stage.notarize()
        await until(async () => (await resumeMs()) > 25_000)
        assert.ok((await resumeMs()) < 30_100)
        await stage.notarize()
        await sleep(400)
        assert.equal(endpoint.received().length, 1)
        asked = '999999999999999'
        await endpoint.ask('POST', '/resume', {})
        await until(async () => (await resumeMs()) > 3_590_000)
        assert.ok((await resumeMs()) <= 3_600_100)
        const dues = (await endpoint.deliveries('?state=pending')).map(
          ({ dueAt }) => Date.parse(dueAt) - Date.now(),
        )
        assert.ok(dues.some((ms) => ms > 3_590_000))
      },
    )
  }

  await t.test(
    'after five failures in a row an endpoint that is down gets pauses and single attempts',
    async (t) => {
      let underWay = 0
      let most = 0
      const endpoint = await stage.subscribe(t, RECORDED)
      const records = Array.from({ length: 60 }, (_, n) => genericBody({ n }))
      await Promise.all(records.map((body) => stage.notarize(body)))
      await endpoint.hears(60)
      endpoint.receiver.answer = (_, response) => {
        most = Math.max(most, ++underWay)
        setTimeout(() => {
          underWay--
          response.writeHead(521).end()
        }, 50)
      }
      await Promise.all(records.map((body) => stage.notarize(body)))
      await until(async () => (await standing(endpoint)).failures >= 5)
      await endpoint.rests()
      const { failures, resumeAt } = await standing(endpoint)
      const pauseMs = Date.parse(resumeAt) - Date.now()
      assert.equal(failures, 5)
      assert.ok(pauseMs > 2_000 && pauseMs < 5_600, `left alone for ${pauseMs} ms`)
      assert.ok(most > 5, `${most} failed at once`)
      const heard = endpoint.received().length
      most = 0
      await hurry(endpoint, 1, () => endpoint.received().length > heard)
      await until(async () => (await standing(endpoint)).failures === 6)
      assert.deepEqual([most, endpoint.received().length], [1, heard + 1])
      endpoint.receiver.answer = ok
      await endpoint.ask('POST', '/resume', {})
      for (const attempts of [1, 2])
        await hurry(
          endpoint,
          attempts,
          async () => !(await endpoint.deliveries('?state=pending')).some((one) => one.attempts === attempts),
        )
      await until(() => new Set(endpoint.received().map(({ id }) => id)).size === 120)
      await until(async () => (await standing(endpoint)).pending === 0)
      assert.equal((await standing(endpoint)).failingSince, null)
    },
  )

  await t.test(
    'five days of failures pause an endpoint; resuming delivers all missed events or none',
    async (t) => {
      const other = await stage.subscribe(t, { events: ['webhook.paused'] })
      const resumed = [
        { from: 'here', heard: 3, endpoint: await stage.subscribe(t, RECORDED, answers(500)) },
        { from: 'now', heard: 2, endpoint: await stage.subscribe(t, RECORDED, answers(500)) },
      ]
      const each = (act: (one: (typeof resumed)[number]) => Promise<void>) => Promise.all(resumed.map(act))
      await stage.notarize(genericBody({ failed: true }))
      await each(async ({ endpoint }) => {
        await until(async () => (await standing(endpoint)).failingSince !== null)
        await endpoint.rests()
        await endpoint.sql(
          `update tallystick.webhook_cursors set failing_since = now() - interval '5 days 1 minute', failing_days = 4,
             last_failure_at = now() - interval '11 hours' where webhook_id = $1`,
        )
        assert.equal((await endpoint.ask('GET')).state, 'active')
        const isTold = () => other.received().some(({ event }) => event.data.webhook.id === endpoint.id)
        await hurry(endpoint, 1, isTold)
        const { state, reason } = await endpoint.ask('GET')
        assert.deepEqual([state, reason], ['paused', 'failing'])
        endpoint.receiver.answer = ok
      })
      await stage.notarize(genericBody({ missed: true }))
      const before = new Map(resumed.map(({ endpoint }) => [endpoint, endpoint.received().length]))
      await each(async ({ from, endpoint }) => {
        const { state, standing } = await endpoint.ask('POST', '/resume', { from })
        assert.deepEqual([state, standing.failures], ['active', 0])
      })
      await stage.notarize(genericBody({ after: true }))
      await each(async ({ heard, endpoint }) => {
        // The endpoint also gets the delivery that failed before, even with `from: 'now'`, because the worker repeats
        // that delivery after the resume.
        const heardAll = before.get(endpoint)! + heard
        await hurry(endpoint, 2, () => endpoint.received().length >= heardAll)
        await endpoint.rests()
        assert.equal(endpoint.received().length, heardAll)
      })
    },
  )

  await sentAgain
  await t.test(
    'a delivery is dead after eight attempts, redirects included; later events of its record follow',
    async (t) => {
      const endpoint = await stage.subscribe(t, { events: STATES }, ({ event }, response) => {
        response.writeHead(event.type === 'record.created' ? 302 : 204, { location: '/elsewhere' }).end()
      })
      const record = await threeEvents()
      const dues: number[] = []
      for (let attempts = 1; attempts < 8; attempts++) {
        await until(async () => (await endpoint.deliveries('?state=pending'))[0]?.attempts === attempts)
        const [delivery] = await endpoint.deliveries('?state=pending')
        dues.push((Date.parse(delivery.dueAt) - Date.now()) / 1_000)
        await hurry(endpoint, attempts, () => endpoint.received().length > attempts)
      }
      await hurry(endpoint, 0, () => endpoint.received().length === 10)
      for (const [i, seconds] of [5, 300, 1_800, 7_200, 18_000, 36_000, 36_000].entries())
        assert.ok(Math.abs(dues[i]! - seconds) < seconds * 0.1 + 2, `the ${i}th comes after ${dues[i]} s`)
      assert.deepEqual(
        endpoint.received().map(({ event }) => event.type),
        [...Array(8).fill(STATES[0]), STATES[1], STATES[2]],
      )
      await until(async () => (await endpoint.deliveries('?state=delivered')).length === 2)
      const [dead] = await endpoint.deliveries(`?state=dead&record=${record}`)
      assert.deepEqual([dead.state, dead.attempts, dead.dueAt], ['dead', 8, null])
      const { attemptLog } = await endpoint.ask('GET', `/deliveries/${dead.id}`)
      assert.deepEqual(new Set(attemptLog.map(({ status }: { status: number }) => status)), new Set([302]))
    },
  )

  await t.test('an attempt stores the reason of a failed handshake', async (t) => {
    const endpoint = await stage.subscribe(t, RECORDED)
    await endpoint.ask('PATCH', '', { url: endpoint.receiver.url.replace('http:', 'https:') })
    await stage.notarize()
    await until(async () => (await endpoint.deliveries('?state=pending'))[0]?.attempts === 1)
    const [{ id }] = await endpoint.deliveries()
    const { attemptLog } = await endpoint.ask('GET', `/deliveries/${id}`)
    assert.equal(attemptLog[0].error, 'tls_failed')
    assert.match(attemptLog[0].reason, /^ERR_SSL_(PACKET_LENGTH_TOO_LONG|WRONG_VERSION_NUMBER)$/)
  })

  await t.test('an endpoint that refuses some events still gets the others at once', async (t) => {
    const endpoint = await stage.subscribe(t, {}, ({ event }, response) => {
      response.writeHead(event.type === 'record.created' ? 500 : 204).end()
    })
    for (let i = 0; i < 15; i++) await stage.create()
    await until(async () => (await standing(endpoint)).pending >= 15)
    assert.equal((await standing(endpoint)).resumeAt, null)
    await stage.notarize()
    await endpoint.hears(1, 'record.recorded', 3_000)
  })

  await t.test(
    'after twenty refusals in a row an endpoint gets pauses, and new events between old ones',
    async (t) => {
      const endpoint = await stage.subscribe(t, {}, ({ event }, response) => {
        response.writeHead(event.type === 'record.created' ? 500 : 204).end()
      })
      for (let i = 0; i < 25; i++) await stage.create()
      await until(async () => (await standing(endpoint)).failures >= 20)
      await endpoint.rests()
      const pauseMs = Date.parse((await standing(endpoint)).resumeAt) - Date.now()
      assert.ok(pauseMs > 2_000 && pauseMs < 5_600, `left alone for ${pauseMs} ms`)
      await stage.notarize()
      // Whenever the endpoint's pause ends, the twenty old deliveries are due again.
      await until(async () => {
        await endpoint.sql(
          "update tallystick.webhook_deliveries set due_at = now(), tries = 1 where webhook_id = $1 and state = 'pending'",
        )
        await endpoint.sql(
          'update tallystick.webhook_cursors set due_at = now(), resume_at = null where webhook_id = $1',
        )
        await sleep(100)
        return endpoint.received().some(({ event }) => event.type === 'record.recorded')
      })
    },
  )
})
