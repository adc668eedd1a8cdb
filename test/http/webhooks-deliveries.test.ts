import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatId, parseId } from '../../src/proof/ids.ts'
import { expectStatus, type TestApp } from '../helpers/app.ts'
import { assertProblem } from '../helpers/assert-problem.ts'
import { sharedApp } from '../helpers/shared-app.ts'
import { listAll, makeWebhook, standing, timeOf, URL } from '../helpers/webhooks.ts'

const HOUR_MS = 3_600_000
const NOWHERE = 'evt_01jegv5gyme05800000000000a'
const RECORDS = ['rec_01jegv5gyme05800000000000a', 'rec_01jegv5gyme05800000000000b'] as const

test('a test creates a pending webhook.test event for its own endpoint only', async () => {
  const app = await sharedApp()
  const { id } = await makeWebhook(app, { events: ['record.created'] })
  await makeWebhook(app, { url: `${URL}/other` })
  const delivery = expectStatus(202, await app.send('POST', `/v1/webhooks/${id}/test`)).json()
  const { id: event, createdAt, dueAt, ...rest } = delivery
  assert.match(event, /^evt_/)
  for (const at of [createdAt, dueAt]) assert.ok(Math.abs(Date.parse(at) - Date.now()) < 5_000)
  assert.deepEqual(rest, {
    ...{ event: 'webhook.test', record: null, seq: null, state: 'pending', attempts: 0 },
    ...{ finishedAt: null, attemptLog: [] },
  })
  assert.deepEqual(await show(app, id, event), delivery)
  const { attemptLog: _, ...summary } = delivery
  assert.deepEqual(await listAll(app, `/v1/webhooks/${id}/deliveries`), [summary])
  assert.equal((await standing(app, id)).pending, 1)
  const rows = await app.sql<{ notice: string }>(
    'select notice from tallystick.webhook_deliveries where ledger_id = $1',
    [app.ledgerId],
  )
  assert.deepEqual(
    rows.map(({ notice }) => JSON.parse(notice)),
    [{ id }],
  )
  assert.ok(await isDueNow(app))
})

test('refuses a test with 409 if ten are waiting or the endpoint is not active', async () => {
  const app = await sharedApp()
  const { id } = await makeWebhook(app)
  const ask = () => app.send('POST', `/v1/webhooks/${id}/test`)
  const answers = await Promise.all(Array.from({ length: 12 }, ask))
  assert.deepEqual(answers.map(({ statusCode }) => statusCode).sort(), [...Array(10).fill(202), 409, 409])
  assert.equal(assertProblem(await ask(), 409, 'state_conflict')['retryable'], true)
  await app.sql(
    `update tallystick.webhook_deliveries set state = 'delivered', due_at = null, finished_at = now()
     where event_id in (select event_id from tallystick.webhook_deliveries where ledger_id = $1 limit 1)`,
    [app.ledgerId],
  )
  expectStatus(202, await ask())
  expectStatus(200, await app.send('POST', `/v1/webhooks/${id}/pause`))
  await app.sql('delete from tallystick.webhook_deliveries where ledger_id = $1', [app.ledgerId])
  assert.equal(assertProblem(await ask(), 409, 'state_conflict')['retryable'], false)
})

