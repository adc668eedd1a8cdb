import assert from 'node:assert/strict'
import { getEventListeners, once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { type AddressInfo, createServer } from 'node:net'
import { test } from 'node:test'
import { ConnectionError, NotFoundError, TimeoutError, UnexpectedAnswerError } from '../../sdk/errors.ts'
import { until } from '../helpers/wait.ts'
import { clientsOf, failureOf, sendJson, sendProblem, startHostile, startRaw } from './hostile-server.ts'
import { QUICK_RETRIES } from './quick-retries.ts'

const PAYLOAD = { payload: { n: 1 } }
const TRIES = QUICK_RETRIES.retriesMax + 1

test('a refused connection is retried, and the error names what to check', async () => {
  const closed = clientsOf(await portNobodyHas())
  const error = await failureOf(
    closed.client().records.notarize(PAYLOAD),
    ConnectionError,
    /no connection \(ECONNREFUSED\); is the server running, and is the address right\?$/,
  )
  // The request was not sent, so the outcome is known.
  assert.deepEqual([error.retryable, error.idempotencyKey], [true, null])
})

test('a reset connection is retried, a write with the same idempotency key', async (t) => {
  const heads: string[] = []
  const { client } = await startRaw(t, (socket) => {
    socket.on('data', (data) => {
      heads.push(data.toString())
      socket.resetAndDestroy()
    })
  })
  const error = await failureOf(
    client().records.notarize(PAYLOAD),
    ConnectionError,
    /the connection broke \(.*\); it is unknown whether it was written: repeat it with the idempotency key "[0-9a-f]{32}"$/,
  )
  assert.equal(error.retryable, true)
  const keys = new Set(heads.map((head) => /^idempotency-key: (\S+)/im.exec(head)?.[1]).filter(Boolean))
  assert.deepEqual([...keys], [error.idempotencyKey])
  assert.equal(heads.filter((head) => head.startsWith('POST ')).length, TRIES)
})

test('a write without an idempotency key is sent once, and its error says that the outcome is unknown', async (t) => {
  const server = await startHostile(t, (response) => response.destroy())
  const error = await failureOf(
    server.client().keys.rotate('key_1'),
    ConnectionError,
    /it is unknown whether it was done: check before you repeat it$/,
  )
  assert.deepEqual([error.retryable, server.requests.length], [false, 1])
})

test('a server that does not answer causes a TimeoutError', async (t) => {
  const server = await startHostile(t, () => {})
  let attempts = 0
  const countingFetch: typeof fetch = (input, init) => {
    attempts++
    return fetch(input, init)
  }
  const client = server.client({ timeoutMs: 30, fetch: countingFetch })
  await failureOf(
    client.records.notarize(PAYLOAD, { retriesMax: 1 }),
    TimeoutError,
    /did not answer within 30 ms: check the server's load/,
  )
  assert.equal(attempts, 2)
  await failureOf(client.ledger.get({ timeoutMs: 20, retriesMax: 0 }), TimeoutError, /within 20 ms/)
})

test('an answer that arrives byte by byte has the same timeout', async (t) => {
  const server = await startHostile(t, (response) => {
    response.writeHead(200, { 'content-type': 'application/json' })
    const drip = setInterval(() => response.write(' '), 5)
    response.on('close', () => clearInterval(drip))
  })
  await failureOf(server.client().ledger.get({ timeoutMs: 60, retriesMax: 0 }), TimeoutError, /within 60 ms/)
})

test('headers that arrive byte by byte have the same timeout', async (t) => {
  const { client } = await startRaw(t, (socket) => {
    socket.write('HTTP/1.1 200 OK\r\n')
    const drip = setInterval(() => socket.write('x-more: 1\r\n'), 5)
    socket.on('close', () => clearInterval(drip))
  })
  await failureOf(client().ledger.get({ timeoutMs: 60, retriesMax: 0 }), TimeoutError, /within 60 ms/)
})

test('a cut-off answer is a ConnectionError and is retried', async (t) => {
  const cut = await startHostile(t, (response) => {
    response
      .writeHead(200, { 'content-type': 'application/json', 'content-length': 100 })
      .write('{"id":"led_')
    setTimeout(() => response.destroy(), 5)
  })
  await failureOf(cut.client().ledger.get(), ConnectionError, /the connection broke/)
  assert.equal(cut.requests.length, TRIES)
  const { client } = await startRaw(t, (socket) => {
    // The answer has no length, so it ends when the connection ends.
    socket.end('HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n\r\n{"id":"led_')
  })
  await failureOf(client().ledger.get(), UnexpectedAnswerError, /answered with invalid JSON/)
})

test('an endless answer is refused above its size limit', async (t) => {
  for (const [status, type, bytesMax] of [
    [200, 'application/json', 64 * 1024 * 1024],
    [503, 'application/problem+json', 1024 * 1024],
  ] as const) {
    const server = await startHostile(t, (response) =>
      sendForever(response.writeHead(status, { 'content-type': type })),
    )
    const says = new RegExp(`answered with more than ${bytesMax} bytes`)
    await failureOf(server.client().ledger.get({ timeoutMs: 60_000 }), UnexpectedAnswerError, says)
    assert.equal(server.requests.length, 1)
  }
})

test('the connection of an HTML page that is not read is closed', async (t) => {
  for (const status of [200, 404]) {
    let closed = false
    const server = await startHostile(t, (response) => {
      response.on('close', () => {
        closed = true
      })
      sendForever(response.writeHead(status, { 'content-type': 'text/html' }))
    })
    await failureOf(server.client().ledger.get(), UnexpectedAnswerError, /check that the address/)
    await until(() => closed)
  }
})

test('an aborted signal stops a call at any moment with the signal’s reason', async (t) => {
  const reason = new Error('the caller has gone')
  const isReason = (thrown: unknown) => thrown === reason
  const moments: Record<string, (response: ServerResponse) => void> = {
    'before there is an answer': () => {},
    'in the middle of it': (response) => {
      response.writeHead(200, { 'content-type': 'application/json' }).write('{')
    },
    'before it is tried again': (response) =>
      sendProblem(response, 503, 'overloaded', { headers: { 'retry-after': '30' } }),
  }
  for (const [moment, answer] of Object.entries(moments)) {
    const stop = new AbortController()
    const server = await startHostile(t, (response) => {
      answer(response)
      setTimeout(() => stop.abort(reason), 20)
    })
    await assert.rejects(server.client().ledger.get({ signal: AbortSignal.abort(reason) }), isReason)
    assert.equal(server.requests.length, 0)
    const before = Date.now()
    // The call must fail with the signal's reason whether or not it may be retried.
    const retriesMax = moment === 'before it is tried again' ? 1 : 0
    const call = server.client().records.notarize(PAYLOAD, { signal: stop.signal, retriesMax })
    await assert.rejects(call, isReason, moment)
    assert.ok(Date.now() - before < 2_000, `${moment}: it took ${Date.now() - before} ms`)
    assert.equal(server.requests.length, 1)
  }
})

test('a signal used for many calls keeps no listeners', async (t) => {
  const server = await startHostile(t, (response, attempt) => {
    if (attempt === 2) sendProblem(response, 404, 'not_found')
    else sendJson(response, { id: 'led_1' })
  })
  const { signal } = new AbortController()
  await server.client().ledger.get({ signal })
  await failureOf(server.client().ledger.get({ signal }), NotFoundError, /not_found/)
  assert.equal(getEventListeners(signal, 'abort').length, 0)
})

test('an infinite timeout means no timeout', async (t) => {
  const server = await startHostile(t, (response) =>
    setTimeout(() => sendJson(response, { id: 'led_1' }), 20),
  )
  for (const timeoutMs of [Number.POSITIVE_INFINITY, 2 ** 40])
    assert.deepEqual(await server.client({ timeoutMs }).ledger.get(), { id: 'led_1' })
})

function sendForever(response: ServerResponse): void {
  const piece = Buffer.alloc(1024 * 1024, ' ')
  const write = () => {
    while (!response.destroyed && response.write(piece));
  }
  response.on('drain', write)
  write()
}

async function portNobodyHas(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  await new Promise((closed) => server.close(closed))
  return port
}
