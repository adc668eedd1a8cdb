import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  EVENTS_HEARTBEAT_MS,
  EVENTS_KEY_CHECK_EVERY_MS,
  EVENTS_TAIL_CLOSE_MS_MAX,
  EVENTS_TAILS_PER_LEDGER_MAX,
} from '../../../src/http/limits.ts'
import { buildTestApp, expectStatus, genericBody, type TestApp } from '../../helpers/app.ts'
import { assertProblem } from '../../helpers/assert-problem.ts'
import { unguarded } from '../../helpers/checkpoints.ts'
import { movedCursor } from '../../helpers/cursors.ts'
import { allEvents, buildEventLedger } from '../../helpers/event-ledger.ts'
import { addAgent, addKey } from '../../helpers/more-keys.ts'
import { openTail, type TestTail } from '../../helpers/tail.ts'
import { startTcpProxy } from '../../helpers/tcp-proxy.ts'
import { until } from '../../helpers/wait.ts'

const eventsOf = ({ events }: TestTail) => events.map(({ event }) => event)

async function setUp(t: TestContext, app: TestApp) {
  const origin = await app.app.listen({ port: 0, host: '127.0.0.1' })
  const tail = (options?: { query?: string; lastEventId?: string }, key = app.ledger.key.key) =>
    openTail(t, origin, key, options)
  return { origin, tail }
}

