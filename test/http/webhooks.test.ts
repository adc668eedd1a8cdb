import assert from 'node:assert/strict'
import { test } from 'node:test'
import { WEBHOOKS_PER_LEDGER_MAX } from '../../src/db/limits.ts'
import { buildApp } from '../../src/http/app.ts'
import { openLog } from '../../src/observe/log.ts'
import { openDeps } from '../../src/run/deps.ts'
import { expectStatus, OPERATOR_KEY, type TestApp, testConfig } from '../helpers/app.ts'
import { assertProblem } from '../helpers/assert-problem.ts'
import { addKey } from '../helpers/more-keys.ts'
import { sharedApp } from '../helpers/shared-app.ts'
import { listAll, makeWebhook, URL } from '../helpers/webhooks.ts'

const NOWHERE = 'whk_01jegv5gyme05800000000000a'

test('a webhook is made, and shown without its secret', async () => {
  const app = await sharedApp()
  const response = await app.send('POST', '/v1/webhooks', {
    body: {
      url: URL,
      description: 'the payments service',
      events: ['verdict.rendered', 'signal.emitted', 'verdict.rendered'],
      types: ['purchase/2', 'delivery'],
      include: ['envelope', 'documents'],
    },
  })
  const { secret, publicKey, ...webhook } = expectStatus(201, response).json()
  assert.equal(response.headers['cache-control'], 'no-store')
  assert.match(secret, /^whsec_/)
  const { id, stateAt, createdAt, secrets, standing, ...rest } = webhook
  assert.match(id, /^whk_/)
  for (const at of [stateAt, createdAt, secrets[0].createdAt]) {
    assert.ok(Math.abs(Date.parse(at) - Date.now()) < 5_000)
  }
  assert.deepEqual(rest, {
    url: URL,
    description: 'the payments service',
    events: ['signal.emitted', 'verdict.rendered'],
    types: ['delivery', 'purchase/2'],
    include: ['documents', 'envelope'],
    state: 'active',
    reason: null,
    createdBy: app.ledger.agent.id,
  })
  assert.equal(secrets.length, 1)
  assert.equal(secrets[0].expiresAt, null)
  assert.match(publicKey, /^whpk_/)
  assert.equal(secrets[0].publicKey, publicKey)
  assert.deepEqual(standing, {
    ...{ nextSeq: 3, behind: 0, failures: 0, failingSince: null, resumeAt: null },
    ...{ lastSuccessAt: null, lastFailureAt: null, recovery: null, pending: 0, held: 0, dead: 0 },
  })
  assert.deepEqual(await show(app, id), webhook)
  assert.deepEqual((await app.send('GET', '/v1/webhooks')).json(), { data: [webhook], nextCursor: null })
})

test('defaults to no description, all types, and nothing included', async () => {
  const app = await sharedApp()
  const { description, events, types, include } = await makeWebhook(app, { events: ['*'] })
  assert.deepEqual(
    { description, events, types, include },
    { description: null, events: ['*'], types: [], include: [] },
  )
})

test('a webhook starts with the entries and checkpoints after its creation', async () => {
  const app = await sharedApp()
  await app.notarize()
  await app.sql(
    `insert into tallystick.checkpoints (ledger_id, size, root, chain, note)
     select ledger_id, 3, chain, (select chain from tallystick.entries e where e.ledger_id = h.ledger_id and seq = 2),
       format(E'%s\\n3\\n%s\\n', origin, encode(chain, 'base64'))
     from tallystick.chain_heads h join tallystick.ledgers using (ledger_id) where ledger_id = $1`,
    [app.ledgerId],
  )
  const { id, standing } = await makeWebhook(app)
  assert.equal(standing.nextSeq, 4)
  const cursors = await app.sql(
    'select checkpoint_size from tallystick.webhook_cursors where ledger_id = $1',
    [app.ledgerId],
  )
  assert.deepEqual(cursors, [{ checkpoint_size: '3' }])
  await app.notarize()
  const { nextSeq, behind } = (await show(app, id)).standing
  assert.deepEqual({ nextSeq, behind }, { nextSeq: 4, behind: 1 })
})

