import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { buildTestApp, expectStatus, genericBody, OPERATOR_KEY, type TestApp } from '../helpers/app.ts'
import { assertProblem } from '../helpers/assert-problem.ts'
import { sharedGatedApp } from '../helpers/gated-app.ts'
import { addAgent, addKey } from '../helpers/more-keys.ts'
import { sharedApp } from '../helpers/shared-app.ts'
import { assertVerifies } from '../helpers/verify-app.ts'

const NOWHERE = 'agt_01jegv5gyme05800000000000a'

test('an agent is registered and disabled by one entry each, and found by id and name', async () => {
  const app = await sharedApp()
  const made = expectStatus(201, await app.send('POST', '/v1/agents', { body: { name: 'buyer' } })).json()
  assert.deepEqual(expectStatus(200, await app.send('GET', `/v1/agents/${made.id}`)).json(), made)
  const named = (await app.send('GET', '/v1/agents?name=buyer')).json()
  assert.deepEqual(named, { data: [made], nextCursor: null })
  assert.deepEqual((await app.send('GET', '/v1/agents?name=nobody')).json().data, [])

  const disabled = expectStatus(
    200,
    await app.send('POST', `/v1/agents/${made.id}/disable`, { body: {} }),
  ).json()
  assert.ok(disabled.disabledAt)
  assert.deepEqual({ ...disabled, disabledAt: null }, made)
  const kinds = (await app.entries()).map((entry) => entry.kind)
  assert.deepEqual(kinds.slice(-2), ['agent-registered', 'agent-disabled'])
  await assertVerifies(app)
})

test('a second agent of the same name is refused with 409 name_taken, also in a race', async () => {
  const app = await sharedApp()
  const answers = await Promise.all(
    Array.from({ length: 8 }, () => app.send('POST', '/v1/agents', { body: { name: 'the one' } })),
  )
  assert.deepEqual(
    answers.map((answer) => answer.statusCode).sort(),
    [201, 409, 409, 409, 409, 409, 409, 409],
  )
  assertProblem(await app.send('POST', '/v1/agents', { body: { name: 'the one' } }), 409, 'name_taken')
  const elsewhere = await app.newLedger()
  const there = await app.send('POST', '/v1/agents', { key: elsewhere.key.key, body: { name: 'the one' } })
  expectStatus(201, there)
})

test('a repeated registration with its Idempotency-Key is answered with the first agent', async () => {
  const app = await sharedApp()
  const headers = { 'idempotency-key': 'once' }
  const first = await app.send('POST', '/v1/agents', { body: { name: 'a' }, headers })
  const again = await app.send('POST', '/v1/agents', { body: { name: 'a' }, headers })
  assert.equal(first.headers['idempotency-replayed'], undefined)
  assert.equal(again.headers['idempotency-replayed'], 'true')
  assert.equal(again.statusCode, 201)
  assert.deepEqual(again.json(), first.json())
  const other = await app.send('POST', '/v1/agents', { body: { name: 'b' }, headers })
  assertProblem(other, 422, 'idempotency_key_reused')
})

test('an agent is disabled once; a replay gets the first answer, other requests 409 already_ended', async () => {
  const app = await sharedApp()
  const url = `/v1/agents/${await addAgent(app, 'short-lived')}/disable`
  const headers = { 'idempotency-key': 'end' }
  const first = expectStatus(200, await app.send('POST', url, { body: {}, headers }))
  const again = expectStatus(200, await app.send('POST', url, { body: {}, headers }))
  assert.equal(again.headers['idempotency-replayed'], 'true')
  assert.deepEqual(again.json(), first.json())
  assertProblem(await app.send('POST', url, { body: {} }), 409, 'already_ended')
  const other = await app.send('POST', url, { body: {}, headers: { 'idempotency-key': 'other' } })
  assertProblem(other, 409, 'already_ended')
  const unknown = await app.send('POST', `/v1/agents/${NOWHERE}/disable`, { body: {} })
  assertProblem(unknown, 404, 'not_found')
})

test('of simultaneous requests that disable one agent, one succeeds', async () => {
  const app = await sharedApp()
  const url = `/v1/agents/${await addAgent(app, 'contested')}/disable`
  const answers = await Promise.all(Array.from({ length: 6 }, () => app.send('POST', url, { body: {} })))
  assert.deepEqual(answers.map((answer) => answer.statusCode).sort(), [200, 409, 409, 409, 409, 409])
  const kinds = (await app.entries()).filter((entry) => entry.kind === 'agent-disabled')
  assert.equal(kinds.length, 1)
})

