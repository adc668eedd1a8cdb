import assert from 'node:assert/strict'
import { test } from 'node:test'
import { buildApp } from '../../src/http/app.ts'
import { CallerCache } from '../../src/ledgers/caller.ts'
import { SCOPES } from '../../src/ledgers/scopes.ts'
import { openLog } from '../../src/observe/log.ts'
import { parseId } from '../../src/proof/ids.ts'
import { openDeps } from '../../src/run/deps.ts'
import {
  expectStatus,
  genericBody,
  OPERATOR_KEY,
  type Test,
  type TestApp,
  testConfig,
} from '../helpers/app.ts'
import { assertProblem } from '../helpers/assert-problem.ts'
import { addAgent, addKey } from '../helpers/more-keys.ts'
import { shareApp, sharedApp } from '../helpers/shared-app.ts'
import { assertVerifies } from '../helpers/verify-app.ts'

const DAY_MS = 86_400_000

let nowMs = 0
const clockedApp = shareApp({ now: () => nowMs })

async function makeKey(app: TestApp, body: object, key?: string) {
  const response = await app.send('POST', '/v1/keys', { body, ...(key && { key }) })
  return expectStatus(201, response).json()
}

test('a key is made for an agent, can be used, and is shown without its secret', async () => {
  const app = await sharedApp()
  const agent = await addAgent(app, 'worker')
  const made = await makeKey(app, { name: 'on host 7', agent, scopes: ['records:write', 'records:read'] })
  assert.match(made.key, /^tly_/)
  assert.deepEqual(made.scopes, ['records:read', 'records:write'])
  const record = await app.notarize(genericBody(), { key: made.key })
  assert.equal(record.actor, agent)
  assert.equal(record.key, made.id)

  const { key: _, ...shown } = made
  assert.deepEqual((await app.send('GET', `/v1/keys/${made.id}`)).json(), shown)
  const list = (await app.send('GET', `/v1/keys?agent=${agent}`)).json()
  assert.deepEqual(list, { data: [shown], nextCursor: null })
  await assertVerifies(app)
})

test('GET /v1/ledger shows the key, its scopes and when the used secret expires', async () => {
  const app = await sharedApp()
  const about = async (key: string) =>
    expectStatus(200, await app.send('GET', '/v1/ledger', { key })).json().key
  const expiresAt = new Date(Date.now() + DAY_MS).toISOString()
  const { key, id, name, agent, scopes } = await makeKey(app, {
    name: 'on host 8',
    scopes: ['records:write'],
    expiresAt,
  })
  assert.deepEqual(await about(key), { id, name, agent, scopes, expiresAt })
  const { id: own, name: ownName, agent: ownAgent } = app.ledger.key
  assert.deepEqual(await about(app.ledger.key.key), {
    ...{ id: own, name: ownName, agent: ownAgent },
    ...{ scopes: [...SCOPES].sort(), expiresAt: null },
  })
  await app.send('POST', `/v1/keys/${id}/rotate`, { body: { overlapSeconds: 60 } })
  const before = await about(key)
  assert.ok(Date.parse(before.expiresAt) <= Date.now() + 60_000)
})

test('without an agent a key belongs to the agent of its name, which is registered if missing', async () => {
  const app = await sharedApp()
  const first = await makeKey(app, { name: 'crawler', scopes: [] })
  const second = await makeKey(app, { name: 'crawler', scopes: [] })
  assert.equal(second.agent, first.agent)
  assert.notEqual(second.id, first.id)
  assert.equal((await app.send('GET', `/v1/agents/${first.agent}`)).json().name, 'crawler')
  const many = await Promise.all(
    Array.from({ length: 5 }, () => makeKey(app, { name: 'at once', scopes: [] })),
  )
  assert.equal(new Set(many.map((key) => key.agent)).size, 1)
})

test('a key cannot grant scopes that it lacks, neither to a new key nor by rotation', async () => {
  const app = await sharedApp()
  const manager = await addKey(app, { scopes: ['keys:manage', 'records:read'] })
  await makeKey(app, { name: 'reader', scopes: ['records:read'] }, manager)
  const before = await app.written()
  const body = { name: 'writer', scopes: ['records:read', 'records:write', 'payloads:erase'] }
  const refused = assertProblem(
    await app.send('POST', '/v1/keys', { key: manager, body }),
    403,
    'scope_not_held',
  )
  assert.deepEqual(refused['scopes'], ['records:write', 'payloads:erase'])
  const rotated = await app.send('POST', `/v1/keys/${app.ledger.key.id}/rotate`, { key: manager, body: {} })
  assertProblem(rotated, 403, 'scope_not_held')
  assert.deepEqual(await app.written(), before)
})

test('a key for an agent of another ledger is refused with 422 unknown_agent', async () => {
  const app = await sharedApp()
  const elsewhere = await app.newLedger()
  const body = { name: 'k', agent: elsewhere.agent.id, scopes: [] }
  assertProblem(await app.send('POST', '/v1/keys', { body }), 422, 'unknown_agent')
})

