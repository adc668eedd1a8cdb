import assert from 'node:assert/strict'
import { once } from 'node:events'
import { Agent, get, request as httpRequest, type IncomingMessage } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import { buildApp } from '../../src/http/app.ts'
import { Admission } from '../../src/load/admission.ts'
import { UNPROVEN } from '../../src/load/unproven.ts'
import { Metrics } from '../../src/observe/metrics/metrics.ts'
import { parseId } from '../../src/proof/ids.ts'
import { startServer } from '../../src/run/server.ts'
import { expectStatus, genericBody, OPERATOR_KEY, type TestApp, testConfig } from '../helpers/app.ts'
import { connect as connectTo } from '../helpers/connect.ts'
import { sharedApp } from '../helpers/shared-app.ts'
import { lockHeads, until } from '../helpers/wait.ts'
import { sampleOf } from '../observe/metrics/exposition.ts'

const FEW = {
  underWayMax: 4,
  reads: { max: 16, waitMs: 1_000 },
  burstMax: 2,
  burstPerSecond: 1,
  unproven: { underWayMax: 2, burstMax: 0, burstPerSecond: 0 },
  perSliceMax: 2,
  sliceBytesMax: 100,
}

test('admits writes up to the limit, then a burst, then none until a write has ended', () => {
  const admission = new Admission(() => 0, FEW)
  for (let i = 0; i < 4; i++) admission.enter('writes', 'a')
  assert.deepEqual(take(admission, 3), [true, true, false])
  assert.equal(admission.refused, 1)
  const calm = new Admission(() => 0, FEW)
  for (let i = 0; i < 4; i++) calm.enter('writes', 'a')
  calm.leave('writes', 'a')
  assert.deepEqual(take(calm, 1), [true])
})

test('the burst refills with time, up to its full size', () => {
  let nowMs = 0
  const admission = new Admission(() => nowMs, FEW)
  for (let i = 0; i < 4; i++) admission.enter('writes', 'a')
  assert.deepEqual(take(admission, 3), [true, true, false])
  nowMs = 999
  assert.deepEqual(take(admission, 1), [false])
  nowMs = 1_000
  assert.deepEqual(take(admission, 2), [true, false])
  nowMs = 60_000
  assert.deepEqual(take(admission, 3), [true, true, false])
})

test('above the limit, a ledger below its share is still admitted', () => {
  const admission = new Admission(() => 0, { ...FEW, burstMax: 0 })
  for (let i = 0; i < 4; i++) admission.enter('writes', 'a')
  assert.equal(admission.admits('writes', 'a'), false, 'alone, a ledger has all of them, and no more')
  for (let i = 0; i < 2; i++) {
    assert.equal(admission.admits('writes', 'b'), true)
    admission.enter('writes', 'b')
  }
  assert.equal(admission.admits('writes', 'b'), false, 'it has a half')
  assert.equal(admission.admits('writes', 'a'), false)
  for (let i = 0; i < 3; i++) admission.leave('writes', 'a')
  assert.equal(admission.admits('writes', 'a'), true)
})

test('admissions above the limit are bounded, for any number of owners', () => {
  const admission = new Admission(() => 0, { ...FEW, burstMax: 0 })
  for (let i = 0; i < 4; i++) admission.enter('writes', 'a')
  let taken = 0
  for (let i = 0; i < 100; i++) {
    if (!admission.admits('writes', `ledger-${i}`)) continue
    admission.begin('writes', 0, `ledger-${i}`, () => {})
    taken++
  }
  assert.equal(taken, 3, 'with as many owners as there are places each has its one')
})

test('admitted requests begin in order, a few per slice, large ones alone', async () => {
  const admission = new Admission(() => 0, FEW)
  const begun: string[] = []
  const turns: string[][] = []
  for (const [name, bytes] of [
    ['a', 1],
    ['b', 1],
    ['c', 100],
    ['d', 1],
    ['e', 1],
  ] as const)
    admission.begin('writes', bytes, 'a', () => begun.push(name))
  assert.deepEqual(begun, [], 'not within the turn in which they are seen')
  while (admission.waiting('writes') > 0) {
    await nextTurn()
    turns.push(begun.splice(0))
  }
  assert.deepEqual(turns, [['a', 'b'], ['c'], ['d', 'e']])
})

test('ledgers begin round-robin: a quiet ledger begins in the next slice despite a busy one', async () => {
  const admission = new Admission(() => 0, FEW)
  const begun: string[] = []
  for (const name of ['busy', 'busy', 'busy', 'busy', 'quiet', 'other'])
    admission.begin('writes', 1, name, () => begun.push(name))
  await nextTurn()
  assert.deepEqual(begun, ['busy', 'quiet'])
  await nextTurn()
  assert.deepEqual(begun.slice(2), ['other', 'busy'])
  while (admission.waiting('writes') > 0) await nextTurn()
  assert.deepEqual(begun.slice(4), ['busy', 'busy'])
})