test('refuses a duplicate webhook with 409 state_conflict, and names the first', async () => {
  const app = await sharedApp()
  const body = { url: URL, events: ['record.created', 'record.activated'], types: ['a', 'b'] }
  const { id } = await makeWebhook(app, body)
  const again = { ...body, events: [...body.events].reverse(), types: ['b', 'a', 'b'], description: 'again' }
  const problem = assertProblem(
    await app.send('POST', '/v1/webhooks', { body: again }),
    409,
    'state_conflict',
  )
  assert.equal(problem['webhook'], id)
  assert.equal(problem['retryable'], false)
  assert.deepEqual(
    (await listAll(app, '/v1/webhooks')).map((webhook) => webhook.id),
    [id],
  )
  for (const other of [{ url: `${URL}/2` }, { events: ['*'] }, { types: ['a'] }, { include: ['envelope'] }]) {
    await makeWebhook(app, { ...body, ...other })
  }
  const elsewhere = await app.newLedger()
  await makeWebhook(app, body, elsewhere.key.key)
  expectStatus(204, await app.send('DELETE', `/v1/webhooks/${id}`))
  await makeWebhook(app, body)
})

test('concurrent identical requests create one webhook; the others get 409', async () => {
  const app = await sharedApp()
  const body = { url: URL, events: ['*'] }
  const answers = await Promise.all(
    Array.from({ length: 8 }, () => app.send('POST', '/v1/webhooks', { body })),
  )
  const codes = answers.map(({ statusCode }) => statusCode).sort()
  assert.deepEqual(codes, [201, ...Array(7).fill(409)])
})

test('a ledger has at most a hundred, however many are asked for at once; deleted ones don’t count', async () => {
  const app = await sharedApp()
  await app.sql(
    `with made as (
       insert into tallystick.webhooks (ledger_id, webhook_id, url, events, created_by)
       select $1, gen_random_uuid(), 'https://example.com/' || i, '{*}', $1 from generate_series(1, $2::int) i
       returning ledger_id, webhook_id)
     insert into tallystick.webhook_cursors (ledger_id, webhook_id, next_seq, checkpoint_size)
     select ledger_id, webhook_id, 0, 0 from made`,
    [app.ledgerId, WEBHOOKS_PER_LEDGER_MAX - 3],
  )
  const ask = (name: string) =>
    app.send('POST', '/v1/webhooks', { body: { url: `${URL}/${name}`, events: ['*'] } })
  const answers = await Promise.all(Array.from({ length: 10 }, (_, i) => ask(`at-once-${i}`)))
  const made = answers.filter(({ statusCode }) => statusCode === 201)
  assert.equal(made.length, 3)
  for (const response of answers.filter(({ statusCode }) => statusCode !== 201)) {
    assert.match(assertProblem(response, 409, 'state_conflict')['detail'] as string, /has 100 webhooks/)
  }
  assert.equal((await listAll(app, '/v1/webhooks')).length, WEBHOOKS_PER_LEDGER_MAX)
  expectStatus(204, await app.send('DELETE', `/v1/webhooks/${made[0]!.json().id}`))
  expectStatus(201, await ask('after'))
  expectStatus(409, await ask('one-more'))
  await makeWebhook(app, {}, (await app.newLedger()).key.key)
})

test('webhooks are listed page by page in the order in which they were made, each once', async () => {
  const app = await sharedApp()
  const ids: string[] = []
  for (let i = 0; i < 5; i++) ids.push((await makeWebhook(app, { url: `${URL}/${i}` })).id)
  const listed = await listAll(app, '/v1/webhooks?limit=2')
  assert.deepEqual(
    listed.map(({ id }) => id),
    ids,
  )
})

test('PATCH changes the given members, and keeps the other members and the secrets', async () => {
  const app = await sharedApp()
  const { secret: _, publicKey: __, ...made } = await makeWebhook(app, { description: 'one', types: ['a'] })
  const change = async (body: object) =>
    expectStatus(200, await app.send('PATCH', `/v1/webhooks/${made.id}`, { body })).json()
  assert.deepEqual(await change({}), made)
  const changes = [
    { url: 'https://other.example/hook' },
    { description: 'two' },
    { description: null },
    { events: ['record.created'] },
    { types: [] },
    { types: ['b/2'] },
    { include: ['envelope'] },
    { url: URL, description: 'three', events: ['*'], types: ['c'], include: [] },
  ]
  let expected = made
  for (const one of changes) {
    expected = { ...expected, ...one }
    assert.deepEqual(await change(one), expected)
    assert.deepEqual(await show(app, made.id), expected)
  }
})