test('deliveries are listed newest first, by state, event and record, page by page, each once', async () => {
  const app = await sharedApp()
  const { id } = await makeWebhook(app)
  const other = await makeWebhook(app, { url: `${URL}/other` })
  await deliver(app, other.id, { minute: 1 })
  const all: Delivery[] = []
  for (let minute = 0; minute < 24; minute++) {
    all.unshift(
      await deliver(app, id, {
        minute,
        state: (['delivered', 'pending', 'held', 'dead'] as const)[minute % 4]!,
        event: ['record.created', 'record.activated', 'payload.erased'][minute % 3]!,
        record: RECORDS[Math.floor(minute / 6) % 2]!,
      }),
    )
  }
  const expectListed = async (query: string, wanted: (delivery: Delivery) => boolean) => {
    for (const limit of [2, 200]) {
      const listed = await listAll(app, `/v1/webhooks/${id}/deliveries?limit=${limit}${query}`)
      assert.deepEqual(
        listed.map((delivery) => delivery.id),
        all.filter(wanted).map((delivery) => delivery.id),
      )
    }
  }
  await expectListed('', () => true)
  for (const state of ['delivered', 'pending', 'held', 'dead']) {
    await expectListed(`&state=${state}`, (one) => one.state === state)
    await expectListed(
      `&state=${state}&event=record.created`,
      (one) => one.state === state && one.event === 'record.created',
    )
    await expectListed(
      `&state=${state}&record=${RECORDS[1]}`,
      (one) => one.state === state && one.record === RECORDS[1],
    )
  }
  await expectListed('&event=payload.erased', (one) => one.event === 'payload.erased')
  await expectListed(`&record=${RECORDS[0]}`, (one) => one.record === RECORDS[0])
  const { pending, held, dead } = await standing(app, id)
  assert.deepEqual({ pending, held, dead }, { pending: 6, held: 6, dead: 6 })
})

test('a page ends after 5,000 scanned deliveries, and its cursor continues there', async () => {
  const app = await sharedApp()
  const { id } = await makeWebhook(app)
  const oldest = await deliver(app, id, { minute: 0, event: 'record.created' })
  await deliverMany(app, 'delivered', 5_000)
  const url = `/v1/webhooks/${id}/deliveries?event=record.created`
  const page = expectStatus(200, await app.send('GET', url)).json()
  assert.deepEqual(page.data, [])
  assert.notEqual(page.nextCursor, null)
  assert.deepEqual(
    (await listAll(app, url)).map(({ id }) => id),
    [oldest.id],
  )
  assert.deepEqual(await listAll(app, `/v1/webhooks/${id}/deliveries?state=dead`), [])
})

test('a delivery is shown with its attempts', async () => {
  const app = await sharedApp()
  const { id } = await makeWebhook(app)
  const attemptLog = [
    {
      at: '2026-11-20T12:00:00.000Z',
      durationMs: 15_000,
      status: null,
      error: 'timeout',
      reason: null,
      excerpt: null,
    },
    {
      at: '2026-11-20T12:00:05.123Z',
      durationMs: 12,
      status: 500,
      error: null,
      reason: null,
      excerpt: 'try again',
    },
  ]
  const made = await deliver(app, id, { minute: 5, state: 'dead', record: RECORDS[0], seq: 41, attemptLog })
  const { createdAt, finishedAt, ...shown } = await show(app, id, made.id)
  assert.ok(Date.parse(createdAt) > 0 && Date.parse(finishedAt) > 0)
  assert.deepEqual(shown, {
    ...{ id: made.id, event: 'record.created', record: RECORDS[0], seq: 41, state: 'dead', attempts: 2 },
    ...{ dueAt: null, attemptLog },
  })
})

test('redelivering a delivered, dead or pending delivery makes it due now, with a new schedule', async () => {
  const app = await sharedApp()
  const { id } = await makeWebhook(app)
  for (const [minute, state] of (['delivered', 'dead', 'pending'] as const).entries()) {
    await app.sql("update tallystick.webhook_cursors set due_at = 'infinity' where ledger_id = $1", [
      app.ledgerId,
    ])
    const { id: event } = await deliver(app, id, { minute, state, record: RECORDS[0] })
    const redelivered = expectStatus(202, await redeliver(app, id, event)).json()
    assert.deepEqual([redelivered.state, redelivered.attempts, redelivered.finishedAt], ['pending', 1, null])
    assert.ok(Date.parse(redelivered.dueAt) <= Date.now() + 1_000)
    assert.deepEqual(await show(app, id, event), redelivered)
    assert.deepEqual(
      await app.sql('select tries from tallystick.webhook_deliveries where event_id = $1', [uuidOf(event)]),
      [{ tries: 0 }],
    )
    assert.ok(await isDueNow(app))
    await app.sql('delete from tallystick.webhook_deliveries where ledger_id = $1', [app.ledgerId])
  }
})

