import assert from 'node:assert/strict'
import { test } from 'node:test'
import Fastify from 'fastify'
import { useRateLimits } from '../../src/http/plugins/rate-limit.ts'
import { expectStatus, genericBody, OPERATOR_KEY, type TestApp } from '../helpers/app.ts'
import { assertProblem } from '../helpers/assert-problem.ts'
import { addKey } from '../helpers/more-keys.ts'
import { sharedApp } from '../helpers/shared-app.ts'

const SLOW = { requestsPerSecond: 0.5, burst: 2 }

test('without a limit the answers have no RateLimit headers', async () => {
  const app = await sharedApp()
  const response = await app.send('GET', '/v1/ledger')
  assert.equal(response.headers['ratelimit'], undefined)
  assert.equal(response.headers['ratelimit-policy'], undefined)
})

test('a key’s rate limit', async (t) => {
  const app = await sharedApp()
  const manager = await addKey(app, { scopes: ['keys:manage'] })
  const limit = (limit: unknown, id = app.ledger.key.id) =>
    app.send('PUT', `/v1/keys/${id}/rate-limit`, { key: manager, body: { rateLimit: limit } })
  const get = () => app.send('GET', '/v1/ledger')

  await t.test('accepts its burst, then refuses with 429 and when to retry', async () => {
    assert.deepEqual(expectStatus(200, await limit(SLOW)).json(), { rateLimit: SLOW })
    const first = expectStatus(200, await get())
    assert.equal(first.headers['ratelimit-policy'], '"key";q=2;w=4')
    assert.equal(first.headers['ratelimit'], '"key";r=1;t=2')
    expectStatus(200, await get())
    const before = await app.written()
    const refused = await app.send('POST', '/v1/records', { body: genericBody() })
    const { retryable, detail } = assertProblem(refused, 429, 'rate_limited')
    assert.equal(retryable, true)
    assert.equal(
      detail,
      'the rate limit of the API key is used up (0.5 requests a second, burst 2): try again in 2 s',
    )
    assert.equal(refused.headers['retry-after'], '2')
    assert.equal(refused.headers['ratelimit'], '"key";r=0;t=4')
    assert.deepEqual(await app.written(), before)
  })

  await t.test('does not affect other keys or routes without a key', async () => {
    expectStatus(200, await app.send('GET', '/v1/keys', { key: manager }))
    for (const url of ['/livez', '/readyz', '/openapi.json']) {
      expectStatus(200, await app.send('GET', url, { key: null }))
    }
    expectStatus(200, await app.send('GET', '/v1/ledgers', { key: OPERATOR_KEY }))
  })

  await t.test('is shown with the key, and removed with null', async () => {
    const shown = () => app.send('GET', `/v1/keys/${app.ledger.key.id}`, { key: manager })
    assert.deepEqual(expectStatus(200, await shown()).json().rateLimit, SLOW)
    assert.deepEqual(expectStatus(200, await limit(null)).json(), { rateLimit: null })
    assert.equal((await shown()).json().rateLimit, null)
    assert.equal(expectStatus(200, await get()).headers['ratelimit'], undefined)
  })

  await t.test('counts a batch as one request plus one per hundred records', async () => {
    expectStatus(200, await limit({ requestsPerSecond: 1, burst: 10 }))
    const records = Array.from({ length: 500 }, (_, i) => genericBody({ i }))
    const batch = await app.send('POST', '/v1/records/batch', { body: { records } })
    assert.equal(expectStatus(201, batch).headers['ratelimit'], '"key";r=9;t=1')
    assert.match(expectStatus(200, await get()).headers['ratelimit'] as string, /^"key";r=[3-5];t=[67]$/)
  })

  await t.test('a refusal names all missing members', async () => {
    const { detail } = assertProblem(await limit({}), 422, 'invalid_request')
    assert.equal(detail, '/rateLimit must have requestsPerSecond, burst: they are missing')
  })

  await t.test('refuses invalid limits, unknown keys, and a key without keys:manage', async () => {
    for (const body of [
      {},
      { requestsPerSecond: 0, burst: 1 },
      { requestsPerSecond: 1, burst: 0 },
      { requestsPerSecond: 1, burst: 1.5 },
      { requestsPerSecond: 1, burst: 1, more: 1 },
      { requestsPerSecond: 2_000_000, burst: 1 },
      [],
      'fast',
      undefined,
    ]) {
      assertProblem(await limit(body), 422, 'invalid_request')
    }
    const own = `/v1/keys/${app.ledger.key.id}/rate-limit`
    assertProblem(await app.send('PUT', own, { key: manager }), 422, 'invalid_request')
    assertProblem(await app.send('PUT', own, { key: manager, text: 'null' }), 422, 'invalid_request')
    assertProblem(await limit(SLOW, 'key_01jegv5gyme05800000000000a'), 404, 'not_found')
    const reader = await addKey(app, { scopes: ['records:read'] })
    const url = `/v1/keys/${app.ledger.key.id}/rate-limit`
    assertProblem(await app.send('PUT', url, { key: reader, body: { rateLimit: SLOW } }), 403, 'forbidden')
  })
})