test('reads have their own limit', () => {
  const admission = new Admission(() => 0, { ...FEW, burstMax: 0 })
  for (let i = 0; i < 4; i++) admission.enter('writes', 'a')
  assert.deepEqual([admission.admits('writes', 'a'), admission.admits('reads', 'a')], [false, true])
  for (let i = 0; i < 4; i++) admission.begin('reads', 0, 'a', () => {})
  assert.equal(admission.admits('reads', 'a'), false)
  assert.deepEqual([admission.underWay, admission.waiting('writes'), admission.refused], [8, 0, 2])
  admission.leave('writes', 'a')
  assert.deepEqual([admission.admits('writes', 'a'), admission.admits('reads', 'a')], [true, false])
})

test('the limit of reads grows with the number of reads answered, and shrinks without them', () => {
  let nowMs = 0
  const admission = new Admission(() => nowMs, { ...FEW, burstMax: 0 })
  const places = () => {
    let taken = 0
    for (; admission.admits('reads', 'a'); taken++) admission.enter('reads', 'a')
    for (let i = 0; i < taken; i++) admission.leave('reads', 'a')
    return taken
  }
  const afterAnswering = (reads: number, owner = 'a') => {
    for (let i = 0; i < reads; i++) {
      admission.enter('reads', owner)
      admission.leave('reads', owner)
    }
    nowMs += 250
    return places()
  }
  assert.equal(places(), 4)
  nowMs += 250
  assert.equal(places(), 10, '(4 + 16) / 2: four were answered in a quarter of a second')
  assert.equal(afterAnswering(100), 16, 'so many at most')
  nowMs += 60_000
  assert.equal(places(), 9, 'nothing was answered for long: half of it goes')
  nowMs += 60_000
  assert.deepEqual([places(), places()], [5, 5])
  nowMs += 60_000
  admission.admits('reads', 'a')
  assert.equal(afterAnswering(1_000, UNPROVEN), 4, 'what is answered to strangers says nothing about reads')
  for (let i = 0; i < 4; i++) admission.enter('writes', 'a')
  assert.equal(admission.admits('writes', 'a'), false, 'writes have theirs')
})

test('more waiting requests begin after a slice that was spent on refusals', async () => {
  const admission = new Admission(() => 0, { ...FEW, burstMax: 0 })
  let begun = 0
  for (let i = 0; i < 30; i++) {
    if (i < 4) admission.enter('writes', 'a')
    admission.begin('writes', 0, 'a', () => begun++)
  }
  for (let i = 0; i < 20; i++) assert.equal(admission.admits('writes', 'a'), false)
  await nextTurn()
  assert.equal(begun, 2 + 20 / 5)
  await nextTurn()
  assert.equal(begun, 6 + 2)
})

