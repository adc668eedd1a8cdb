import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import {
  ConflictError,
  NotFoundError,
  OutcomeUnknownError,
  RateLimitError,
  UnavailableError,
  UnexpectedAnswerError,
  UnknownOutcomeError,
} from '../../sdk/errors.ts'
import { failureOf, type Hostile, sendJson, sendProblem, startHostile } from './hostile-server.ts'
import { QUICK_RETRIES } from './quick-retries.ts'

const PAYLOAD = { payload: { n: 1 } }
const TRIES = QUICK_RETRIES.retriesMax + 1

test('an answer that no Tallystick server gives is not retried', async (t) => {
  const json = { 'content-type': 'application/json' }
  const cases: [status: number, headers: Record<string, string>, body: string, says: RegExp][] = [
    [
      200,
      { 'content-type': 'text/html' },
      '<html>',
      /answered 200 with text\/html, not with application\/json: check/,
    ],
    [200, {}, '{}', /with no content type/],
    [204, {}, '', /with no content type/],
    [200, json, '[]', /answered with JSON that is not an object/],
    [200, json, 'null', /answered with JSON that is not an object/],
    [404, { 'content-type': 'text/html' }, 'no', /answered 404 without a reason: check that the address/],
    [401, json, '{"error":"no"}', /answered 401 without a reason/],
    [400, { 'content-type': 'application/problem+json' }, '{"status":400}', /answered 400 without a reason/],
    [418, { 'content-type': 'application/problem+json' }, '"tea"', /answered 418 without a reason/],
  ]
  let at = 0
  const server = await startHostile(t, (response) => {
    const [status, headers, body] = cases[at]!
    response.writeHead(status, headers).end(body)
  })
  for (; at < cases.length; at++) {
    const error = await failureOf(
      server.client().records.notarize(PAYLOAD),
      UnexpectedAnswerError,
      cases[at]![3],
    )
    assert.equal(error.retryable, false)
  }
  assert.equal(server.requests.length, cases.length)
})

test('an error page of a proxy and a broken answer are retried', async (t) => {
  const server = await startHostile(t, (response, attempt) => {
    if (attempt <= 2) response.writeHead(502, { 'content-type': 'text/html' }).end('<html>Bad Gateway')
    else if (attempt === 3) response.writeHead(200, { 'content-type': 'application/json' }).end('{"id":')
    else sendJson(response, { id: 'rec_1' })
  })
  assert.deepEqual(await server.client().records.notarize(PAYLOAD), { id: 'rec_1' })
  assert.equal(new Set(server.requests.map(({ headers }) => headers['idempotency-key'])).size, 1)
  const down = await startHostile(t, (response) => void response.writeHead(503).end())
  await failureOf(
    down.client().records.notarize(PAYLOAD),
    UnexpectedAnswerError,
    /something in front of the server answered POST .* with 503.*repeat it with the idempotency key/,
  )
  assert.equal(down.requests.length, TRIES)
})