test('a stream of events', async (t) => {
  const app = await buildEventLedger(t)
  const { tail } = await setUp(t, app)
  const events = await allEvents(app)

  await t.test('is sent as text/event-stream, with headers against caching and buffering', async () => {
    const { response, text, close } = await tail({ query: '?from=beginning&events=batch.recorded' })
    await until(() => text().includes('data:'))
    assert.equal(response.statusCode, 200)
    const {
      'content-type': type,
      'cache-control': cache,
      'x-accel-buffering': buffering,
      vary,
    } = response.headers
    assert.deepEqual([type, cache, buffering, vary], ['text/event-stream', 'no-store', 'no', 'accept'])
    assert.match(
      text(),
      /^retry: 1000\nid: [\w-]+\n\nid: [\w-]+\nevent: batch\.recorded\ndata: \{"id":"evt_.*\}\n\n$/,
    )
    close()
  })

  await t.test(
    'begins where `from` says, at the end by default, and has the events of the pages',
    async () => {
      const whole = await tail({ query: '?from=beginning' })
      await until(() => whole.events.length === events.length)
      assert.deepEqual(eventsOf(whole), events)
      const atEnd = await tail()
      const { id } = await app.notarize(genericBody({ later: 1 }))
      await until(() => atEnd.events.length === 1)
      assert.equal(atEnd.events[0]!.event.data.record.id, id)
      await app.publish()
      await until(() => atEnd.events.length === 2)
      assert.deepEqual(eventsOf(whole).slice(-2), eventsOf(atEnd))
      for (const each of [whole, atEnd]) each.close()
    },
  )

  await t.test('continues behind each of its ids', async () => {
    const query = '?from=beginning&events=verdict.rendered,signal.emitted,checkpoint.published&types=delivery'
    const whole = await tail({ query })
    const count = (await allEvents(app, Object.fromEntries(new URLSearchParams(query)))).length
    await until(() => whole.events.length === count)
    for (const [i, { cursor }] of whole.events.entries()) {
      // `Last-Event-ID` takes precedence over the query, because a client that reconnects repeats its first address.
      const rest = await tail({ query, lastEventId: cursor })
      const sameByQuery = await tail({ query: `?cursor=${cursor}&${query.split('&').slice(1).join('&')}` })
      const wanted = eventsOf(whole).slice(i + 1)
      for (const each of [rest, sameByQuery]) {
        await until(() => each.events.length >= wanted.length && each.lastEventId() !== '')
        assert.deepEqual(eventsOf(each), wanted)
        each.close()
      }
    }
    whole.close()
  })

  await t.test('refuses unknown ids with 400, and parameters of pages', async () => {
    const send = (query: string, headers: Record<string, string> = {}) =>
      app.send('GET', `/v1/events${query}`, { headers: { accept: 'text/event-stream', ...headers } })
    const { nextCursor } = (await app.send('GET', '/v1/events?from=end')).json()
    const beyond = movedCursor(nextCursor, [1_000_000, 0, 0])
    for (const id of ['garbage', '%00', '7', beyond]) {
      const problem = assertProblem(await send('', { 'last-event-id': id }), 400, 'bad_request')
      assert.match(problem['detail'] as string, /^Last-Event-ID: the cursor /)
    }
    assertProblem(await send('?limit=5'), 422, 'invalid_request')
    assertProblem(await send(`?cursor=${beyond}`), 422, 'invalid_request')
    assertProblem(await send('', { authorization: 'Bearer x' }), 401, 'unauthenticated')
  })

  await t.test('is sent when Accept prefers text/event-stream to JSON', async () => {
    for (const [accept, isStream] of [
      ['text/event-stream', true],
      ['text/event-stream;q=0.5, */*;q=0.1', true],
      ['application/json;q=0.9, Text/Event-Stream', true],
      ['application/json, text/event-stream', false],
      ['text/event-stream;q=0', false],
      ['text/*', false],
      ['*/*', false],
      ['', false],
    ] as const) {
      const headers = { accept, ...(isStream && { 'last-event-id': 'garbage' }) }
      const { statusCode } = await app.send('GET', '/v1/events?limit=1', { headers })
      assert.equal(statusCode, isStream ? 422 : 200, accept)
    }
  })

  await t.test('ends before an unreadable entry, and a new stream from there is refused', async () => {
    const events = await allEvents(app)
    const at = events.findIndex(({ type }) => type === 'record.cancelled')
    const { seq, leaf } = events[at].data.entry
    const open = await tail({ query: '?events=record.cancelled' })
    await unguarded(
      app,
      `update tallystick.entries set envelope = '\\x00', leaf = sha256('\\x0000') where seq = ${seq}
        and ledger_id = (select ledger_id from tallystick.entries where leaf = '\\x${leaf}')`,
    )
    const cut = await tail({ query: '?from=beginning' })
    await cut.ended
    assert.deepEqual(eventsOf(cut), events.slice(0, at))
    assert.match(cut.text(), /\n\n: integrity_fault: [^\n]+\n\n$/)
    const again = await tail({ lastEventId: cut.lastEventId() })
    assert.equal(again.response.statusCode, 500)
    await again.ended
    assert.equal(JSON.parse(again.text()).code, 'integrity_fault')
    open.close()
  })
})

test('concurrent event streams', async (t) => {
  const app = await buildTestApp(t)
  const { tail } = await setUp(t, app)
  const tails: TestTail[] = []

  await t.test('show each key only its visible events, though their positions are equal', async () => {
    const agent = await addAgent(app, 'performer')
    const own = await addKey(app, { agent, scopes: ['records:read:own', 'records:write'] })
    const other = await app.newLedger()
    const [mine, all, elsewhere] = [await tail({}, own), await tail(), await tail({}, other.key.key)]
    const { id } = await app.notarize(genericBody({ n: 1 }))
    const { id: ownId } = await app.notarize(genericBody({ n: 2 }), { key: own })
    const { id: otherId } = await app.notarize(genericBody({ n: 3 }), { key: other.key.key })
    const idsOf = (each: TestTail) => eventsOf(each).map(({ data }) => data.record.id)
    await until(() => all.events.length === 2 && mine.events.length === 1 && elsewhere.events.length === 1)
    await sleep(300)
    assert.deepEqual([idsOf(mine), idsOf(all), idsOf(elsewhere)], [[ownId], [id, ownId], [otherId]])
    for (const each of [mine, all, elsewhere]) each.close()
  })

  await t.test('of two ledgers at equal positions show each ledger its own events', async () => {
    const keys = [await app.newLedger(), await app.newLedger()].map(({ key }) => key.key)
    const tails = await Promise.all(keys.map((key) => tail({}, key)))
    await until(() => tails.every(({ lastEventId }) => lastEventId() !== ''))
    const placeOf = (id: string) => JSON.parse(Buffer.from(id, 'base64url').toString()).slice(1)
    assert.deepEqual(placeOf(tails[0]!.lastEventId()), placeOf(tails[1]!.lastEventId()))
    const made = await Promise.all(keys.map((key) => app.notarize(genericBody(), { key })))
    await until(() => tails.every(({ events }) => events.length > 0))
    assert.deepEqual(
      tails.map((each) => eventsOf(each).map(({ data }) => data.record.id)),
      made.map(({ id }) => [id]),
    )
    for (const each of tails) each.close()
  })

  await t.test('of one ledger, up to the limit, all get a new event within a second', async () => {
    await until(async () => (await openTails(app)) === 0)
    while (tails.length < EVENTS_TAILS_PER_LEDGER_MAX)
      tails.push(...(await Promise.all(Array.from({ length: 50 }, () => tail()))))
    assert.ok(tails.every(({ response }) => response.statusCode === 200))
    await until(() => tails.every(({ lastEventId }) => lastEventId() !== ''))
    const slowest: number[] = []
    for (let round = 1; round <= 3; round++) {
      await app.notarize(genericBody({ round }))
      const appendedAt = performance.now()
      await until(() => tails.every(({ events }) => events.length === round))
      slowest.push(Math.max(...tails.map(({ events }) => events.at(-1)!.atMs - appendedAt)))
      await sleep(Math.random() * 200)
    }
    t.diagnostic(`the slowest of the tails: ${slowest.map(Math.round).join(', ')} ms`)
    // The minimum of several rounds counts, because a busy machine may delay a round.
    assert.ok(Math.min(...slowest) < 1_000, `${slowest} ms`)
  })

  await t.test('beyond the limit of a ledger are refused with 503, until another stream ends', async () => {
    assert.equal(await openTails(app), EVENTS_TAILS_PER_LEDGER_MAX)
    const refused = await tail()
    assert.deepEqual([refused.response.statusCode, refused.response.headers['retry-after']], [503, '1'])
    const other = await app.newLedger()
    const elsewhere = await tail({}, other.key.key)
    assert.equal(elsewhere.response.statusCode, 200)
    expectStatus(200, await app.send('GET', '/v1/events'))
    for (const each of [...tails, elsewhere]) each.close()
    await until(async () => (await openTails(app)) === 0)
    const again = await tail()
    assert.equal(again.response.statusCode, 200)
    again.close()
  })
})

test('a server that closes ends its streams of events at once', async (t) => {
  const app = await buildTestApp(t)
  const { tail } = await setUp(t, app)
  const tails = await Promise.all(Array.from({ length: 20 }, () => tail()))
  const closingAt = performance.now()
  await app.app.close()
  await Promise.all(tails.map(({ ended }) => ended))
  assert.ok(performance.now() - closingAt < 500, `${performance.now() - closingAt} ms`)
  for (const { response } of tails) assert.equal(response.complete, true)
})

test('an event stream whose client does not read stops reading from the database', async (t) => {
  const app = await buildTestApp(t)
  const { origin } = await setUp(t, app)
  const count = 600
  await createWithLongTerms(app, count)
  const reads = countReads(app)
  const reader = connect(Number(new URL(origin).port), '127.0.0.1').pause()
  reader.write(
    `GET /v1/events?from=beginning HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\nAuthorization: Bearer ${app.ledger.key.key}\r\n\r\n`,
  )
  for (let before = -1; before !== reads.rows || before === 0; await sleep(300)) before = reads.rows
  t.diagnostic(`${reads.rows} entries were read, by ${reads.queries} queries, up to ${reads.seqMax}`)
  assert.ok(reads.seqMax < 0.8 * count, 'it reads on though nobody reads')
  assert.ok(reads.rows < 2 * reads.seqMax, 'most of what is read is not told')
  expectStatus(200, await app.send('GET', '/v1/events'))

  await t.test('and does not delay the close of the server', async () => {
    const closingAt = performance.now()
    await app.app.close()
    assert.ok(performance.now() - closingAt < EVENTS_TAIL_CLOSE_MS_MAX + 1_000)
  })
  reader.destroy()
})

/** Both tests of this group wait for clocks. So they run concurrently, each with its own application. */
test('a long-lived event stream', { concurrency: true }, async (t) => {
  await Promise.all([
    t.test('whose key becomes invalid', { concurrency: true }, async (t) => {
      const app = await buildTestApp(t)
      const { tail } = await setUp(t, app)
      const keyOf = async (options: { expiresAt?: string } = {}) =>
        expectStatus(
          201,
          await app.send('POST', '/v1/keys', {
            body: { name: `k${Math.random()}`, scopes: ['records:read'], ...options },
          }),
        ).json()
      const silent = tail({ query: '?events=record.expired' })

      await Promise.all([
        t.test('ends when the key is revoked', async () => {
          const { id, key } = await keyOf()
          const open = await tail({}, key)
          expectStatus(200, await app.send('POST', `/v1/keys/${id}/revoke`))
          assert.ok((await open.ended) < EVENTS_KEY_CHECK_EVERY_MS + 2_000)
        }),
        t.test('ends when the key expires', async () => {
          const lifeMs = 5_000
          const { key } = await keyOf({ expiresAt: new Date(Date.now() + lifeMs).toISOString() })
          const open = await tail({}, key)
          assert.equal(open.response.statusCode, 200)
          assert.ok((await open.ended) < lifeMs + EVENTS_KEY_CHECK_EVERY_MS + 2_000)
        }),
        t.test('stays open with a valid key, and sends heartbeats with its current position', async () => {
          const open = await silent
          const before = open.lastEventId()
          await app.notarize()
          await sleep(EVENTS_HEARTBEAT_MS + 1_000)
          assert.match(open.text(), /^retry: 1000\nid: [\w-]+\n\nid: [\w-]+\n\n$/)
          assert.notEqual(open.lastEventId(), before)
          const later = await tail({ lastEventId: open.lastEventId() })
          await sleep(300)
          assert.deepEqual(later.events, [], 'it is behind what was not wanted')
          assert.equal(await openTails(app), 2)
        }),
      ])
    }),
    t.test('survives an outage of the database', async (t) => {
      let proxy: Awaited<ReturnType<typeof startTcpProxy>> | undefined
      const app = await buildTestApp(t, {
        apiUrl: async ({ apiUrl }) => {
          proxy = await startTcpProxy(t, apiUrl)
          return proxy.url
        },
      })
      const { tail } = await setUp(t, app)
      const open = await tail()
      await app.notarize(genericBody({ n: 1 }))
      await until(() => open.events.length === 1)
      proxy!.refuse()
      await sleep(EVENTS_KEY_CHECK_EVERY_MS + 500)
      assertProblem(await app.send('GET', '/v1/events'), 503, 'unavailable')
      proxy!.accept()
      const body = genericBody({ n: 2 })
      await until(async () => (await app.send('POST', '/v1/records', { body })).statusCode === 201)
      await until(() => open.events.length === 2)
    }),
  ])
})

async function openTails({ deps }: TestApp): Promise<number> {
  const [metric] = (await deps.metrics.registry.getMetricsAsJSON()).filter(
    ({ name }) => name === 'tallystick_streams',
  )
  return metric!.values.find(({ labels }) => labels['stream'] === 'events')!.value
}

/** Counts the database queries for entries from now on, and the entries that they return. */
function countReads({ deps }: TestApp): { queries: number; rows: number; seqMax: number } {
  const reads = { queries: 0, rows: 0, seqMax: 0 }
  const { query } = deps.readPool
  deps.readPool.query = async function (this: unknown, ...parameters: unknown[]) {
    const result = (await Reflect.apply(query, deps.readPool, parameters)) as { rows: { seq: string }[] }
    if ((parameters[0] as { name?: string }).name !== 'list_event_rows') return result
    reads.queries++
    reads.rows += result.rows.length
    reads.seqMax = Math.max(reads.seqMax, ...result.rows.map(({ seq }) => Number(seq)))
    return result
  } as unknown as typeof query
  return reads
}

/** Creates records whose terms take 14 KB each. */
async function createWithLongTerms(app: TestApp, count: number): Promise<void> {
  const ids = Array.from({ length: 200 }, (_, i) => `rule-${i}-${'x'.repeat(30)}`)
  const definition = {
    name: 'long',
    version: 1,
    payloadSchema: true,
    evidenceSchema: true,
    rules: ids.map((id) => ({
      id,
      op: 'within',
      expected: '/n',
      actual: '/n',
      tolerance: { percent: '5' },
      overridable: { percentMax: '10' },
    })),
  }
  expectStatus(201, await app.send('POST', '/v1/types', { body: definition }))
  const tolerances = Object.fromEntries(ids.map((id) => [id, { percent: '7.123456' }]))
  for (let made = 0; made < count; made += 50)
    await Promise.all(
      Array.from({ length: 50 }, () => app.notarize({ type: 'long/1', payload: { n: 1 }, tolerances })),
    )
}