test('an overloaded server', async (t) => {
  const app = await sharedApp()
  const { url, admission, metrics } = await listen(t, app)

  await t.test(
    'refuses at once with 503 overloaded on an open connection, and answers admitted requests',
    async (t) => {
      const release = await lockHeads(t, app.database.superuserUrl)
      const taken = Array.from({ length: 4 }, () => post(app, url))
      await until(async () => admission.underWay === 4)
      const agent = new Agent({ keepAlive: true, maxSockets: 1 })
      t.after(() => agent.destroy())
      const authorization = `Bearer ${app.ledger.key.key}`
      assert.equal(
        (await fetch(`${url}/v1/records`, { headers: { authorization } })).status,
        200,
        'reads go through',
      )
      const ports = new Set<number>()
      for (let i = 0; i < 3; i++) {
        const startedAt = performance.now()
        const refused = await post(app, url, agent)
        assert.ok(performance.now() - startedAt < 500)
        assert.equal(refused.status, 503)
        assert.match(String(refused.headers['retry-after']), /^[12]$/)
        assert.equal(refused.headers['content-type'], 'application/problem+json')
        const { code, retryable, requestId } = JSON.parse(refused.body)
        assert.deepEqual([code, retryable], ['overloaded', true])
        assert.match(requestId, /^req_[0-9a-f]{32}$/)
        ports.add(refused.localPort)
      }
      assert.equal(ports.size, 1, 'one connection')
      const [read] = (await once(
        get(`${url}/v1/records`, { headers: { authorization }, agent }),
        'response',
      )) as [IncomingMessage]
      assert.deepEqual([read.statusCode, ports.has(read.socket.localPort!)], [200, true], 'reads go on on it')
      read.resume()
      const problems = { code: 'overloaded' }
      const counted = sampleOf(await metrics.registry.metrics(), 'tallystick_http_problems_total', problems)
      assert.equal(counted, 0, 'refusals have a counter of their own')
      for (const probe of ['/livez', '/readyz']) assert.equal((await fetch(url + probe)).status, 200)
      await release()
      for (const { status } of await Promise.all(taken)) assert.equal(status, 201)
      assert.equal(admission.underWay, 0)
      assert.equal((await post(app, url)).status, 201)
    },
  )

  await t.test('is not filled by slow senders or by requests without a key', async (t) => {
    const sockets = await Promise.all(Array.from({ length: 12 }, () => open(t, url)))
    for (const socket of sockets) socket.write(headOf(app, 500))
    const stranger = await Promise.all(
      Array.from({ length: 12 }, () => fetch(`${url}/v1/records`, { method: 'POST' })),
    )
    for (const { status } of stranger) assert.ok(status === 401 || status === 503)
    await until(async () => admission.underWay === 0)
    assert.equal((await post(app, url)).status, 201)
  })

  await t.test('is not filled by event streams', async (t) => {
    const headers = { authorization: `Bearer ${app.ledger.key.key}`, accept: 'text/event-stream' }
    for (let i = 0; i < 8; i++) {
      const stream = await new Promise<IncomingMessage>((resolve) => {
        get(`${url}/v1/events`, { headers, agent: false }, resolve)
      })
      t.after(() => stream.destroy())
      assert.equal(stream.statusCode, 200)
    }
    assert.equal(admission.underWay, 0)
    assert.equal((await post(app, url)).status, 201)
  })

  await t.test('frees the slots of disconnected clients when their writes are done', async (t) => {
    const release = await lockHeads(t, app.database.superuserUrl)
    const sockets = await Promise.all(Array.from({ length: 4 }, () => open(t, url)))
    const body = JSON.stringify(genericBody())
    for (const socket of sockets) socket.write(headOf(app, Buffer.byteLength(body)) + body)
    await until(async () => admission.underWay === 4)
    for (const socket of sockets) socket.destroy()
    await sleep(100)
    assert.equal(admission.underWay, 4)
    await release()
    await until(async () => admission.underWay === 0)
  })
})

test('a draining server is not ready, answers every request, and closes each connection after its answer', async (t) => {
  const app = await sharedApp()
  const metrics = new Metrics()
  const server = await startServer({ ...testConfig(app.database.apiUrl), drainMs: 700 }, undefined, metrics)
  const agent = new Agent({ keepAlive: true })
  t.after(() => agent.destroy())
  assert.equal((await post(app, server.url, agent)).headers['connection'], 'keep-alive')
  const idle = await open(t, server.url)
  const startedAt = performance.now()
  const drained = server.drain!().then(() => performance.now() - startedAt)
  const ready = await fetch(`${server.url}/readyz`)
  assert.equal(ready.status, 503)
  assert.equal(((await ready.json()) as { code: string }).code, 'unavailable')
  assert.match(await metrics.registry.metrics(), /^tallystick_http_problems_total\{code="unavailable"\} 0$/m)
  assert.equal((await fetch(`${server.url}/livez`)).status, 200)
  const last = await post(app, server.url, agent)
  assert.deepEqual([last.status, last.headers['connection']], [201, 'close'])
  assert.equal((await post(app, server.url, agent)).status, 201, 'a new connection is taken')
  await sleep(200)
  assert.equal(idle.readyState, 'open', 'a client may be about to send on it')
  // The limit is 700 ms. Timers and the clock may differ by a millisecond.
  assert.ok((await drained) >= 699)
  await server.close()
})

test('a ledger that fills all slots does not lock out other ledgers or the operator', async (t) => {
  const app = await sharedApp()
  const { url, admission } = await listen(t, app)
  const made = await app.send('POST', '/v1/ledgers', { key: OPERATOR_KEY, body: { name: 'another one' } })
  const other = expectStatus(201, made).json().key.key
  const locker = await connectTo(t, app.database.superuserUrl)
  await locker.query('begin')
  await locker.query('select from tallystick.chain_heads where ledger_id = $1 for update', [
    parseId('led', app.ledger.ledger.id),
  ])
  const stuck = Array.from({ length: 4 }, () => post(app, url))
  await until(async () => admission.underWay === 4)
  assert.equal((await post(app, url)).status, 503)
  const ask = async (path: string, key: string) =>
    (await fetch(url + path, { headers: { authorization: `Bearer ${key}` } })).status
  assert.equal(await ask('/v1/records', other), 200)
  assert.equal(await ask('/v1/ledgers', OPERATOR_KEY), 200)
  await locker.query('rollback')
  for (const { status } of await Promise.all(stuck)) assert.equal(status, 201)
  assert.equal(admission.underWay, 0)
})

