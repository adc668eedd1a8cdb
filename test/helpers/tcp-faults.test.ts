import assert from 'node:assert/strict'
import { once } from 'node:events'
import { Agent, createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Fault, type FaultKind, type FaultProxy, seededPlan, startFaultProxy } from './tcp-faults.ts'
import { until } from './wait.ts'

type Stage = { readonly proxy: FaultProxy; readonly heard: string[]; send(body: string): Promise<string> }

const ANSWER = 'x'.repeat(2_000)

/**
 * Starts a server that answers each request with its body and a long text. Also starts a client that does not close its
 * connection. `heard`: request bodies in order of arrival.
 */
async function stage(t: TestContext, faults: readonly Fault[]): Promise<Stage> {
  const heard: string[] = []
  const server = createServer(async (incoming, outgoing) => {
    const chunks: Buffer[] = []
    try {
      for await (const chunk of incoming) chunks.push(chunk)
    } catch {
      return
    }
    heard.push(Buffer.concat(chunks).toString())
    outgoing.end(heard.at(-1) + ANSWER)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const target = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const proxy = await startFaultProxy(t, target, (i) => faults[i] ?? { kind: 'pass' })
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  t.after(async () => {
    agent.destroy()
    server.closeAllConnections()
    server.close()
  })
  return { proxy, heard, send: (body) => post(agent, proxy.url, body) }
}

/** Resolves with the body of the answer, or with the code of the error. */
function post(agent: Agent, url: string, body: string): Promise<string> {
  return new Promise((resolve) => {
    const sent = request(url, { method: 'POST', agent }, (answer) => {
      const chunks: Buffer[] = []
      answer.on('data', (chunk) => chunks.push(chunk))
      answer.on('error', (error: NodeJS.ErrnoException) => resolve(error.code!))
      answer.on('end', () => resolve(Buffer.concat(chunks).toString()))
    })
    sent.on('error', (error: NodeJS.ErrnoException) => resolve(error.code!))
    sent.end(body)
  })
}

/**
 * Maximum wait in ms. It is half of the time by which `reorder` delays a request. So a request that arrives within this
 * wait was not released by the timer.
 */
const WAIT_MS_MAX = 30_000

describe('faults of a request', () => {
  test('passed: each request on one connection is answered', async (t) => {
    const { proxy, heard, send } = await stage(t, [])
    for (const body of ['a', '', 'ü'.repeat(100_000)]) assert.equal(await send(body), body + ANSWER)
    assert.equal(heard.length, 3)
    assert.equal(proxy.met.pass, 3)
  })

  test('dropped: the server never receives the request, and the connection is reset after the delay', async (t) => {
    const { heard, send } = await stage(t, [{ kind: 'drop', ms: 50 }])
    const beganAt = performance.now()
    assert.equal(await send('a'), 'ECONNRESET')
    assert.ok(performance.now() - beganAt >= 45)
    assert.equal(await send('b'), `b${ANSWER}`)
    assert.deepEqual(heard, ['b'])
  })

  test('reset: the server never receives the request', async (t) => {
    const { heard, send } = await stage(t, [{ kind: 'reset' }])
    assert.equal(await send('a'), 'ECONNRESET')
    assert.equal(await send('b'), `b${ANSWER}`)
    assert.deepEqual(heard, ['b'])
  })

  test('delayed: the server receives the request later', async (t) => {
    const { proxy, heard, send } = await stage(t, [{ kind: 'delay', ms: 100 }])
    const answer = send('a')
    await sleep(50)
    assert.deepEqual(heard, [])
    assert.equal(proxy.underWay, 1)
    assert.equal(await answer, `a${ANSWER}`)
    assert.equal(proxy.underWay, 0)
  })

  test('cut towards the server: the server never receives the request', async (t) => {
    const { heard, send } = await stage(t, [
      { kind: 'cut', direction: 'toServer', bytes: 0 },
      { kind: 'cut', direction: 'toServer', bytes: 200 },
    ])
    assert.equal(await send('a'), 'ECONNRESET')
    assert.equal(await send('b'.repeat(1_000)), 'ECONNRESET')
    assert.equal(await send('c'), `c${ANSWER}`)
    assert.deepEqual(heard, ['c'])
  })

  test('cut towards the client: the server receives the request, and the answer is lost', async (t) => {
    const { heard, send } = await stage(t, [
      { kind: 'cut', direction: 'toClient', bytes: 0 },
      { kind: 'cut', direction: 'toClient', bytes: 500 },
      { kind: 'cut', direction: 'toClient', bytes: 9_000 },
    ])
    assert.equal(await send('a'), 'ECONNRESET')
    assert.equal(await send('b'), 'ECONNRESET')
    assert.equal(await send('c'), `c${ANSWER}`, 'it is shorter than where it would be cut')
    assert.deepEqual(heard, ['a', 'b', 'c'])
  })

  for (const order of ['before', 'after'] as const)
    test(`duplicated (${order}): the server receives the request twice, the client gets one answer`, async (t) => {
      const { heard, send } = await stage(t, [{ kind: 'duplicate', order }])
      assert.equal(await send('a'), `a${ANSWER}`)
      await until(() => heard.length === 2, WAIT_MS_MAX)
      assert.equal(await send('b'), `b${ANSWER}`)
      assert.deepEqual(heard, ['a', 'a', 'b'])
    })

  test('reordered: the request arrives after the next one', async (t) => {
    const { heard, send } = await stage(t, [{ kind: 'reorder', ms: 60_000 }])
    assert.equal(await send('a'), 'ECONNRESET')
    assert.equal(await send('b'), `b${ANSWER}`)
    await until(() => heard.length === 2, WAIT_MS_MAX)
    assert.deepEqual(heard, ['b', 'a'])
  })

  test('reordered without a next request: the request arrives after its delay or after heal()', async (t) => {
    const { proxy, heard, send } = await stage(t, [
      { kind: 'reorder', ms: 20 },
      { kind: 'reorder', ms: 60_000 },
    ])
    await send('a')
    await until(() => heard.length === 1, WAIT_MS_MAX)
    await send('b')
    proxy.heal()
    await until(() => heard.length === 2, WAIT_MS_MAX)
    assert.deepEqual(heard, ['a', 'b'])
  })
})

test('after heal() every request passes', async (t) => {
  const { proxy, send } = await stage(t, Array(100).fill({ kind: 'reset' }))
  assert.equal(await send('a'), 'ECONNRESET')
  assert.equal(proxy.underWay, 0)
  proxy.heal()
  assert.equal(await send('b'), `b${ANSWER}`)
  assert.deepEqual([proxy.met.reset, proxy.met.pass], [1, 1])
})

test('a server that does not listen ends the connection with ECONNRESET', async (t) => {
  const proxy = await startFaultProxy(t, 'http://127.0.0.1:9', () => ({ kind: 'pass' }))
  const agent = new Agent()
  t.after(async () => agent.destroy())
  assert.equal(await post(agent, proxy.url, 'a'), 'ECONNRESET')
})

describe('a seeded plan', () => {
  const drawn = (seed: number, share: number, count = 2_000) =>
    Array.from({ length: count }, (_, i) => seededPlan(seed, { share, msMax: 100 })(i))

  test('draws the same faults for the same seed, in any order of calls', () => {
    const plan = seededPlan(5, { share: 0.5, msMax: 100 })
    const backwards = Array.from({ length: 100 }, (_, i) => plan(99 - i)).reverse()
    assert.deepEqual(backwards, drawn(5, 0.5, 100))
    assert.notDeepEqual(drawn(6, 0.5, 100), drawn(5, 0.5, 100))
  })

  test('draws each kind about equally often, and faults for about the given share of requests', () => {
    const counts = new Map<FaultKind, number>()
    for (const { kind } of drawn(1, 0.6)) counts.set(kind, (counts.get(kind) ?? 0) + 1)
    assert.ok(Math.abs(counts.get('pass')! - 800) < 100, `${counts.get('pass')}`)
    for (const kind of ['drop', 'reset', 'delay', 'cut', 'duplicate', 'reorder'] as const)
      assert.ok(Math.abs(counts.get(kind)! - 200) < 60, `${kind}: ${counts.get(kind)}`)
    assert.deepEqual([...new Set(drawn(1, 0).map(({ kind }) => kind))], ['pass'])
  })

  test('cuts in both directions, within heads and within bodies', () => {
    const cuts = drawn(2, 1).filter((fault) => fault.kind === 'cut')
    for (const direction of ['toServer', 'toClient'] as const) {
      const bytes = cuts.filter((cut) => cut.direction === direction).map((cut) => cut.bytes)
      assert.ok(
        Math.min(...bytes) < 10 && bytes.some((n) => n > 500 && n < 1_500) && Math.max(...bytes) > 3_000,
      )
    }
  })
})
