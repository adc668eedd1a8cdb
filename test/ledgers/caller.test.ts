import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CALLER_AGE_MS_MAX } from '../../src/append/limits.ts'
import { hashKey, makeApiKey } from '../../src/ledgers/api-keys.ts'
import { CallerCache } from '../../src/ledgers/caller.ts'
import { parseId } from '../../src/proof/ids.ts'
import { buildTestApp, expectStatus, genericBody, type SendOptions } from '../helpers/app.ts'
import { assertProblem } from '../helpers/assert-problem.ts'
import { heldBytes } from '../helpers/held-bytes.ts'
import { addAgent, addKey } from '../helpers/more-keys.ts'

test('refuses a key whose row was changed in the database with 401, and logs the change', async (t) => {
  const app = await buildTestApp(t)
  const own = makeApiKey(parseId('led', app.ledger.ledger.id))
  const other = await addAgent(app, 'somebody else')
  const changes: [what: string, statement: string, key: () => Promise<string>][] = [
    [
      'another secret',
      `update tallystick.api_key_secrets set secret_hash = '\\x${hashKey(own).toString('hex')}'
       where key_id = (select key_id from tallystick.api_keys where name = $1)`,
      async () => own,
    ],
    [
      'more scopes',
      `update tallystick.api_keys set scopes = scopes || '{audit:read}' where name = $1`,
      weakKey,
    ],
    [
      'no expiry',
      `update tallystick.api_key_secrets set expires_at = null
       where key_id = (select key_id from tallystick.api_keys where name = $1)`,
      expiringKey,
    ],
    [
      'another agent',
      `update tallystick.api_keys set agent_id = (select agent_id from tallystick.agents where name = 'somebody else')
       where name = $1`,
      weakKey,
    ],
  ]
  assert.ok(other)
  for (const [what, statement, makeKey] of changes) {
    const before = await names()
    const key = await makeKey()
    const [name = 'first key'] = (await names()).filter((candidate) => !before.includes(candidate))
    await app.sql(statement, [name])
    assertProblem(await app.send('POST', '/v1/records', { key, body: genericBody() }), 401, 'unauthenticated')
    assert.match(app.logs(), /was not made by a server/, what)
  }

  function weakKey(): Promise<string> {
    return addKey(app, { scopes: ['records:write'] })
  }
  function expiringKey(): Promise<string> {
    return addKey(app, { scopes: ['records:write'], expiresAtMs: Date.now() + 60_000 })
  }
  async function names(): Promise<string[]> {
    return (await app.sql<{ name: string }>('select name from tallystick.api_keys')).map((row) => row.name)
  }
})

test('refuses a write that waited too long since authentication with 503 overloaded, writing nothing', async (t) => {
  let [lateMs, waitMs] = [0, 0]
  const now = () => {
    const nowMs = Date.now() + lateMs
    lateMs = waitMs // The clock is delayed from its second reading on, because authentication makes the first reading.
    return nowMs
  }
  const app = await buildTestApp(t, { now })
  const requests: [method: string, url: string, body: object][] = [
    ['POST', '/v1/records', genericBody()],
    ['POST', '/v1/records/batch', { records: [genericBody()] }],
    ['POST', '/v1/agents', { name: 'late' }],
  ]
  const sendLate = (method: string, url: string, options: SendOptions, ms: number) => {
    ;[lateMs, waitMs] = [0, ms]
    return app.send(method, url, options).finally(() => {
      ;[lateMs, waitMs] = [0, 0]
    })
  }
  for (const [method, url, body] of requests) {
    const before = await app.written()
    assertProblem(await sendLate(method, url, { body }, CALLER_AGE_MS_MAX + 1_000), 503, 'overloaded')
    assert.deepEqual(await app.written(), before)
    expectStatus(201, await sendLate(method, url, { body }, 20_000))
  }
})

test('a change of a ledger’s keys evicts no cached keys of other ledgers', async (t) => {
  const app = await buildTestApp(t)
  const other = await app.newLedger()
  const use = async ({ key }: { key: string }) =>
    expectStatus(200, await app.send('GET', '/v1/ledger', { key }))
  for (const key of [app.ledger.key, other.key]) await use(key)
  const { callers } = app.deps
  assert.deepEqual([callers.size, callers.figures.misses], [2, 2])
  const url = `/v1/keys/${other.key.id}/rate-limit`
  expectStatus(200, await app.send('PUT', url, { key: other.key.key, body: { rateLimit: null } }))
  await use(app.ledger.key)
  assert.equal(callers.figures.misses, 2)
  await use(other.key)
  assert.equal(callers.figures.misses, 3)
})

test('cached callers do not retain the buffers of other query results', async (t) => {
  const app = await buildTestApp(t)
  const keys: string[] = []
  for (let i = 0; i < 64; i++) keys.push(await addKey(app, { scopes: ['records:read'] }))
  const callers = new CallerCache(app.deps)
  const bytes = await heldBytes(async () => {
    for (const key of keys) {
      assert.ok(await callers.find(key))
      await app.sql(`select decode(repeat('ab', 1024), 'hex') from generate_series(1, 64)`)
    }
    return callers
  })
  assert.ok(bytes < keys.length * 16 * 1024, `${bytes} bytes of ${keys.length} callers`)
})