test('redelivering never overtakes an earlier event of the same record', async () => {
  const app = await sharedApp()
  const { id } = await makeWebhook(app)
  const first = await deliver(app, id, { minute: 1, state: 'pending', record: RECORDS[0], seq: 1 })
  const held = await deliver(app, id, { minute: 2, state: 'held', record: RECORDS[0], seq: 2 })
  const dead = await deliver(app, id, { minute: 3, state: 'dead', record: RECORDS[0], seq: 3 })
  assertProblem(await redeliver(app, id, held.id), 409, 'state_conflict')
  assert.equal(expectStatus(202, await redeliver(app, id, dead.id)).json().state, 'held')
  assert.equal(expectStatus(202, await redeliver(app, id, first.id)).json().state, 'pending')
})

test('redeliver-dead keeps the order of events within each record', async () => {
  const app = await sharedApp()
  const { id } = await makeWebhook(app)
  const give = (minute: number, seq: number, more: object) =>
    deliver(app, id, { minute, seq, state: 'dead', ...more })
  const a1 = await give(1, 1, { record: RECORDS[0] })
  const b1 = await give(2, 2, { record: RECORDS[1] })
  const b2 = await give(2, 2, { record: RECORDS[1], event: 'signal.emitted', place: 1 })
  const a2 = await give(3, 3, { record: RECORDS[0] })
  const a3 = await give(3, 3, { record: RECORDS[0], event: 'signal.emitted', place: 1 })
  const none = [
    await give(4, 4, { event: 'batch.recorded' }),
    await give(5, 5, { event: 'checkpoint.published' }),
  ]
  const delivered = await deliver(app, id, { minute: 6, seq: 6 })
  assert.deepEqual(await redeliverDead(app, id), { redelivered: 7, more: false })
  const states = Object.fromEntries(
    (await listAll(app, `/v1/webhooks/${id}/deliveries`)).map(({ id, state }) => [id, state]),
  )
  assert.deepEqual(states, {
    [a1.id]: 'pending',
    [b1.id]: 'pending',
    [b2.id]: 'held',
    [a2.id]: 'held',
    [a3.id]: 'held',
    [none[0]!.id]: 'pending',
    [none[1]!.id]: 'pending',
    [delivered.id]: 'delivered',
  })
  assert.ok(await isDueNow(app))
  assert.deepEqual(await redeliverDead(app, id), { redelivered: 0, more: false })
})

test('redeliver-dead starts at `since`, and covers at most 1,000 deliveries per request', async () => {
  const app = await sharedApp()
  const { id } = await makeWebhook(app)
  const deaths = await Promise.all([1, 2, 3].map((minute) => deliver(app, id, { minute, state: 'dead' })))
  assert.deepEqual(await redeliverDead(app, id, timeOf(4)), { redelivered: 0, more: false })
  assert.deepEqual(await redeliverDead(app, id, timeOf(2)), { redelivered: 2, more: false })
  assert.equal((await show(app, id, deaths[0]!.id)).state, 'dead')
  await deliverMany(app, 'dead', 1_500)
  assert.equal((await standing(app, id)).dead, 1_000)
  assert.deepEqual(await redeliverDead(app, id), { redelivered: 1_000, more: true })
  const open = await app.sql<{ newest: string }>(
    `select event_id::text as newest from tallystick.webhook_deliveries where ledger_id = $1 and state = 'pending'
     order by event_id desc limit 1`,
    [app.ledgerId],
  )
  // The 1,000 redelivered deliveries are an older dead one and the first 999 of the 1,500 new ones.
  assert.match(open[0]!.newest, /0003e7$/)
  assert.deepEqual(await redeliverDead(app, id), { redelivered: 501, more: false })
})