test('a draining server answers all requests that a client sent at once', async (t) => {
  const app = await sharedApp()
  const server = await startServer({ ...testConfig(app.database.apiUrl), drainMs: 100 })
  t.after(() => server.close())
  const socket = await open(t, server.url)
  const body = JSON.stringify(genericBody())
  await Promise.all([
    server.drain!(),
    new Promise((resolve) => socket.write((headOf(app, Buffer.byteLength(body)) + body).repeat(3), resolve)),
  ])
  let answers = ''
  for await (const chunk of socket) answers += chunk
  assert.deepEqual(answers.match(/HTTP\/1.1 \d+|Connection: [a-z-]+/g), [
    ...['HTTP/1.1 201', 'Connection: keep-alive'],
    ...['HTTP/1.1 201', 'Connection: keep-alive'],
    ...['HTTP/1.1 201', 'Connection: close'],
  ])
})

function take(admission: Admission, count: number): boolean[] {
  return Array.from({ length: count }, () => {
    const isTaken = admission.admits('writes', 'a')
    if (isTaken) admission.begin('writes', 0, 'a', () => {})
    return isTaken
  })
}

/**
 * Starts a second server of `app` on a socket. The server has few slots and no burst, because the used part of a burst
 * depends on the machine.
 */
async function listen(t: TestContext, app: TestApp) {
  const metrics = new Metrics()
  const admission = new Admission(() => 0, { ...FEW, burstMax: 0 })
  const server = buildApp({ ...app.deps, admission, metrics })
  await server.listen({ host: '127.0.0.1', port: 0 })
  t.after(() => server.close())
  return { url: `http://127.0.0.1:${(server.server.address() as AddressInfo).port}`, admission, metrics }
}

type Answered = {
  readonly status: number
  readonly headers: IncomingMessage['headers']
  readonly body: string
  readonly localPort: number
}

function post(app: TestApp, url: string, agent: Agent | false = false): Promise<Answered> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${app.ledger.key.key}`, 'content-type': 'application/json' }
    const sent = httpRequest(`${url}/v1/records`, { method: 'POST', headers, agent }, async (response) => {
      try {
        const { localPort } = sent.socket!
        let body = ''
        for await (const chunk of response) body += chunk
        resolve({ status: response.statusCode!, headers: response.headers, body, localPort: localPort! })
      } catch (error) {
        reject(error)
      }
    })
    sent.on('error', reject)
    sent.end(JSON.stringify(genericBody()))
  })
}

async function open(t: TestContext, url: string): Promise<Socket> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  socket.on('error', () => {})
  t.after(() => socket.destroy())
  await once(socket, 'connect')
  return socket
}

function headOf(app: TestApp, bodyBytes: number): string {
  return [
    'POST /v1/records HTTP/1.1',
    'Host: localhost',
    `Authorization: Bearer ${app.ledger.key.key}`,
    'Content-Type: application/json',
    `Content-Length: ${bodyBytes}`,
    '\r\n',
  ].join('\r\n')
}

test('a request’s owner is looked up once, also on a connection with earlier refusals', async (t) => {
  const app = await sharedApp()
  const { callers } = app.deps
  let finds = 0
  let isSlow = false
  const slow = Object.assign(Object.create(callers) as typeof callers, {
    find(key: string) {
      finds++
      return isSlow ? sleep(5).then(() => callers.find(key)) : callers.find(key)
    },
    callerOf: callers.callerOf.bind(callers),
  })
  const admission = new Admission(() => 0, { ...FEW, burstMax: 0 })
  const server = buildApp({ ...app.deps, callers: slow, admission, metrics: new Metrics() })
  await server.listen({ host: '127.0.0.1', port: 0 })
  t.after(() => server.close())
  const url = `http://127.0.0.1:${(server.server.address() as AddressInfo).port}`
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  t.after(() => agent.destroy())
  assert.equal((await post(app, url, agent)).status, 201)
  const owner = app.ledger.ledger.id
  for (let i = 0; i < 4; i++) admission.enter('writes', owner)
  isSlow = true
  for (let i = 0; i < 3; i++) {
    finds = 0
    assert.equal((await post(app, url, agent)).status, 503)
    assert.equal(finds, 1)
  }
  for (let i = 0; i < 4; i++) admission.leave('writes', owner)
  finds = 0
  assert.equal((await post(app, url, agent)).status, 201)
  assert.equal(finds, 1)
})
