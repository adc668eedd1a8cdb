import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Tallystick } from '../../sdk/client.ts'
import {
  ApiError,
  AuthenticationError,
  ConnectionError,
  PermissionError,
  UnexpectedAnswerError,
  UsageError,
} from '../../sdk/errors.ts'
import type { TailedEvent, TailOptions } from '../../sdk/resources/events.ts'
import { startServer } from '../../src/run/server.ts'
import { genericBody, testConfig } from '../helpers/app.ts'
import { addKey } from '../helpers/more-keys.ts'
import { sharedApp } from '../helpers/shared-app.ts'
import { startTcpProxy } from '../helpers/tcp-proxy.ts'
import { until } from '../helpers/wait.ts'
import { clientsOf, sendProblem, startHostile } from './hostile-server.ts'
import { QUICK_RETRIES } from './quick-retries.ts'
import { sharedSdk } from './set-up.ts'

/** Receives events until the test ends. `failure` is the error that ended the tail. */
function follow(t: TestContext, client: Tallystick, options: TailOptions = {}) {
  const stop = new AbortController()
  t.after(() => stop.abort())
  const events: TailedEvent[] = []
  const failure = (async () => {
    for await (const event of client.events.tail({ signal: stop.signal, ...options })) events.push(event)
  })().catch((error: unknown) => error)
  return { events, failure, stop }
}

const namesOf = (events: readonly TailedEvent[]) => events.map(({ data }) => data.record?.id)

test('events are read by page and as a tail', async (t) => {
  const sdk = await sharedSdk()
  const client = sdk.client()
  const records = []
  for (let n = 0; n < 5; n++) records.push(await client.records.notarize({ payload: { n } }))
  const ids = records.map(({ id }) => id)

  await t.test('page() returns a cursor that continues, now or after later events', async () => {
    const first = await client.events.page({ limit: 3 })
    const second = await client.events.page({ limit: 3, cursor: first.nextCursor })
    const names = [...first.data, ...second.data].map(({ data }) => data.record!.id)
    assert.deepEqual([names, first.more, second.more], [ids, true, false])
    const end = await client.events.page({ from: 'end' })
    assert.deepEqual([end.data, end.nextCursor], [[], second.nextCursor])
  })

  await t.test('list() returns all events of a filter', async () => {
    const listed = await client.events
      .list({ events: ['record.recorded'], types: ['generic'], limit: 2 })
      .toArray(10)
    assert.deepEqual(
      listed.map(({ data }) => data.record!.id),
      ids,
    )
    assert.deepEqual(await client.events.list({ types: ['nothing'] }).toArray(10), [])
  })

  await t.test('a tail gets events from now on, from the beginning, or after a given event', async (t) => {
    const [fromNow, whole] = [follow(t, client), follow(t, client, { from: 'beginning' })]
    await until(() => whole.events.length === 5)
    const rest = follow(t, client, { after: whole.events[2]!.cursor, types: ['generic/1'] })
    await until(() => rest.events.length === 2)
    await sleep(300)
    const { id } = await client.records.notarize({ payload: { n: 5 } })
    await until(() => [fromNow, whole, rest].every(({ events }) => events.at(-1)?.data.record?.id === id))
    assert.deepEqual(namesOf(fromNow.events), [id])
    assert.deepEqual(namesOf(whole.events), [...ids, id])
    assert.deepEqual(namesOf(rest.events), [...ids.slice(3), id])
    fromNow.stop.abort(new Error('enough'))
    assert.match(String(await fromNow.failure), /enough/)
  })

  await t.test('a tail ends with an error that no retry can fix', async (t) => {
    const { key, ...made } = await client.keys.create({ name: 'tail', scopes: ['records:read'] })
    const revoked = follow(t, sdk.client({ apiKey: key }))
    await sleep(300)
    await client.keys.revoke(made.id)
    assert.ok((await revoked.failure) instanceof AuthenticationError)
    const writer = await addKey(sdk.app, { scopes: ['records:write'] })
    assert.ok((await follow(t, sdk.client({ apiKey: writer })).failure) instanceof PermissionError)
    const garbage = await follow(t, client, { after: 'garbage' }).failure
    assert.ok(garbage instanceof ApiError && garbage.code === 'invalid_request')
    assert.ok((await follow(t, client, { after: 'x', from: 'end' }).failure) instanceof UsageError)
  })
})

test('over a breaking network, a tail delivers each event once, in order', async (t) => {
  const sdk = await sharedSdk()
  const proxy = await startTcpProxy(t, sdk.baseUrl)
  const client = sdk.client()
  const tail = follow(t, sdk.client({ baseUrl: proxy.url }), { from: 'beginning' })
  const ids: string[] = []
  for (let n = 0; n < 60; n++) {
    // Cuts somewhere in an event or in the head of an answer.
    if (n % 4 === 0) proxy.cutAfter({ toClient: 200 + Math.floor(Math.random() * 3_000) })
    if (n === 30) proxy.refuse()
    ids.push((await client.records.notarize({ payload: { n } })).id)
    if (n === 40) proxy.accept()
    await sleep(10)
  }
  await until(() => tail.events.length >= 60)
  await sleep(300)
  assert.deepEqual(namesOf(tail.events), ids)
})

