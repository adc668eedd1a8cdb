import assert from 'node:assert/strict'
import { type IncomingMessage, request } from 'node:http'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { RECORD_WAIT_SECONDS_MAX, RECORD_WAITS_PER_LEDGER_MAX } from '../../../src/http/limits.ts'
import { expectStatus, genericBody, type TestApp } from '../../helpers/app.ts'
import { assertProblem } from '../../helpers/assert-problem.ts'
import { buildGatedApp, type GatedApp } from '../../helpers/gated-app.ts'
import { addTestHome } from '../../helpers/test-home.ts'
import { until } from '../../helpers/wait.ts'

/** A wait that is much longer than the time that the tests allow for an immediate answer. */
const LONG = '?wait=20'
/** Within this time a waiting request would have been notified. */
const A_WHILE_MS = 400

type Asked = { readonly version?: number; readonly key?: string; readonly query?: string }

const get = (app: TestApp, id: string, { version, query = LONG, ...options }: Asked = {}) =>
  app.send('GET', `/v1/records/${id}${query}`, {
    ...options,
    ...(version !== undefined && { headers: { 'if-none-match': `"${version}"` } }),
  })

test('a request for a record waits for its next step', async (t) => {
  const app = await buildGatedApp(t)

  await t.test('without If-None-Match, only for a step of the worker', async () => {
    const { id } = await app.reach('SUBMITTED')
    const waiting = get(app, id)
    await until(async () => (await openWaits(app)) === 1)
    await app.verify(id)
    const answer = expectStatus(200, await waiting)
    assert.equal(answer.json().state, 'VERIFIED')
    assert.equal(answer.headers['etag'], '"4"')
    assert.equal((await get(app, id)).json().state, 'VERIFIED', 'the principal’s turn is not waited for')
    assert.equal(await openWaits(app), 0)
  })

  await t.test('of an auto gate, until the verdict', async () => {
    const { id } = await app.create({ gate: 'auto' })
    await app.take(id, 'activate')
    await app.take(id, 'completions')
    const waiting = get(app, id)
    await until(async () => (await openWaits(app)) === 1)
    await app.verify(id)
    assert.equal((await waiting).json().state, 'ACCEPTED')
  })

  await t.test('by any agent, if If-None-Match has the current version', async () => {
    const { id, version } = await app.create()
    const waiting = get(app, id, { version })
    await until(async () => (await openWaits(app)) === 1)
    await app.take(id, 'activate')
    assert.equal((await waiting).json().version, 2)
    assert.equal((await get(app, id, { version })).json().version, 2, 'what has come is not waited for')
  })

  await t.test('and is answered 304 or the unchanged record when the time is up', async () => {
    const { id, version } = await app.create()
    const answer = expectStatus(304, await get(app, id, { version, query: '?wait=0.2' }))
    assert.deepEqual([answer.body, answer.headers['etag']], ['', '"1"'])
    expectStatus(304, await get(app, id, { version, query: '' }))
    const { id: submitted } = await app.reach('SUBMITTED')
    assert.equal((await get(app, submitted, { query: '?wait=0.2' })).json().state, 'SUBMITTED')
    const { id: notarized } = await app.notarize(genericBody({ n: 1 }))
    expectStatus(200, await get(app, notarized))
    expectStatus(304, await get(app, notarized, { version: 1, query: '?wait=0.2' }))
  })

  await t.test('of a record of another ledger, until the step arrives', async () => {
    const home = await addTestHome(app)
    const record = await home.share()
    const waiting = get(app, record.id, { version: 1 })
    await until(async () => (await openWaits(app)) === 1)
    await record.activate({ agent: app.agents.stranger.id, key: home.key })
    assert.equal((await waiting).json().version, 2)
  })

  await t.test('with 404 for an invisible record, and 401 once the key is revoked', async () => {
    const { id } = await app.create()
    const { key } = app.agents.stranger
    assertProblem(await get(app, id, { key, version: 1 }), 404, 'not_found')
    const made = expectStatus(
      201,
      await app.send('POST', '/v1/keys', { body: { name: 'short', scopes: ['records:read'] } }),
    ).json()
    const waiting = get(app, id, { key: made.key, version: 1 })
    await until(async () => (await openWaits(app)) === 1)
    expectStatus(200, await app.send('POST', `/v1/keys/${made.id}/revoke`, { body: {} }))
    await app.take(id, 'activate')
    assertProblem(await waiting, 401, 'unauthenticated')
  })

  await t.test('for at most 20 s: a malformed or longer `wait` gets 422 invalid_request', async () => {
    const { id } = await app.create()
    for (const wait of ['', '-1', '21', '20.1', '1.25', '1e1', 'x'])
      assertProblem(await get(app, id, { query: `?wait=${wait}` }), 422, 'invalid_request')
  })

  await t.test('for If-None-Match with a list, a weak tag or *, and not for unknown tags', async () => {
    const { id } = await app.create()
    const statusOf = async (tag: string, query = '') =>
      (await app.send('GET', `/v1/records/${id}${query}`, { headers: { 'if-none-match': tag } })).statusCode
    // If-None-Match uses weak comparison with a list, or `*` (RFC 9110 §13.1.2). nginx weakens a tag when it
    // compresses.
    for (const tag of ['"1"', 'W/"1"', '"7", W/"1"', '*', '"x",\t"1"']) {
      assert.equal(await statusOf(tag), 304, tag)
      assert.equal(await statusOf(tag, '?wait=0.1'), 304, tag)
    }
    for (const tag of ['"0"', '"2"', '"01"', '"1-gzip"', '1', 'x', '', 'w/"1"'])
      assert.equal(await statusOf(tag), 200, tag)
  })
})

