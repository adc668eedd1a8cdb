import assert from 'node:assert/strict'
import { once } from 'node:events'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { generateLifecycles, type LifecyclePlan } from '../../bench/load/lifecycles.ts'
import { makeLifecycleRequests } from '../../bench/load/requests.ts'

const MS = 1e6

test('every complete record is counted as the server counted it, warm-up and drain included', async () => {
  const server = await startServer({ verifyAfterMs: 20 })
  const result = await generateLifecycles(planFor(server))
  assert.ok(server.accepted > 8)
  assert.equal(result.complete, server.accepted)
  assert.equal(result.load.acknowledged, server.created)
  assert.equal(server.created, server.accepted, 'what was begun was brought to its end')
  assert.ok(result.load.achieved < result.complete)
  assert.equal(result.abandoned, 0)
  assert.deepEqual(Object.keys(result.load.statuses).sort(), ['200', '201'])
})

test('a record’s latency includes the wait for the worker, which is one long-polling request', async () => {
  const server = await startServer({ verifyAfterMs: 150 })
  const result = await generateLifecycles(planFor(server))
  assert.ok(result.wait.p50 >= 140 * MS, `p50 ${result.wait.p50 / MS} ms`)
  assert.ok(result.load.latency.p50 > result.wait.p50)
  assert.equal(result.steps.look.count, result.steps.judge.count)
})

test('a client whose long poll times out polls again', async () => {
  const server = await startServer({ verifyAfterMs: 150, holdMsMax: 100 })
  const result = await generateLifecycles(planFor(server))
  assert.ok(result.wait.p50 >= 140 * MS, `p50 ${result.wait.p50 / MS} ms`)
  assert.ok(result.looksPerRecord > 1.5, `${result.looksPerRecord} looks`)
  assert.ok(result.steps.look.count > result.steps.judge.count)
})

test('with gate auto, the client sends no verdict and waits for the worker’s', async () => {
  const server = await startServer({ verifyAfterMs: 20, acceptAfterMs: 150 })
  const plan = planFor(server)
  const result = await generateLifecycles({ ...plan, request: { ...plan.request, gate: 'auto' } })
  assert.equal(result.steps.judge.count, 0)
  assert.equal(result.complete, server.accepted)
  assert.ok(result.complete > 0)
})

test('a refused record is abandoned, counted, and sampled for the report', async () => {
  const server = await startServer({
    verifyAfterMs: 1,
    refuse: (step, n) => step === 'verdict' && n % 2 === 0,
  })
  const result = await generateLifecycles(planFor(server))
  assert.ok(result.abandoned > 0)
  assert.equal(result.abandoned + result.complete, server.created)
  assert.equal(result.load.statuses['409'], result.abandoned)
  assert.ok(result.load.samples.some(({ status }) => status === 409))
})

test('a record with a discrepant completion is not counted as complete', async () => {
  const server = await startServer({ verifyAfterMs: 1, outcome: 'DISCREPANT' })
  const result = await generateLifecycles(planFor(server))
  assert.equal(result.complete, 0)
  assert.ok(result.abandoned > 0)
})

test('a lost connection is reopened, and its record is abandoned', async () => {
  const server = await startServer({
    verifyAfterMs: 1,
    hangUp: (step, n) => step === 'completions' && n % 5 === 0,
  })
  const result = await generateLifecycles({ ...planFor(server), durationMs: 600 })
  assert.ok(result.abandoned > 0)
  assert.equal(result.load.unanswered, result.abandoned)
  assert.equal(result.complete, server.accepted)
  assert.ok(result.complete > 4)
})

test('records in progress at the end of the run are counted as abandoned', async () => {
  const server = await startServer({ verifyAfterMs: 60_000 })
  const result = await generateLifecycles({ ...planFor(server), drainMsMax: 100 })
  assert.equal(result.abandoned, 4)
  assert.equal(result.complete, 0)
})