test('a repeated request is answered with the key, without its secret', async () => {
  const app = await sharedApp()
  const body = { name: 'once', scopes: ['records:read'] }
  const headers = { 'idempotency-key': 'k' }
  const first = expectStatus(201, await app.send('POST', '/v1/keys', { body, headers })).json()
  const again = expectStatus(201, await app.send('POST', '/v1/keys', { body, headers }))
  assert.equal(again.headers['idempotency-replayed'], 'true')
  assert.deepEqual(again.json(), { ...first, key: null })
})

test('an expired key is refused with 401 key_expired', async () => {
  nowMs = Date.now()
  const app = await clockedApp()
  const expiresAt = new Date(nowMs + 20_000).toISOString()
  const { key } = await makeKey(app, { name: 'k', scopes: ['audit:read'], expiresAt })
  expectStatus(200, await app.send('GET', '/v1/ledger', { key }))
  nowMs += 20_000
  assertProblem(await app.send('GET', '/v1/ledger', { key }), 401, 'key_expired')
  const impossible = { name: 'k', scopes: [], expiresAt: '2027-02-30T00:00:00Z' }
  assertProblem(await app.send('POST', '/v1/keys', { body: impossible }), 422, 'invalid_request')
})

test('a key with an expiresAt in the past is refused; a replay gets the first answer', async () => {
  nowMs = Date.now()
  const app = await clockedApp()
  const before = await app.written()
  const make = (expiresAt: string, headers = {}) =>
    app.send('POST', '/v1/keys', { body: { name: 'k', scopes: ['audit:read'], expiresAt }, headers })
  for (const at of ['0001-01-01T00:00:00Z', '2025-11-20T12:00:00Z', new Date(nowMs).toISOString()])
    assert.equal(assertProblem(await make(at), 422, 'invalid_request')['path'], '/expiresAt')
  assert.deepEqual(await app.written(), before)
  const expiresAt = new Date(nowMs + 1_000).toISOString()
  const { id } = expectStatus(201, await make(expiresAt, { 'idempotency-key': 'k-1' })).json()
  nowMs += 2_000
  assert.equal(expectStatus(201, await make(expiresAt, { 'idempotency-key': 'k-1' })).json().id, id)
})

test('a rotated key keeps its id; its old secret works until the overlap ends', async () => {
  nowMs = Date.now()
  const app = await clockedApp()
  const made = await makeKey(app, { name: 'k', scopes: ['audit:read'] })
  const ask = (key: string) => app.send('GET', '/v1/ledger', { key })
  expectStatus(200, await ask(made.key))
  const rotated = expectStatus(
    200,
    await app.send('POST', `/v1/keys/${made.id}/rotate`, { body: { overlapSeconds: 60 } }),
  ).json()
  assert.equal(rotated.id, made.id)
  assert.notEqual(rotated.key, made.key)
  assert.equal(rotated.secrets.length, 2)
  expectStatus(200, await ask(made.key))
  expectStatus(200, await ask(rotated.key))
  nowMs += 60_000
  assertProblem(await ask(made.key), 401, 'key_expired')
  expectStatus(200, await ask(rotated.key))

  const at0 = { body: { overlapSeconds: 0 } }
  const last = expectStatus(200, await app.send('POST', `/v1/keys/${made.id}/rotate`, at0)).json()
  assert.deepEqual(last.secrets, [{ expiresAt: null }])
  assertProblem(await ask(rotated.key), 401, 'unauthenticated')
  expectStatus(200, await ask(last.key))
})

test('rotation does not extend a key’s expiry, and the number of valid secrets is limited', async () => {
  const app = await sharedApp()
  const expiresAt = new Date(Date.now() + DAY_MS).toISOString()
  const made = await makeKey(app, { name: 'k', scopes: [], expiresAt })
  const rotate = (body: object) => app.send('POST', `/v1/keys/${made.id}/rotate`, { body })
  const once = expectStatus(200, await rotate({ overlapSeconds: 30 * 86_400 })).json()
  assert.deepEqual(once.secrets, [{ expiresAt }, { expiresAt }])
  expectStatus(200, await rotate({}))
  assertProblem(await rotate({}), 409, 'state_conflict')
  expectStatus(200, await rotate({ overlapSeconds: 0 }))
  const refused = await app.send('POST', `/v1/keys/${made.id}/rotate`, {
    body: {},
    headers: { 'idempotency-key': 'x' },
  })
  assertProblem(refused, 400, 'invalid_idempotency_key')
  // The database refuses a fourth secret too, from whichever server.
  const replacedBy = async (count: number) => {
    const [row] = await app.sql<{ replaced: boolean }>(
      `select tallystick.replace_key_secrets($1, $2, o.hashes, n.hashes, n.hashes, array_fill(null::timestamptz, array[$3::int]))
         as replaced
       from (select array_agg(s.secret_hash order by s.secret_hash) as hashes from tallystick.api_key_secrets s
             where s.ledger_id = $1 and s.key_id = $2) o,
         (select array_agg(sha256(convert_to(i::text, 'UTF8'))) as hashes from generate_series(1, $3::int) i) n`,
      [app.ledgerId, parseId('key', made.id), count],
    )
    return row!.replaced
  }
  assert.equal(await replacedBy(4), false)
  assert.equal(await replacedBy(3), true)
})

