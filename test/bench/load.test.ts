import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import net from 'node:net'
import { performance } from 'node:perf_hooks'
import { after, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { generateLoad, type LoadPlan, runLoad } from '../../bench/load/load.ts'
import {
  LIFECYCLE_STEPS,
  makeLifecycleRequests,
  makeRequests,
  type RequestShape,
} from '../../bench/load/requests.ts'

const MS = 1e6

/**
 * Runs a measurement of milliseconds up to three times, because the machine is shared. One undisturbed run is enough.
 */
async function onceOfThree(measure: () => Promise<void>): Promise<void> {
  for (let disturbed = 0; disturbed < 2; disturbed++) {
    const failure = await measure().then(
      () => null,
      (error: Error) => error,
    )
    if (failure === null) return
  }
  await measure()
}

test('a 100 ms stall at a constant rate shows in p99, which a generator that omits waiting would not report', () =>
  onceOfThree(async () => {
    const server = await startServer({ stallAtMs: 400, stallMs: 100 })
    const result = await generateLoad({
      ...planFor(server),
      connections: 4,
      pace: { kind: 'arrival', perSecond: 1000, backlogMax: 10_000 },
      warmUpMs: 100,
      durationMs: 1000,
    })
    assert.equal(result.pace, 'arrival rate, corrected for coordinated omission')
    assert.ok(result.latency.p99 > 70 * MS, `p99 is ${result.latency.p99 / MS} ms`)
    assert.ok(result.service.p99 < 70 * MS, `service p99 is ${result.service.p99 / MS} ms`)
    assert.ok(result.backlogHighest >= 50, `the backlog reached ${result.backlogHighest}`)
    assert.equal(result.dropped, 0)
    assert.ok(Math.abs(result.offered - 1000) < 60, `${result.offered} were due`)
    assert.ok(
      Math.abs(result.latency.count - result.offered) <= 2,
      'everything that was due is in the histogram',
    )
  }))

test('a closed loop hides the same stall', () =>
  onceOfThree(async () => {
    const server = await startServer({ stallAtMs: 400, stallMs: 100, answerAfterMs: 1 })
    const result = await generateLoad({ ...planFor(server), connections: 4, warmUpMs: 100, durationMs: 1000 })
    assert.equal(result.pace, 'closed loop')
    assert.ok(result.latency.p99 < 70 * MS, `p99 is ${result.latency.p99 / MS} ms`)
    assert.ok(result.latency.max > 70 * MS, `max is ${result.latency.max / MS} ms`)
  }))

test('a backlog past its bound is dropped and counted', async () => {
  const server = await startServer({ answerAfterMs: 50 })
  const result = await generateLoad({
    ...planFor(server),
    connections: 2,
    pace: { kind: 'arrival', perSecond: 1000, backlogMax: 20 },
    durationMs: 500,
  })
  assert.equal(result.backlogHighest, 20)
  assert.ok(result.dropped > 300, `${result.dropped} were dropped`)
})

test('every acknowledged request is counted, warm-up and drain included, exactly as the server counted them', async () => {
  const server = await startServer({ answerAfterMs: 2 })
  const result = await generateLoad({ ...planFor(server), connections: 8 })
  assert.equal(result.acknowledged, server.answered)
  assert.equal(result.unanswered, 0)
  assert.ok(result.achieved < result.acknowledged)
})

test('unexpected statuses are counted, not acknowledged, not in the percentiles, and a few bodies are kept', async () => {
  const server = await startServer({ statusOf: (n) => (n % 2 === 0 ? 503 : 201), answerAfterMs: 1 })
  const result = await generateLoad({ ...planFor(server), connections: 2 })
  assert.equal(result.acknowledged, result.statuses['201'])
  assert.ok(result.statuses['503']! > 0)
  assert.equal(result.samples.length, 5)
  assert.deepEqual([...new Set(result.samples.map((sample) => sample.status))], [503])
})

test('refusals per second are those within the window, without the backlog that is refused after it', async () => {
  const server = await startServer({ statusOf: () => 503, answerAfterMs: 20 })
  const pace = { kind: 'arrival', perSecond: 2_000, backlogMax: 10_000 } as const
  const result = await generateLoad({ ...planFor(server), connections: 4, pace })
  assert.ok(result.refusedPerSecond > 0)
  // A quarter more, because answers arrive in groups and the ends of the window may each cut a group.
  assert.ok(result.refusedPerSecond <= 1.25 * 4 * (1_000 / 20), `${result.refusedPerSecond}`)
})

test('a connection that the server closes is counted as an error with an unknown outcome, and opened again', async () => {
  const server = await startServer({ closeEvery: 20, answerAfterMs: 1 })
  const result = await generateLoad({ ...planFor(server), connections: 2, durationMs: 500 })
  assert.ok(result.unanswered >= 2, `${result.unanswered} unanswered`)
  assert.equal(result.errors['closed'], result.unanswered)
  assert.ok(result.acknowledged > 40)
  assert.equal(result.acknowledged, server.answered)
})

test('a server that never answers ends the run after warm-up, duration and drain, and raises the percentiles', async () => {
  const server = await startServer({ answerAfterMs: 60_000 })
  const beganAt = performance.now()
  const result = await generateLoad({
    ...planFor(server),
    connections: 3,
    pace: { kind: 'arrival', perSecond: 25, backlogMax: 1000 },
    warmUpMs: 0,
    durationMs: 300,
    drainMsMax: 200,
  })
  assert.ok(performance.now() - beganAt < 1500)
  assert.equal(result.unanswered, 3)
  assert.equal(result.acknowledged, 0)
  assert.ok(result.latency.max > 400 * MS)
})

test('answers that arrive in pieces are read, and sampled whole', async () => {
  const server = await startServer({ pieces: true })
  const result = await generateLoad({ ...planFor(server), connections: 2, sampleEvery: 3, durationMs: 200 })
  assert.deepEqual(result.errors, {})
  assert.ok(result.samples.length > 3)
  assert.deepEqual(new Set(result.samples.map((sample) => sample.body)), new Set(['{"id":"rec_é"}']))
})

test('no two requests carry the same payload or idempotency key, and each is JSON of about the asked size', () => {
  const shape = { ...planFor({ port: 1 }).request, idempotencyKeys: true }
  const seen = new Set<string>()
  for (const connection of [0, 1, 2]) {
    const requests = makeRequests(shape, connection)
    for (let i = 0; i < 100; i++) {
      const [head, body] = requests.next().toString().split('\r\n\r\n') as [string, string]
      assert.equal(Number(/Content-Length: (\d+)/.exec(head)![1]), Buffer.byteLength(body))
      const { type, payload } = JSON.parse(body)
      assert.equal(type, 'generic/1')
      assert.ok(Math.abs(Buffer.byteLength(JSON.stringify(payload)) - 400) <= 8)
      seen.add(payload.callId)
      seen.add(/Idempotency-Key: (\S+)/.exec(head)![1]!)
    }
  }
  assert.equal(seen.size, 600)
})

test('the same seed generates the same requests; a batch contains its number of items', () => {
  const shape: RequestShape = { ...planFor({ port: 1 }).request, kind: 'batch', items: 10 }
  const first = makeRequests(shape, 1).next().toString()
  assert.equal(makeRequests(shape, 1).next().toString(), first)
  assert.notEqual(
    makeRequests({ ...shape, seed: 2 }, 1)
      .next()
      .toString(),
    first,
  )
  assert.match(first, /^POST \/v1\/records\/batch HTTP\/1\.1\r\n/)
  const { records } = JSON.parse(first.split('\r\n\r\n')[1]!)
  assert.equal(
    new Set(records.map((record: { payload: { callId: string } }) => record.payload.callId)).size,
    10,
  )
})

/**
 * The expected digests must never change, because figures of two commits are comparable only if both sent the same
 * bytes.
 */
test('the bytes of every kind of request are unchanged, so that figures stay comparable', () => {
  const shape = { bearers: ['tly_a', 'tly_b'], items: 1, payloadBytes: 400, idempotencyKeys: false, seed: 7 }
  const members = { type: 'order/1', references: ['erp:1'] }
  assert.deepEqual(
    {
      record: digestRequests({ ...shape, kind: 'record' }),
      'record with a key': digestRequests({ ...shape, kind: 'record', idempotencyKeys: true, members }),
      batch: digestRequests({ ...shape, kind: 'batch', items: 20, idempotencyKeys: true }),
      get: digestRequests({ ...shape, kind: 'get', paths: ['/a', '/b?c=1'] }),
      lifecycle: digestLifecycles(),
    },
    {
      record: '94c1a6a3e9007cc85ea2a8bb5079dd4f9bd1c1b46e2136b7a8a845cb62b33ea6',
      'record with a key': '6620ae7a6c5065a0eb6ec7bdcc3734acf4e68f3f8a859912a88d7eee0295269a',
      batch: '32ddc6e3b08c7af90c7ad8abafaf5e41ed984b86463c5caa8796be42b2e6fcc3',
      get: '38e6419055be23e4ab5fc03f8e46396b43cfd8269c96175e1534ce6bed66a524',
      lifecycle: '21f2fb5af7aaf80cbb43c7a45fc3bd73cf9859be1e0ebadcbe46f2373c9c4c28',
    },
  )
})

function digestRequests(shape: RequestShape): string {
  const hash = createHash('sha256')
  for (const connection of [0, 3]) {
    const requests = makeRequests(shape, connection)
    for (let i = 0; i < 40; i++) hash.update(requests.next())
  }
  return hash.digest('hex')
}

function digestLifecycles(): string {
  const hash = createHash('sha256')
  for (const client of [0, 3]) {
    const requests = makeLifecycleRequests(
      {
        type: 'order/1',
        principalBearer: 'tly_p',
        performerBearer: 'tly_q',
        performer: 'agt_1',
        gate: 'principal',
        deadline: '2026-01-01T00:00:00.000Z',
        payloadBytes: 400,
        idempotencyKeys: true,
        seed: 7,
      },
      client,
    )
    for (let i = 0; i < 20; i++) {
      requests.turn()
      for (const step of LIFECYCLE_STEPS) hash.update(requests.of(step, `rec_${'1'.repeat(26)}`))
    }
  }
  return hash.digest('hex')
}

test('runs in a process of its own and reports its CPU use', async () => {
  const server = await startServer({})
  const measured: number[] = []
  const result = await runLoad(
    { ...planFor(server), connections: 4 },
    { onEdge: (_edge, pid) => void measured.push(pid) },
  )
  assert.equal(result.acknowledged, server.answered)
  assert.equal(measured.length, 2)
  assert.notEqual(measured[0], process.pid)
  assert.ok(result.cpu.microsPerRequest > 0 && result.cpu.coreShare < 1.1)
})

test('rejects with ECONNREFUSED when no server listens', async () => {
  const server = await startServer({})
  await server.close()
  await assert.rejects(runLoad(planFor(server)), /cannot connect to 127\.0\.0\.1.*ECONNREFUSED/)
})

function planFor(server: { port: number }): LoadPlan {
  return {
    targets: [{ host: '127.0.0.1', port: server.port }],
    request: {
      bearers: ['tly_test'],
      kind: 'record',
      items: 1,
      payloadBytes: 400,
      idempotencyKeys: false,
      seed: 1,
    },
    connections: 1,
    pace: { kind: 'closed' },
    warmUpMs: 100,
    durationMs: 300,
    drainMsMax: 1000,
    sampleEvery: 0,
  }
}

type Behaviour = {
  answerAfterMs?: number
  /** Time in ms after the first request at which the server stalls once, for `stallMs`. */
  stallAtMs?: number
  stallMs?: number
  statusOf?: (n: number) => number
  closeEvery?: number
  pieces?: boolean
}

/** Writes the pieces one after another, because timers of different lengths may fire out of order. */
async function writeInPieces(socket: net.Socket, bytes: Buffer): Promise<void> {
  for (const [from, to] of [
    [0, 5],
    [5, 30],
    [30, 45],
    [45, 50],
    [50, bytes.length],
  ] as const) {
    socket.write(bytes.subarray(from, to))
    await sleep(2)
  }
}

async function startServer(behaviour: Behaviour) {
  const sockets = new Set<net.Socket>()
  const state = { port: 0, answered: 0, close }
  let requests = 0
  let firstAt = 0
  const answer = (socket: net.Socket, n: number) => {
    if (socket.destroyed) return
    const body = '{"id":"rec_é"}'
    const text = `HTTP/1.1 ${behaviour.statusOf?.(n) ?? 201} X\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
    state.answered++
    if (!behaviour.pieces) {
      socket.write(text)
      return
    }
    void writeInPieces(socket, Buffer.from(text))
  }
  const server = net.createServer({ noDelay: true }, (socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('data', () => {
      const n = ++requests
      firstAt ||= performance.now()
      if (behaviour.closeEvery && n % behaviour.closeEvery === 0) {
        socket.destroy()
        return
      }
      const waitMs = (behaviour.answerAfterMs ?? 0) + stallLeftMs()
      if (waitMs > 0) setTimeout(() => answer(socket, n), waitMs).unref()
      else answer(socket, n)
    })
  })
  const stallLeftMs = () => {
    const { stallAtMs, stallMs } = behaviour
    if (stallAtMs === undefined || stallMs === undefined) return 0
    const sinceStall = performance.now() - firstAt - stallAtMs
    return sinceStall >= 0 && sinceStall < stallMs ? stallMs - sinceStall : 0
  }
  function close(): Promise<void> {
    for (const socket of sockets) socket.destroy()
    return new Promise((resolve) => server.close(() => resolve()))
  }
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  state.port = (server.address() as net.AddressInfo).port
  after(() => close())
  return state
}