test('waiting requests use no slot, and beyond their limit get 503 overloaded', async (t) => {
  const app = await buildGatedApp(t)
  const { id } = await app.create()
  const begunAt = performance.now()
  const waiting = Array.from({ length: RECORD_WAITS_PER_LEDGER_MAX }, () => get(app, id, { version: 1 }))
  await until(async () => (await openWaits(app)) === RECORD_WAITS_PER_LEDGER_MAX)
  assert.equal(app.deps.admission.underWay, 0)
  assertProblem(await get(app, id, { version: 1 }), 503, 'overloaded')
  expectStatus(304, await get(app, id, { version: 1, query: '' }))
  await app.take(id, 'activate')
  const answers = await Promise.all(waiting)
  // On very busy cores the first requests have waited for the maximum of 20 s before the last one is open.
  const isLate = performance.now() - begunAt > RECORD_WAIT_SECONDS_MAX * 1000
  const statuses = new Set(
    answers.map(({ statusCode }) => statusCode).filter((code) => !isLate || code !== 304),
  )
  assert.deepEqual(statuses, new Set([200]))
  assert.deepEqual([await openWaits(app), app.deps.admission.underWay], [0, 0])
})

test('a waiting request ends when its client disconnects', async (t) => {
  const app = await buildGatedApp(t)
  const { id } = await app.create()
  const waiting = await ask(app, id)
  await until(async () => (await openWaits(app)) === 1)
  waiting.destroy()
  await until(async () => (await openWaits(app)) === 0)
  await until(() => app.deps.admission.underWay === 0)
})

test('a closing server answers waiting requests with 304', async (t: TestContext) => {
  const app = await buildGatedApp(t)
  const { id } = await app.create()
  const { answered } = await ask(app, id)
  await until(async () => (await openWaits(app)) === 1)
  const beganAt = performance.now()
  app.app.drain()
  await app.app.close()
  assert.equal((await answered).statusCode, 304)
  assert.ok(performance.now() - beganAt < 5_000)
})

test('the database is not polled while no request waits', async (t) => {
  const app = await buildGatedApp(t)
  const { id } = await app.create()
  expectStatus(304, await get(app, id, { version: 1, query: '?wait=0.2' }))
  let looks = 0
  const { query } = app.deps.readPool
  app.deps.readPool.query = ((...parameters: unknown[]) => {
    if ((parameters[0] as { name?: string }).name === 'list_versions') looks++
    return Reflect.apply(query, app.deps.readPool, parameters)
  }) as typeof query
  await sleep(A_WHILE_MS)
  assert.equal(looks, 0)
  expectStatus(304, await get(app, id, { version: 1, query: '?wait=0.2' }))
  assert.ok(looks > 0)
})

/** Uses a socket, because the test closes it. */
async function ask({ app, agents }: GatedApp, id: string) {
  const origin = app.server.listening
    ? `http://127.0.0.1:${(app.server.address() as { port: number }).port}`
    : await app.listen({ port: 0, host: '127.0.0.1' })
  const headers = { authorization: `Bearer ${agents.principal.key}`, 'if-none-match': '"1"' }
  const sent = request(`${origin}/v1/records/${id}${LONG}`, { headers })
  const answered = new Promise<IncomingMessage>((resolve) => sent.once('response', resolve))
  sent.on('error', () => {})
  sent.end()
  return Object.assign(sent, { answered })
}

async function openWaits({ deps }: TestApp): Promise<number> {
  const metrics = await deps.metrics.registry.getMetricsAsJSON()
  const { values } = metrics.find(({ name }) => name === 'tallystick_streams')!
  return values.find(({ labels }) => labels['stream'] === 'waits')!.value
}