test('each party sends with its own key, and no two records carry the same payload, evidence or idempotency key', () => {
  const { request } = planFor({ port: 1 })
  const seen = new Set<string>()
  for (const client of [0, 1]) {
    const requests = makeLifecycleRequests({ ...request, idempotencyKeys: true }, client)
    for (let i = 0; i < 50; i++) {
      requests.turn()
      const read = (step: 'create' | 'activate' | 'complete' | 'look' | 'judge') => {
        const [head, body] = requests.of(step, RECORD).toString().split('\r\n\r\n') as [string, string]
        return { head, body: body === '' ? null : JSON.parse(body) }
      }
      const create = read('create')
      const complete = read('complete')
      assert.match(create.head, /^POST \/v1\/records HTTP[\s\S]*Bearer tly_principal/)
      assert.match(
        complete.head,
        new RegExp(`^POST /v1/records/${RECORD}/completions [\\s\\S]*Bearer tly_performer`),
      )
      assert.match(read('look').head, new RegExp(`^GET /v1/records/${RECORD}\\?wait=20 `))
      assert.equal(complete.body.evidence.quantity, create.body.payload.input.quantity, 'it keeps the rules')
      seen.add(create.body.payload.callId).add(complete.body.evidence.deliveryNote)
      for (const { head } of [create, read('activate'), complete, read('judge')])
        seen.add(/Idempotency-Key: (\S+)/.exec(head)![1]!)
    }
  }
  assert.equal(seen.size, 100 * 6)
})

const RECORD = 'rec_01m8ten1x0e1xfmh8cvzvfr3zx'

function planFor(server: { port: number }): LifecyclePlan {
  return {
    targets: [{ host: '127.0.0.1', port: server.port }],
    request: {
      type: 'order/1',
      principalBearer: 'tly_principal',
      performerBearer: 'tly_performer',
      performer: 'agt_01m8ten1x0e1xfmh8cvzvfr3zx',
      gate: 'principal',
      deadline: '2030-01-01T00:00:00.000Z',
      payloadBytes: 400,
      idempotencyKeys: false,
      seed: 1,
    },
    clients: 4,
    warmUpMs: 50,
    durationMs: 400,
    drainMsMax: 2000,
    sampleEvery: 8,
  }
}

type Behaviour = {
  verifyAfterMs: number
  outcome?: 'VERIFIED' | 'DISCREPANT'
  /** Time in ms from the verification to the acceptance by an auto gate. */
  acceptAfterMs?: number
  /** Maximum time in ms that a request waits for the worker. */
  holdMsMax?: number
  refuse?: (step: string, n: number) => boolean
  hangUp?: (step: string, n: number) => boolean
}

/** Starts a server that implements the part of the lifecycle that the clients read. */
async function startServer({
  verifyAfterMs,
  outcome = 'VERIFIED',
  acceptAfterMs,
  holdMsMax = 20_000,
  refuse,
  hangUp,
}: Behaviour) {
  const records = new Map<string, string>()
  const counts: Record<string, number> = {}
  const state = { port: 0, created: 0, accepted: 0 }
  const accept = (id: string) => {
    records.set(id, 'ACCEPTED')
    state.accepted++
  }
  const steps: Record<string, (id: string) => void> = {
    activate: (id) => void records.set(id, 'ACTIVE'),
    completions(id) {
      records.set(id, 'SUBMITTED')
      setTimeout(() => {
        records.set(id, outcome)
        if (acceptAfterMs !== undefined) setTimeout(() => accept(id), acceptAfterMs).unref()
      }, verifyAfterMs).unref()
    },
    verdict: accept,
  }
  const server = http.createServer(async (request, response) => {
    const [path, wait] = request.url!.split('?')
    const [, , , given, step = ''] = path!.split('/')
    for await (const _ of request);
    const n = (counts[step] ?? 0) + 1
    counts[step] = n
    if (hangUp?.(step, n)) return void request.socket.destroy()
    const answer = (status: number, body: string) =>
      response.writeHead(status, { 'content-length': Buffer.byteLength(body) }).end(body)
    if (refuse?.(step, n)) return answer(409, '{"code":"state_conflict"}')
    const id = given ?? `rec_${String(++state.created).padStart(26, '0')}`
    if (given === undefined) records.set(id, 'CREATED')
    else steps[step]?.(id)
    const waitsForWorker = () =>
      records.get(id) === 'SUBMITTED' || (acceptAfterMs !== undefined && records.get(id) === 'VERIFIED')
    for (const until = performance.now() + holdMsMax; wait && waitsForWorker(); await sleep(5))
      if (performance.now() > until) break
    return answer(given === undefined ? 201 : 200, `{"id":"${id}","state":"${records.get(id)}"}`)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  state.port = (server.address() as AddressInfo).port
  after(() => {
    server.closeAllConnections()
    server.close()
  })
  return state
}