test('control characters in a server’s detail are escaped in the error message', async (t) => {
  const said = 'gone\r\n{"level":"info"}\u001b[2J\u009b2J\u202e'
  const server = await startHostile(t, (response) =>
    sendProblem(response, 404, 'not_found', { detail: said }),
  )
  const error = await failureOf(
    server.client().records.get('rec_1'),
    NotFoundError,
    /gone⟨U\+000D⟩⟨U\+000A⟩\{"level":"info"\}⟨U\+001B⟩\[2J⟨U\+009B⟩2J⟨U\+202E⟩/,
  )
  assert.equal(error.problem.detail, said, 'anybody who wants it as it is has it')
})

test('a problem whose status differs from the HTTP status is ignored', async (t) => {
  const server = await startHostile(t, (response) => {
    sendProblem(response, 403, 'overloaded', { status: 503, retryable: true })
  })
  await failureOf(
    server.client().records.notarize(PAYLOAD),
    UnexpectedAnswerError,
    /answered 403 without a reason/,
  )
  assert.equal(server.requests.length, 1)
})

test('an unknown code, also one named constructor, gets no advice', async (t) => {
  const server = await startHostile(t, (response) => sendProblem(response, 409, 'constructor'))
  const error = await failureOf(
    server.client().ledger.get(),
    ConflictError,
    /^409 constructor: the detail \[request/,
  )
  assert.equal(error.state, undefined)
})

test('the API key is not sent to a redirect target', async (t) => {
  const elsewhere = await startHostile(t, (response) => sendJson(response, { id: 'rec_1' }))
  for (const status of [301, 302, 303, 307, 308]) {
    const server = await startHostile(t, (response) => {
      response.writeHead(status, { location: `${elsewhere.baseUrl}/v1/ledger` }).end()
    })
    const error = await failureOf(
      server.client().ledger.get(),
      UnexpectedAnswerError,
      /redirects, but .* use the server's own address/,
    )
    assert.deepEqual([error.retryable, server.requests.length], [false, 1])
  }
  assert.equal(elsewhere.requests.length, 0)
})

test('a retry waits for the Retry-After of an overloaded server', async (t) => {
  const server = await startHostile(t, (response, attempt) => {
    if (attempt === 1) sendProblem(response, 503, 'overloaded', { headers: { 'retry-after': '1' } })
    else sendJson(response, { id: 'rec_1' })
  })
  const before = Date.now()
  await server.client().records.notarize(PAYLOAD)
  assert.ok(Date.now() - before >= 990, `it waited ${Date.now() - before} ms`)
  const limited = await startHostile(t, (response) =>
    sendProblem(response, 429, 'rate_limited', { headers: { 'retry-after': '2' } }),
  )
  const error = await failureOf(
    limited.client().records.notarize(PAYLOAD, { retriesMax: 0 }),
    RateLimitError,
    /rate_limited: the detail\. What to do: wait .* \(in 2 s\)/,
  )
  assert.equal(error.retryAfterMs, 2_000)
})

test('a Retry-After of an hour ends the call at once; an invalid one is ignored', async (t) => {
  const inAnHour = new Date(Date.now() + 3_600_000).toUTCString()
  for (const retryAfter of ['3600', '999999999', inAnHour]) {
    const server = await busy(t, retryAfter)
    const before = Date.now()
    const error = await failureOf(server.client().records.notarize(PAYLOAD), UnavailableError, /overloaded/)
    assert.ok(error.retryAfterMs! > 3_590_000)
    assert.ok(Date.now() - before < 1_000)
    assert.equal(server.requests.length, 1)
  }
  // A value of Retry-After without a meaning is ignored.
  for (const retryAfter of ['soon', '-1', '1e9', '', '0']) {
    const server = await busy(t, retryAfter)
    await failureOf(server.client().records.notarize(PAYLOAD), UnavailableError, /overloaded/)
    assert.equal(server.requests.length, TRIES)
  }
})

test('outcome_unknown is retried with an idempotency key, and not without', async (t) => {
  const server = await startHostile(t, (response) => sendProblem(response, 503, 'outcome_unknown'))
  const keyed = await failureOf(
    server.client().records.notarize(PAYLOAD, { idempotencyKey: 'mine' }),
    OutcomeUnknownError,
    /repeat it with the idempotency key "mine"$/,
  )
  assert.deepEqual([keyed.idempotencyKey, keyed.retryable], ['mine', true])
  assert.equal(server.requests.length, TRIES)
  const error = await failureOf(
    server.client().keys.rotate('key_1'),
    OutcomeUnknownError,
    /check before you repeat it/,
  )
  assert.deepEqual([error.idempotencyKey, error.retryable], [null, false])
  assert.equal(server.requests.length, TRIES + 1)
  assert.ok(error instanceof UnknownOutcomeError)
})

function busy(t: TestContext, retryAfter: string): Promise<Hostile> {
  return startHostile(t, (response) =>
    sendProblem(response, 503, 'overloaded', { headers: { 'retry-after': retryAfter } }),
  )
}
