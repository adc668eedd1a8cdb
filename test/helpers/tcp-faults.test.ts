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

describe('a request that', () => {
  test('passes is answered, one after the other on one connection', async (t) => {
    const { proxy, heard, send } = await stage(t, [])
    for (const body of ['a', '', 'ü'.repeat(100_000)]) assert.equal(await send(body), body + ANSWER)
    assert.equal(heard.length, 3)
    assert.equal(proxy.met.pass, 3)
  })

  test('is dropped is never heard, and its sender is cut off', async (t) => {
    const { heard, send } = await stage(t, [{ kind: 'drop', ms: 50 }])
    const beganAt = performance.now()
    assert.equal(await send('a'), 'ECONNRESET')
    assert.ok(performance.now() - beganAt >= 45)
    assert.equal(await send('b'), `b${ANSWER}`)
    assert.deepEqual(heard, ['b'])
  })

  test('is reset is never heard', async (t) => {
    const { heard, send } = await stage(t, [{ kind: 'reset' }])
    assert.equal(await send('a'), 'ECONNRESET')
    assert.equal(await send('b'), `b${ANSWER}`)
    assert.deepEqual(heard, ['b'])
  })

  test('is delayed is heard later', async (t) => {
    const { proxy, heard, send } = await stage(t, [{ kind: 'delay', ms: 100 }])
    const answer = send('a')
    await sleep(50)
    assert.deepEqual(heard, [])
    assert.equal(proxy.underWay, 1)
    assert.equal(await answer, `a${ANSWER}`)
    assert.equal(proxy.underWay, 0)
  })

  test('is cut on its way is not heard', async (t) => {
    const { heard, send } = await stage(t, [
      { kind: 'cut', direction: 'toServer', bytes: 0 },
      { kind: 'cut', direction: 'toServer', bytes: 200 },
    ])
    assert.equal(await send('a'), 'ECONNRESET')
    assert.equal(await send('b'.repeat(1_000)), 'ECONNRESET')
    assert.equal(await send('c'), `c${ANSWER}`)
    assert.deepEqual(heard, ['c'])
  })

  test('is heard, and whose answer is cut', async (t) => {
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
    test(`is duplicated is heard twice, and answered once: ${order}`, async (t) => {
      const { heard, send } = await stage(t, [{ kind: 'duplicate', order }])
      assert.equal(await send('a'), `a${ANSWER}`)
      await until(() => heard.length === 2, WAIT_MS_MAX)
      assert.equal(await send('b'), `b${ANSWER}`)
      assert.deepEqual(heard, ['a', 'a', 'b'])
    })

  test('is held back arrives behind the next one', async (t) => {
    const { heard, send } = await stage(t, [{ kind: 'reorder', ms: 60_000 }])
    assert.equal(await send('a'), 'ECONNRESET')
    assert.equal(await send('b'), `b${ANSWER}`)
    await until(() => heard.length === 2, WAIT_MS_MAX)
    assert.deepEqual(heard, ['b', 'a'])
  })

  test('is held back, and behind which none comes, arrives after its time, or when all is healed', async (t) => {
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

test('healed, everything passes', async (t) => {
  const { proxy, send } = await stage(t, Array(100).fill({ kind: 'reset' }))
  assert.equal(await send('a'), 'ECONNRESET')
  assert.equal(proxy.underWay, 0)
  proxy.heal()
  assert.equal(await send('b'), `b${ANSWER}`)
  assert.deepEqual([proxy.met.reset, proxy.met.pass], [1, 1])
})

test('a server that is not there is a connection that ends', async (t) => {
  const proxy = await startFaultProxy(t, 'http://127.0.0.1:9', () => ({ kind: 'pass' }))
  const agent = new Agent()
  t.after(async () => agent.destroy())
  assert.equal(await post(agent, proxy.url, 'a'), 'ECONNRESET')
})

describe('a seeded plan', () => {
  const drawn = (seed: number, share: number, count = 2_000) =>
    Array.from({ length: count }, (_, i) => seededPlan(seed, { share, msMax: 100 })(i))

  test('is the same for the same seed, whatever is asked first', () => {
    const plan = seededPlan(5, { share: 0.5, msMax: 100 })
    const backwards = Array.from({ length: 100 }, (_, i) => plan(99 - i)).reverse()
    assert.deepEqual(backwards, drawn(5, 0.5, 100))
    assert.notDeepEqual(drawn(6, 0.5, 100), drawn(5, 0.5, 100))
  })

  test('has each kind about as often, and as many as it should', () => {
    const counts = new Map<FaultKind, number>()
    for (const { kind } of drawn(1, 0.6)) counts.set(kind, (counts.get(kind) ?? 0) + 1)
    assert.ok(Math.abs(counts.get('pass')! - 800) < 100, `${counts.get('pass')}`)
    for (const kind of ['drop', 'reset', 'delay', 'cut', 'duplicate', 'reorder'] as const)
      assert.ok(Math.abs(counts.get(kind)! - 200) < 60, `${kind}: ${counts.get(kind)}`)
    assert.deepEqual([...new Set(drawn(1, 0).map(({ kind }) => kind))], ['pass'])
  })

  test('cuts in both directions, in heads and behind them', () => {
    const cuts = drawn(2, 1).filter((fault) => fault.kind === 'cut')
    for (const direction of ['toServer', 'toClient'] as const) {
      const bytes = cuts.filter((cut) => cut.direction === direction).map((cut) => cut.bytes)
      assert.ok(
        Math.min(...bytes) < 10 && bytes.some((n) => n > 500 && n < 1_500) && Math.max(...bytes) > 3_000,
      )
    }
  })
})