test('including documents needs records:read, otherwise 403 scope_not_held', async () => {
  const app = await sharedApp()
  const key = await addKey(app, { scopes: ['webhooks:manage'] })
  const reader = await addKey(app, { scopes: ['webhooks:manage', 'records:read'] })
  const body = { url: URL, events: ['*'], include: ['documents'] }
  const refused = (response: Parameters<typeof assertProblem>[0]) =>
    assert.deepEqual(assertProblem(response, 403, 'scope_not_held')['scopes'], ['records:read'])
  refused(await app.send('POST', '/v1/webhooks', { key, body }))
  assert.deepEqual(await listAll(app, '/v1/webhooks'), [])
  const { id } = await makeWebhook(app, { include: ['envelope'] }, key)
  const patch = (key: string, body: object) => app.send('PATCH', `/v1/webhooks/${id}`, { key, body })
  refused(await patch(key, { include: ['envelope', 'documents'] }))
  expectStatus(200, await patch(reader, { include: ['documents'] }))
  // The agent may not change the URL, because whoever sets the URL receives the documents.
  refused(await patch(key, { url: 'https://mine.example/' }))
  refused(await patch(key, { events: ['record.created'] }))
  assert.equal((await show(app, id)).url, URL)
  const changed = await patch(key, { url: 'https://mine.example/', include: [] })
  assert.deepEqual(expectStatus(200, changed).json().include, [])
  expectStatus(200, await patch(key, { url: 'https://mine.example/2' }))
})

test('a deleted webhook is gone from lists and reads, and its secrets are deleted', async () => {
  const app = await sharedApp()
  const { id } = await makeWebhook(app)
  assert.equal((await secretsOf(app)).length, 1)
  const { id: event } = expectStatus(202, await app.send('POST', `/v1/webhooks/${id}/test`)).json()
  const response = expectStatus(204, await app.send('DELETE', `/v1/webhooks/${id}`))
  assert.equal(response.body, '')
  assert.deepEqual(await secretsOf(app), [])
  assert.deepEqual(await listAll(app, '/v1/webhooks'), [])
  for (const [method, path, body] of [
    ['GET', ''],
    ['PATCH', '', {}],
    ['DELETE', '', {}],
    ['POST', '/pause', {}],
    ['POST', '/resume', {}],
    ['POST', '/rotate-secret', {}],
    ['POST', '/test', {}],
    ['GET', '/deliveries'],
    ['GET', `/deliveries/${event}`],
    ['POST', `/deliveries/${event}/redeliver`, {}],
    ['POST', '/redeliver-dead', {}],
    ['POST', '/recover', { since: '2026-11-20T12:00:00Z' }],
  ] as const) {
    const answer = await app.send(method, `/v1/webhooks/${id}${path}`, { body })
    assertProblem(answer, 404, 'not_found')
  }
})

test('refuses forbidden URLs with 422, and names a remedy', async () => {
  const app = await sharedApp()
  const { id } = await makeWebhook(app)
  for (const [url, said] of [
    ['http://example.com/', /https:/],
    ['https://127.0.0.1/', /TALLYSTICK_OUTBOUND_ALLOW/],
    ['https://2130706433/', /TALLYSTICK_OUTBOUND_ALLOW/],
    ['https://[::ffff:10.0.0.1]/', /TALLYSTICK_OUTBOUND_ALLOW/],
    ['https://localhost/', /TALLYSTICK_OUTBOUND_ALLOW/],
    ['https://user:password@example.com/', /signed/],
    ['https://example.com/#top', /fragment/],
    ['https://example.com:25/', /port 25/],
    ['ftp://example.com/', /ftp:/],
    ['example.com', /not a URL/],
  ] as const) {
    const make = await app.send('POST', '/v1/webhooks', { body: { url, events: ['*'] } })
    const change = await app.send('PATCH', `/v1/webhooks/${id}`, { body: { url } })
    for (const response of [make, change]) {
      const problem = assertProblem(response, 422, 'url_refused')
      assert.equal(problem['path'], '/url')
      assert.match(problem['detail'] as string, said)
    }
  }
  assert.deepEqual(
    (await listAll(app, '/v1/webhooks')).map(({ url }) => url),
    [URL],
  )
})

test('accepts a URL that TALLYSTICK_OUTBOUND_ALLOW allows', async (t) => {
  const app = await sharedApp()
  const config = testConfig(app.database.apiUrl, { TALLYSTICK_OUTBOUND_ALLOW: '127.0.0.0/8' })
  const deps = await openDeps(config, openLog('silent'))
  const other = buildApp(deps)
  t.after(async () => {
    await other.close()
    await deps.close()
  })
  const response = await other.inject({
    method: 'POST',
    url: '/v1/webhooks',
    headers: { authorization: `Bearer ${app.ledger.key.key}` },
    payload: { url: 'http://127.0.0.1:25/hook', events: ['*'] },
  })
  assert.equal(expectStatus(201, response).json().url, 'http://127.0.0.1:25/hook')
})

