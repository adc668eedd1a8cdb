import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseId } from '../../src/proof/ids.ts'
import { hashKey, makeApiKey } from '../../src/tenancy/api-keys.ts'
import { buildTestApp, genericBody } from '../helpers/app.ts'
import { assertProblem } from '../helpers/assert-problem.ts'
import { addAgent, addKey } from '../helpers/more-keys.ts'

test('a key whose row was changed in the database grants nothing, and the log says so', async (t) => {
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
    assert.match(app.logs(), /made or changed by no server/, what)
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