test('simultaneous rotations each return a working secret or 409 state_conflict', async () => {
  const app = await sharedApp()
  const made = await makeKey(app, { name: 'k', scopes: ['audit:read'] })
  const answers = await Promise.all(
    Array.from({ length: 6 }, () => app.send('POST', `/v1/keys/${made.id}/rotate`, { body: {} })),
  )
  const given = answers.filter((answer) => answer.statusCode === 200)
  assert.ok(given.length >= 1 && given.length < 6, `${given.length} of 6`)
  for (const answer of given)
    expectStatus(200, await app.send('GET', '/v1/ledger', { key: answer.json().key }))
  for (const answer of answers.filter((a) => a.statusCode !== 200))
    assertProblem(answer, 409, 'state_conflict')
})

test('a key whose row was changed outside the server is not rotated', async () => {
  const app = await sharedApp()
  const expiresAt = new Date(Date.now() + DAY_MS).toISOString()
  for (const change of [
    `update tallystick.api_keys set scopes = '{${SCOPES.join(',')}}' where key_id = $1`,
    'update tallystick.api_keys set expires_at = null where key_id = $1',
    'update tallystick.api_key_secrets set expires_at = null where key_id = $1',
    'delete from tallystick.api_key_secrets where key_id = $1',
  ]) {
    const made = await makeKey(app, { name: 'k', scopes: ['audit:read'], expiresAt })
    await app.sql(change, [parseId('key', made.id)])
    const answer = await app.send('POST', `/v1/keys/${made.id}/rotate`, { body: {} })
    assertProblem(answer, 500, 'internal_error')
  }
  assert.match(app.logs(), /not made by a server, or was changed outside it/)
})

test('a revoked key is refused here at once and on every other server within 5 s', async (t) => {
  nowMs = Date.now()
  const app = await clockedApp()
  const made = await makeKey(app, { name: 'k', scopes: ['audit:read'] })
  const askOther = await openOther(t, app, made.key, (deps) => ({
    callers: new CallerCache({ ...deps, now: () => nowMs }),
    now: () => nowMs,
  }))
  expectStatus(200, await askOther())

  const revoked = await app.send('POST', `/v1/keys/${made.id}/revoke`, { body: {} })
  assert.deepEqual(expectStatus(200, revoked).json().secrets, [])
  assertProblem(await app.send('GET', '/v1/ledger', { key: made.key }), 401, 'unauthenticated')
  nowMs += 4_999
  expectStatus(200, await askOther())
  nowMs += 1
  assertProblem(await askOther(), 401, 'unauthenticated')

  assertProblem(await app.send('POST', `/v1/keys/${made.id}/revoke`, { body: {} }), 409, 'already_ended')
  assertProblem(await app.send('POST', `/v1/keys/${made.id}/rotate`, { body: {} }), 409, 'already_ended')
  await assertVerifies(app)
})

test('a server whose clock is set back does not accept a revoked key longer', async (t) => {
  const app = await sharedApp()
  const [wallMs, steadyMs] = [Date.now, performance.now.bind(performance)]
  let [setBackMs, passedMs] = [0, 0]
  t.mock.method(Date, 'now', () => wallMs() - setBackMs)
  t.mock.method(performance, 'now', () => steadyMs() + passedMs)
  const made = await makeKey(app, { name: 'k', scopes: ['audit:read'] })
  const askOther = await openOther(t, app, made.key)
  expectStatus(200, await askOther())
  expectStatus(200, await app.send('POST', `/v1/keys/${made.id}/revoke`, { body: {} }))
  ;[setBackMs, passedMs] = [3_600_000, 5_000]
  assertProblem(await askOther(), 401, 'unauthenticated')
})

/** Opens another server on the database. Returns a function that sends requests with the key to that server. */
async function openOther(
  t: Test,
  app: TestApp,
  key: string,
  changes: (deps: Awaited<ReturnType<typeof openDeps>>) => object = () => ({}),
) {
  const deps = await openDeps(testConfig(app.database.apiUrl), openLog('silent'))
  const other = buildApp({ ...deps, ...changes(deps) })
  t.after(async () => {
    await other.close()
    await deps.close()
  })
  return () => other.inject({ url: '/v1/ledger', headers: { authorization: `Bearer ${key}` } })
}

test('a key can revoke itself, and the chain still verifies', async () => {
  const app = await sharedApp()
  const made = await makeKey(app, { name: 'k', scopes: ['keys:manage', 'records:write'] })
  await app.notarize(genericBody(), { key: made.key })
  expectStatus(200, await app.send('POST', `/v1/keys/${made.id}/revoke`, { key: made.key, body: {} }))
  await assertVerifies(app)
})

test('the operator’s key on a ledger’s route is refused with 401, and the detail names the reason', async () => {
  const app = await sharedApp()
  const { detail } = assertProblem(
    await app.send('GET', '/v1/records', { key: OPERATOR_KEY }),
    401,
    'unauthenticated',
  )
  assert.match(detail as string, /not the operator's key/)
})