test('a ledger’s rate limit counts all its keys together, and no other ledger’s', async () => {
  const app = await sharedApp()
  const other = await app.newLedger()
  const second = await addKey(app, { scopes: ['audit:read'] })
  await limitLedger(app, SLOW)
  expectStatus(200, await app.send('GET', '/v1/ledger'))
  expectStatus(200, await app.send('GET', '/v1/ledger', { key: second }))
  for (const key of [second, app.ledger.key.key]) {
    const refused = await app.send('GET', '/v1/ledger', { key })
    const { detail } = assertProblem(refused, 429, 'rate_limited')
    assert.match(
      detail as string,
      /^the rate limit of the ledger is used up \(0\.5 requests a second, burst 2\): /,
    )
    assert.equal(refused.headers['ratelimit-policy'], '"ledger";q=2;w=4')
  }
  expectStatus(200, await app.send('GET', '/v1/ledger', { key: other.key.key }))

  await app.send('PUT', `/v1/keys/${other.key.id}/rate-limit`, {
    key: other.key.key,
    body: { rateLimit: SLOW },
  })
  await limitLedger(app, { requestsPerSecond: 5, burst: 5 }, other.ledger.id)
  const both = await app.send('GET', '/v1/ledger', { key: other.key.key })
  assert.equal(both.headers['ratelimit-policy'], '"key";q=2;w=4, "ledger";q=5;w=1')
  assert.equal(both.headers['ratelimit'], '"key";r=1;t=2, "ledger";r=4;t=1')
})

test('a limit set by another server applies once the key is read again', async () => {
  const app = await sharedApp()
  expectStatus(200, await app.send('GET', '/v1/ledger'))
  await app.sql(
    'update tallystick.ledgers set rate_limit_per_second = 0.5, rate_limit_burst = 1 where ledger_id = $1',
    [app.ledgerId],
  )
  // Makes the server read the key again, as it does after 5 s (test/http/keys.test.ts).
  app.deps.callers.forget(app.ledgerId)
  const first = expectStatus(200, await app.send('GET', '/v1/ledger'))
  assert.equal(first.headers['ratelimit'], '"ledger";r=0;t=2')
})

async function limitLedger(app: TestApp, limit: object, id = app.ledger.ledger.id): Promise<void> {
  expectStatus(
    200,
    await app.send('PUT', `/v1/ledgers/${id}/rate-limit`, { key: OPERATOR_KEY, body: { rateLimit: limit } }),
  )
}

test('each kind of limit has its own name in the headers', async (t) => {
  const app = Fastify()
  t.after(() => app.close())
  const nobody = { caller: null, peer: null, publicLedger: null }
  let caller: object = nobody
  app.addHook('onRequest', async (request) => void Object.assign(request, caller))
  useRateLimits(app)
  app.get('/', async () => 'x')
  const namesOf = async (who: object) => {
    caller = { ...nobody, ...who }
    const { headers } = await app.inject('/')
    const policy = Array.from(`${headers['ratelimit-policy'] ?? ''}`.matchAll(/"(\w+)"/g), ([, name]) => name)
    assert.deepEqual(
      policy,
      Array.from(`${headers['ratelimit'] ?? ''}`.matchAll(/"(\w+)"/g), ([, name]) => name),
    )
    return policy
  }
  const both = { key: 'key_1', ledger: 'led_1', keyLimit: SLOW, ledgerLimit: SLOW }
  assert.deepEqual(await namesOf({ caller: both }), ['key', 'ledger'])
  assert.deepEqual(await namesOf({ peer: { ledger: 'led_1', peer: 'peer_1' } }), ['peer'])
  // An answer to a request without a key shows no limits, because caches forward it to other clients.
  assert.deepEqual(await namesOf({ publicLedger: 'led_1' }), [])
  assert.deepEqual(await namesOf({}), [])
})