test('replays for an agent’s records still get the first answer after the agent is disabled', async () => {
  const app = await sharedGatedApp()
  const agent = await addAgent(app, 'dismissed later')
  const named = { ...genericBody(), onBehalfOf: agent }
  const { id } = await app.create({ performer: agent })
  const requests = [
    { url: '/v1/records', body: named, key: app.ledger.key.key },
    { url: '/v1/records/batch', body: { records: [genericBody(), named] }, key: app.ledger.key.key },
    { url: '/v1/records', body: { type: 'task/1', payload: {}, performer: agent }, key: app.ledger.key.key },
    { url: `/v1/records/${id}/activate`, body: { onBehalfOf: agent }, key: app.agents.gateway.key },
  ].map(({ url, ...options }) => {
    const headers = { 'idempotency-key': randomUUID() }
    return (changed: object = {}) => app.send('POST', url, { ...options, headers, ...changed })
  })
  const firsts = await Promise.all(requests.map((send) => send()))
  assert.deepEqual(
    firsts.map(({ statusCode }) => statusCode),
    [201, 201, 201, 200],
  )
  expectStatus(200, await app.send('POST', `/v1/agents/${agent}/disable`, { body: {} }))

  const before = await app.written()
  for (const [i, send] of requests.entries()) {
    const again = expectStatus(firsts[i]!.statusCode, await send())
    assert.equal(again.body, firsts[i]!.body)
    assert.equal(again.headers['idempotency-replayed'], 'true')
    assertProblem(await send({ headers: {} }), 422, 'agent_disabled')
    assertProblem(await send({ headers: { 'idempotency-key': randomUUID() } }), 422, 'agent_disabled')
  }
  const other = { body: { ...named, metadata: { another: 'request' } } }
  assertProblem(await requests[0]!(other), 422, 'idempotency_key_reused')
  assert.deepEqual(await app.written(), before)
})

test('a disabled agent’s keys get 401, and acting for the agent gets agent_disabled', async () => {
  const app = await sharedApp()
  const agent = await addAgent(app, 'dismissed')
  const key = await addKey(app, { agent, scopes: ['records:write'] })
  await app.notarize(genericBody(), { key })
  await app.notarize({ ...genericBody(), onBehalfOf: agent })
  expectStatus(200, await app.send('POST', `/v1/agents/${agent}/disable`, { body: {} }))

  assertProblem(await app.send('POST', '/v1/records', { key, body: genericBody() }), 401, 'unauthenticated')
  const acted = await app.send('POST', '/v1/records', { body: { ...genericBody(), onBehalfOf: agent } })
  assertProblem(acted, 422, 'agent_disabled')
  const batch = await app.send('POST', '/v1/records/batch', {
    body: { records: [genericBody(), { ...genericBody(), onBehalfOf: agent }] },
  })
  assert.equal(assertProblem(batch, 422, 'agent_disabled')['index'], 1)
  const newKey = await app.send('POST', '/v1/keys', { body: { name: 'k', agent, scopes: [] } })
  assertProblem(newKey, 422, 'agent_disabled')
  await assertVerifies(app)
})

test('agents are listed page by page, each once, in the order of registration', async () => {
  const app = await sharedApp()
  const ids = [app.ledger.agent.id]
  for (let i = 0; i < 25; i++) ids.push(await addAgent(app, `agent ${i}`))
  const seen: string[] = []
  let cursor = ''
  for (let pages = 0; pages < 20; pages++) {
    const page = (await app.send('GET', `/v1/agents?limit=7${cursor}`)).json()
    assert.ok(page.data.length <= 7)
    seen.push(...page.data.map((agent: { id: string }) => agent.id))
    if (page.nextCursor === null) break
    cursor = `&cursor=${page.nextCursor}`
    await addAgent(app, `late ${pages}`)
  }
  assert.deepEqual(seen.slice(0, ids.length), ids)
  assert.equal(new Set(seen).size, seen.length)
  const queries = ['limit=0', 'limit=201', 'limit=x', 'cursor=x', 'cursor=WyJhIl0', 'order=asc', 'name=%00']
  for (const query of queries) {
    assertProblem(await app.send('GET', `/v1/agents?${query}`), 422, 'invalid_request')
  }
})

test('invalid names are refused with 422 and write nothing', async () => {
  const app = await sharedApp()
  const before = await app.written()
  for (const body of [
    {},
    { name: '' },
    { name: 'x'.repeat(201) },
    { name: 'a\u0007b' },
    { name: 1 },
    { name: 'a', x: 1 },
    // These names look like other names: they are not in NFC, or they have invisible characters or spaces.
    { name: 'Cafe\u0301' },
    { name: 'buyer\u200b' },
    { name: 'buy\u00ader' },
    { name: '\u202ereyub' },
    { name: 'buyer\ufe0f' },
    { name: 'buyer\u{e0041}' },
    { name: '\u3164' },
    { name: ' ' },
    { name: ' buyer' },
    { name: 'buyer ' },
    { name: 'the  buyer' },
    { name: 'the\u00a0buyer' },
    { name: 'the\u2003buyer' },
    { name: 'the\u2028buyer' },
  ]) {
    assertProblem(await app.send('POST', '/v1/agents', { body }), 422, 'invalid_request')
  }
  assert.deepEqual(await app.written(), before)
})