test('refuses unknown events, types, members, ids and cursors, and an Idempotency-Key', async () => {
  const app = await sharedApp()
  const { id } = await makeWebhook(app)
  const good = { url: `${URL}/2`, events: ['*'] }
  for (const wrong of [
    { url: 7 },
    { url: '' },
    { url: `https://example.com/${'a'.repeat(2_048)}` },
    { events: [] },
    { events: ['record.invented'] },
    { events: ['webhook.test'] },
    { events: ['*', 'record.created'] },
    { types: ['Purchase'] },
    { types: ['purchase/0'] },
    { types: ['purchase/'] },
    { types: Array.from({ length: 33 }, (_, i) => `t${i}`) },
    { include: ['payload'] },
    { description: '' },
    { description: 'a\nb' },
    { description: 'a'.repeat(201) },
    { secret: 'whsec_AAAA' },
    { state: 'paused' },
  ]) {
    const make = await app.send('POST', '/v1/webhooks', { body: { ...good, ...wrong } })
    const change = await app.send('PATCH', `/v1/webhooks/${id}`, { body: wrong })
    for (const response of [make, change]) assertProblem(response, 422, 'invalid_request')
  }
  for (const missing of [{ url: URL }, { events: ['*'] }]) {
    assertProblem(await app.send('POST', '/v1/webhooks', { body: missing }), 422, 'invalid_request')
  }
  expectStatus(422, await app.send('POST', `/v1/webhooks/${id}/resume`, { body: { from: 'then' } }))
  expectStatus(422, await app.send('POST', `/v1/webhooks/${id}/pause`, { body: { reason: 'x' } }))
  expectStatus(422, await app.send('GET', '/v1/webhooks?cursor=x'))
  expectStatus(422, await app.send('GET', '/v1/webhooks?state=active'))
  for (const other of ['whk_1', NOWHERE, app.ledger.ledger.id]) {
    expectStatus(404, await app.send('GET', `/v1/webhooks/${other}`))
  }
  const headers = { 'idempotency-key': 'one' }
  for (const [method, path, body] of [
    ['POST', '', good],
    ['PATCH', `/${id}`, {}],
    ['DELETE', `/${id}`, {}],
    ...['pause', 'resume', 'rotate-secret', 'test', 'redeliver-dead'].map((step) => [
      'POST',
      `/${id}/${step}`,
      {},
    ]),
    ['POST', `/${id}/recover`, { since: '2026-11-20T12:00:00Z' }],
    ['POST', `/${id}/deliveries/evt_01jegv5gyme05800000000000a/redeliver`, {}],
  ] as [string, string, object][]) {
    const response = await app.send(method, `/v1/webhooks${path}`, { body, headers })
    assertProblem(response, 400, 'invalid_idempotency_key')
  }
  assert.deepEqual(
    (await listAll(app, '/v1/webhooks')).map((webhook) => webhook.id),
    [id],
  )
})

test('webhooks of a frozen ledger can still be created and changed', async () => {
  const app = await sharedApp()
  const { id } = await makeWebhook(app)
  const ledger = app.ledger.ledger.id
  expectStatus(200, await app.send('POST', `/v1/ledgers/${ledger}/freeze`, { key: OPERATOR_KEY }))
  await makeWebhook(app, { url: `${URL}/2` })
  for (const step of ['pause', 'resume', 'rotate-secret']) {
    expectStatus(200, await app.send('POST', `/v1/webhooks/${id}/${step}`))
  }
  expectStatus(200, await app.send('PATCH', `/v1/webhooks/${id}`, { body: { description: 'x' } }))
  expectStatus(204, await app.send('DELETE', `/v1/webhooks/${id}`))
})

test('refuses a key without webhooks:manage with 403 forbidden', async () => {
  const app = await sharedApp()
  const { id } = await makeWebhook(app)
  const key = await addKey(app, { scopes: ['audit:read', 'records:read', 'keys:manage'] })
  for (const url of ['/v1/webhooks', `/v1/webhooks/${id}`, `/v1/webhooks/${id}/deliveries`]) {
    assertProblem(await app.send('GET', url, { key }), 403, 'forbidden')
  }
})

async function show(app: TestApp, id: string) {
  return expectStatus(200, await app.send('GET', `/v1/webhooks/${id}`)).json()
}

function secretsOf(app: TestApp): Promise<object[]> {
  return app.sql('select from tallystick.webhook_secrets where ledger_id = $1', [app.ledgerId])
}