test('refuses unknown filters, times and ids', async () => {
  const app = await sharedApp()
  const { id } = await makeWebhook(app)
  const { id: event } = await deliver(app, id, {})
  const other = await makeWebhook(app, { url: `${URL}/other` })
  for (const query of [
    'state=open',
    'event=record.invented',
    'record=rec_1',
    'cursor=x',
    'limit=0',
    'page=1',
  ]) {
    expectStatus(422, await app.send('GET', `/v1/webhooks/${id}/deliveries?${query}`))
  }
  expectStatus(
    422,
    await app.send('POST', `/v1/webhooks/${id}/redeliver-dead`, { body: { since: '2026-02-30T00:00:00Z' } }),
  )
  // The ids of deliveries contain a time. No id can contain a time as early as this.
  assert.deepEqual(await redeliverDead(app, id, '0001-01-01T00:00:00Z'), { redelivered: 0, more: false })
  for (const address of [
    `${id}/deliveries/${NOWHERE}`,
    `${id}/deliveries/evt_1`,
    `${other.id}/deliveries/${event}`,
  ]) {
    assertProblem(await app.send('GET', `/v1/webhooks/${address}`), 404, 'not_found')
    assertProblem(await app.send('POST', `/v1/webhooks/${address}/redeliver`), 404, 'not_found')
  }
})

type Delivery = {
  readonly id: string
  readonly state: string
  readonly event: string
  readonly record: string | null
}

/** Inserts a delivery as the worker does. */
async function deliver(
  app: TestApp,
  webhook: string,
  {
    minute = 0,
    state = 'delivered',
    event = 'record.created',
    record = null,
    seq = minute,
    place = 0,
    attemptLog = [
      { at: timeOf(minute), durationMs: 1, status: 500, error: null, reason: null, excerpt: null },
    ],
  }: {
    minute?: number
    state?: 'pending' | 'held' | 'delivered' | 'dead'
    event?: string
    record?: string | null
    seq?: number
    place?: number
    attemptLog?: object[]
  },
): Promise<Delivery> {
  const eventId = app.deps.entropy.uuidv7(Date.parse(timeOf(minute)))
  await app.sql(
    `insert into tallystick.webhook_deliveries (ledger_id, webhook_id, event_id, event, seq, place, record_id, state, tries,
       attempts, attempt_log, due_at, finished_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, 3, $9, $10, $11, $12)`,
    [
      app.ledgerId,
      uuidOf(webhook),
      eventId,
      event,
      seq,
      place,
      record && uuidOf(record),
      state,
      attemptLog.length,
      JSON.stringify(attemptLog),
      state === 'pending' ? new Date(Date.now() + HOUR_MS) : null,
      state === 'delivered' || state === 'dead' ? new Date() : null,
    ],
  )
  return { id: formatId('evt', eventId), state, event, record }
}

/** Inserts `count` deliveries of one day, which is later than the day of any other delivery. */
async function deliverMany(app: TestApp, state: 'delivered' | 'dead', count: number): Promise<void> {
  await app.sql(
    `insert into tallystick.webhook_deliveries
       (ledger_id, webhook_id, event_id, event, seq, state, tries, attempts, attempt_log, finished_at)
     select ledger_id, webhook_id, ('f0000000-0000-7000-8000-' || lpad(to_hex(i), 12, '0'))::uuid, 'batch.recorded', i,
       $2, 1, 1, '[]', now() from tallystick.webhooks, generate_series(1, $3::int) i where ledger_id = $1`,
    [app.ledgerId, state, count],
  )
}

async function redeliverDead(app: TestApp, id: string, since?: string) {
  const body = since === undefined ? {} : { since }
  return expectStatus(200, await app.send('POST', `/v1/webhooks/${id}/redeliver-dead`, { body })).json()
}

function redeliver(app: TestApp, id: string, event: string) {
  return app.send('POST', `/v1/webhooks/${id}/deliveries/${event}/redeliver`)
}

async function show(app: TestApp, id: string, event: string) {
  return expectStatus(200, await app.send('GET', `/v1/webhooks/${id}/deliveries/${event}`)).json()
}

async function isDueNow(app: TestApp): Promise<boolean> {
  const rows = await app.sql(
    'select from tallystick.webhook_cursors where ledger_id = $1 and due_at <= clock_timestamp()',
    [app.ledgerId],
  )
  return rows.length === 1
}

function uuidOf(id: string): string {
  return parseId(id.split('_')[0] as 'evt', id)
}