test('over restarts of the server, a tail misses no event after its start', async (t) => {
  const app = await sharedApp()
  const first = await startServer(testConfig(app.database.apiUrl))
  const { port } = new URL(first.url)
  const client = clientsOf(Number(port)).client({ apiKey: app.ledger.key.key })
  const tail = follow(t, client)
  await until(async () => (await client.health.ready()).status === 'ready')
  await sleep(300)
  const ids: string[] = []
  const append = async () => ids.push((await app.notarize(genericBody({ n: ids.length }))).id)
  let server = first
  for (let restarts = 0; restarts < 3; restarts++) {
    await server.close()
    // While the server is unavailable, `tail` reports no error. In the first round the tail has not received any event
    // yet.
    await append()
    await sleep(restarts * 300)
    server = await startServer(testConfig(app.database.apiUrl, { TALLYSTICK_PORT: port }))
    await until(() => tail.events.length === ids.length)
    await append()
    await until(() => tail.events.length === ids.length)
  }
  await server.close()
  assert.deepEqual(namesOf(tail.events), ids)
})

const SSE = { 'content-type': 'text/event-stream' }
const eventText = (n: number) =>
  `id: c${n}\nevent: record.recorded\ndata: {"id":"evt_${n}","type":"record.recorded","timestamp":"x","data":{}}\n\n`

test('a tail reconnects as often as needed, after the last event, once it was connected', async (t) => {
  const server = await startHostile(t, (response, attempt) => {
    if (attempt > 20) return sendProblem(response, 401, 'unauthenticated')
    if (attempt % 3 === 2) return sendProblem(response, 503, 'unavailable')
    response.writeHead(200, SSE).write(`retry: 2\nid: c${attempt}\n\n`)
    if (attempt % 3 === 0)
      response.write(`${eventText(attempt)}id: later${attempt}\n\nid: never\ndata: {"cut":`)
    if (attempt % 2 === 0) response.end()
    else setTimeout(() => response.destroy(), 5)
  })
  const tail = follow(t, server.client(), { events: ['record.recorded'], types: ['a', 'b/1'] })
  assert.ok((await tail.failure) instanceof AuthenticationError)
  assert.deepEqual(
    tail.events.map(({ cursor }) => cursor),
    [3, 6, 9, 12, 15, 18].map((n) => `c${n}`),
  )
  const asked = server.requests.map(({ url }) => new URL(url, 'http://x').searchParams)
  for (const [i, query] of asked.entries()) {
    assert.deepEqual([query.get('events'), query.get('types')], ['record.recorded', 'a,b/1'])
    // The cursor is the last id that the previous attempt received. If the previous attempt was refused, the cursor is
    // the last id of the attempt before it.
    const before = i % 3 === 2 ? i - 1 : i
    assert.equal(query.get('cursor'), i === 0 ? null : before % 3 === 0 ? `later${before}` : `c${before}`)
  }
})

test('a tail with bounded retries, or never connected, ends with the last error', async (t) => {
  const down = await startHostile(t, (response) => sendProblem(response, 503, 'unavailable'))
  assert.match(String(await follow(t, down.client()).failure), /503 unavailable/)
  assert.equal(down.requests.length, QUICK_RETRIES.retriesMax + 1)
  const breaking = await startHostile(t, (response) => {
    response.writeHead(200, SSE).write('id: a\n\n')
    setTimeout(() => response.destroy(), 5)
  })
  const error = await follow(t, breaking.client(), { retriesMax: 2 }).failure
  assert.ok(error instanceof ConnectionError)
  assert.equal(breaking.requests.length, 3)
})

test('a tail refuses malformed and endless events', async (t) => {
  const hostile: [body: string, says: RegExp][] = [
    ['id: a\ndata: <html>\n\n', /something else than an event/],
    ['id: a\ndata: null\n\n', /something else than an event/],
    ['id: a\nevent: record.created\ndata: {"type":"record.recorded","id":"evt_1"}\n\n', /something else/],
    ['event: record.recorded\ndata: {"type":"record.recorded","id":"evt_1"}\n\n', /something else/],
    ['id: a\nevent: record.recorded\ndata: {"type":"record.recorded"}\n\n', /something else/],
    ['x'.repeat(17 * 1024 * 1024), /an event of more than/],
  ]
  for (const [body, says] of hostile) {
    const server = await startHostile(t, (response) => void response.writeHead(200, SSE).end(body))
    const error = await follow(t, server.client()).failure
    assert.ok(error instanceof UnexpectedAnswerError, body.slice(0, 100))
    assert.match(error.message, says)
    assert.equal(server.requests.length, 1)
  }
  const page = await startHostile(t, (response: ServerResponse) => {
    response.writeHead(200, { 'content-type': 'text/html' }).end('<html>')
  })
  assert.ok((await follow(t, page.client()).failure) instanceof UnexpectedAnswerError)
})
