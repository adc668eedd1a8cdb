/*
 * A thief has a key with `keys:manage` that expires in a minute. The thief must not be able to make a key that lives
 * longer. The ledger must be able to revoke all keys that descend from the stolen key.
 */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { KEYS_REVOKED_PER_REQUEST_MAX } from '../../../src/ledgers/limits.ts'
import { buildTestApp, expectStatus, type TestApp } from '../../helpers/app.ts'
import { assertProblem } from '../../helpers/assert-problem.ts'
import { assertVerifies } from '../../helpers/verify-app.ts'

const MINUTE_MS = 60_000
const SCOPES = ['keys:manage', 'records:read']

async function makeKey(app: TestApp, maker: string, body: object = {}) {
  const response = await app.send('POST', '/v1/keys', {
    key: maker,
    body: { name: 'k', scopes: SCOPES, ...body },
  })
  return expectStatus(201, response).json()
}

const isLetIn = async (app: TestApp, key: string) =>
  (await app.send('GET', '/v1/ledger', { key })).statusCode === 200

test('a key that expires can make only keys that expire no later', async (t) => {
  let nowMs = Date.now()
  const app = await buildTestApp(t, { now: () => nowMs })
  const expiresAt = new Date(nowMs + MINUTE_MS).toISOString()
  const stolen = await makeKey(app, app.ledger.key.key, { expiresAt })
  const lasting = await makeKey(app, app.ledger.key.key)

  const made = await makeKey(app, stolen.key)
  assert.equal(made.expiresAt, expiresAt)
  assert.equal(made.madeBy, stolen.id)
  const again = await makeKey(app, made.key, { agent: made.agent, expiresAt })
  const gains = [
    ['/v1/keys', { name: 'k', scopes: [], expiresAt: new Date(nowMs + MINUTE_MS + 1).toISOString() }],
    ['/v1/keys', { name: 'k', agent: made.agent, scopes: SCOPES, expiresAt: '2099-01-01T00:00:00Z' }],
    [`/v1/keys/${lasting.id}/rotate`, { overlapSeconds: 3_600 }],
  ] as const
  for (const [url, body] of gains) {
    const refused = await app.send('POST', url, { key: stolen.key, body })
    assert.equal(assertProblem(refused, 403, 'expiry_not_held')['expiresAt'], expiresAt)
  }
  nowMs += MINUTE_MS
  for (const { key } of [stolen, made, again])
    assertProblem(await app.send('GET', '/v1/ledger', { key }), 401, 'key_expired')
  await assertVerifies(app)
})

test('a rotated secret cannot rotate again, and makes only keys that end with it', async (t) => {
  let nowMs = Date.now()
  const app = await buildTestApp(t, { now: () => nowMs })
  const before = await makeKey(app, app.ledger.key.key)
  const after = expectStatus(
    200,
    await app.send('POST', `/v1/keys/${before.id}/rotate`, { body: { overlapSeconds: 60 } }),
  ).json()
  const refused = await app.send('POST', `/v1/keys/${before.id}/rotate`, { key: before.key, body: {} })
  assertProblem(refused, 403, 'expiry_not_held')
  const made = await makeKey(app, before.key)
  assert.equal(made.expiresAt, new Date(nowMs + MINUTE_MS).toISOString())
  assert.equal((await makeKey(app, after.key)).expiresAt, null)
  nowMs += MINUTE_MS
  assert.deepEqual([await isLetIn(app, made.key), await isLetIn(app, after.key)], [false, true])
})

test('revoking a stolen key with alsoMade revokes all keys that descend from it, and no other', async (t) => {
  const app = await buildTestApp(t)
  const stolen = await makeKey(app, app.ledger.key.key)
  const honest = await makeKey(app, app.ledger.key.key)
  const children = [await makeKey(app, stolen.key), await makeKey(app, stolen.key)]
  const grandchild = await makeKey(app, children[0].key)
  // Revokes the child key first. Then only the chain shows that the grandchild descends from the stolen key.
  expectStatus(200, await app.send('POST', `/v1/keys/${children[0].id}/revoke`, { body: {} }))
  const revoke = (body: object) => app.send('POST', `/v1/keys/${stolen.id}/revoke`, { body })
  const alone = expectStatus(200, await revoke({})).json()
  assert.deepEqual([alone.alsoRevoked, alone.hasMore], [[], false])
  assert.equal(await isLetIn(app, grandchild.key), true)

  const { size } = (await app.send('GET', '/v1/ledger')).json()
  const all = expectStatus(200, await revoke({ alsoMade: true })).json()
  assert.deepEqual(all.alsoRevoked, [children[1].id, grandchild.id])
  assert.equal((await app.send('GET', '/v1/ledger')).json().size, size + 2)
  for (const { key } of [stolen, ...children, grandchild]) assert.equal(await isLetIn(app, key), false)
  for (const { key } of [honest, app.ledger.key]) assert.equal(await isLetIn(app, key), true)
  assert.deepEqual(expectStatus(200, await revoke({ alsoMade: true })).json().alsoRevoked, [])
  assertProblem(await revoke({}), 409, 'already_ended')
  await assertVerifies(app)
})

test('one revocation ends a limited number of descendants, and hasMore reports the rest', async (t) => {
  const app = await buildTestApp(t)
  const stolen = await makeKey(app, app.ledger.key.key)
  const made = await Promise.all(
    Array.from({ length: KEYS_REVOKED_PER_REQUEST_MAX + 2 }, () => makeKey(app, stolen.key)),
  )
  const revoke = async () =>
    expectStatus(
      200,
      await app.send('POST', `/v1/keys/${stolen.id}/revoke`, { body: { alsoMade: true } }),
    ).json()
  const first = await revoke()
  assert.deepEqual([first.alsoRevoked.length, first.hasMore], [KEYS_REVOKED_PER_REQUEST_MAX, true])
  const second = await revoke()
  assert.deepEqual([second.alsoRevoked.length, second.hasMore], [2, false])
  assert.deepEqual([...first.alsoRevoked, ...second.alsoRevoked].sort(), made.map(({ id }) => id).sort())
})