test('names of agents, keys, peers and ledgers follow the same rule', async () => {
  const app = await sharedApp()
  const [bad, good] = ['buyer\u200b', 'Café 漢字 😀 a']
  const operator = { key: OPERATOR_KEY }
  for (const [name, status] of [
    [bad, 422],
    [good, 201],
  ] as const) {
    const bodies: [string, object, object?][] = [
      ['/v1/agents', { name }],
      ['/v1/keys', { name, scopes: [] }],
      ['/v1/peers', { name }],
      ['/v1/ledgers', { name }, operator],
      ['/v1/ledgers', { name: 'a', agent: name }, operator],
    ]
    for (const [url, body, options] of bodies)
      assert.equal((await app.send('POST', url, { body, ...options })).statusCode, status, `${url} ${name}`)
  }
  assertProblem(await app.send('GET', `/v1/agents?name=${encodeURIComponent(bad)}`), 422, 'invalid_request')
})

test('the operator lists ledgers; a frozen ledger refuses writes until unfreezing', async (t) => {
  const app = await buildTestApp(t)
  const other = await app.newLedger()
  const operator = { key: OPERATOR_KEY }
  const list = expectStatus(200, await app.send('GET', '/v1/ledgers', operator)).json()
  assert.deepEqual(
    list.data.map((ledger: { id: string }) => ledger.id).sort(),
    [app.ledger.ledger.id, other.ledger.id].sort(),
  )
  const url = `/v1/ledgers/${app.ledger.ledger.id}`
  for (let i = 0; i < 2; i++) {
    const frozen = expectStatus(200, await app.send('POST', `${url}/freeze`, { ...operator, body: {} }))
    assert.equal(frozen.json().closed, 'frozen')
  }
  const before = await app.written()
  const refused = await app.send('POST', '/v1/records', { body: genericBody() })
  assert.equal(assertProblem(refused, 403, 'ledger_frozen')['retryable'], false)
  assertProblem(await app.send('POST', '/v1/agents', { body: { name: 'late' } }), 403, 'ledger_frozen')
  assert.deepEqual(await app.written(), before)
  assert.equal((await app.send('GET', '/v1/ledger')).json().closed, 'frozen')
  await app.notarize(genericBody(), { key: other.key.key })

  expectStatus(200, await app.send('POST', `${url}/unfreeze`, { ...operator, body: {} }))
  await app.notarize()
  const nowhere = '/v1/ledgers/led_01jegv5gyme05800000000000a'
  for (const action of ['/freeze', '/unfreeze', '/keys'])
    assertProblem(await app.send('POST', nowhere + action, { ...operator, body: {} }), 404, 'not_found')
  assertProblem(await app.send('GET', nowhere, operator), 404, 'not_found')
})

test('a write from before the freeze is still replayed by its Idempotency-Key', async () => {
  const app = await sharedApp()
  const headers = { 'idempotency-key': 'before' }
  const first = await app.notarize(genericBody(), { headers })
  await app.send('POST', `/v1/ledgers/${app.ledger.ledger.id}/freeze`, { key: OPERATOR_KEY, body: {} })
  const again = await app.send('POST', '/v1/records', { body: genericBody(), headers })
  assert.equal(again.json().id, first.id)
})

test('the operator makes a key for a ledger; the chain names the system as actor', async () => {
  const app = await sharedApp()
  const url = `/v1/ledgers/${app.ledger.ledger.id}/keys`
  const made = expectStatus(
    201,
    await app.send('POST', url, { key: OPERATOR_KEY, body: { agent: 'tester' } }),
  )
  assert.equal(made.headers['cache-control'], 'no-store')
  const { key, agent } = made.json()
  assert.equal(agent, app.ledger.agent.id)
  await app.notarize(genericBody(), { key })
  const revoked = await app.send('POST', `/v1/keys/${app.ledger.key.id}/revoke`, { key, body: {} })
  expectStatus(200, revoked)
  assertProblem(await app.send('GET', '/v1/ledger'), 401, 'unauthenticated')
  await assertVerifies(app)
  await assertSystemMade(app, key)
})

async function assertSystemMade(app: TestApp, key: string): Promise<void> {
  const made = (await app.entries('', { key })).filter((entry) => entry.kind === 'key-created').at(-1)
  const envelope = Buffer.from(made.envelope, 'base64').toString('latin1')
  assert.match(envelope, /"actor":"system"/)
}
