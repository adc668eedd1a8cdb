import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Scope } from '../../../src/ledgers/scopes.ts'
import { buildTestApp, expectStatus, type SendOptions, type TestApp } from '../../helpers/app.ts'
import { PAYLOAD } from '../../helpers/gated-app.ts'
import { addAgent, addKey } from '../../helpers/more-keys.ts'
import { runAlone } from '../../helpers/run-command.ts'
import { temporaryFiles } from '../../helpers/temporary-files.ts'
import { makeChain, makeId, type TestChain, type TestLine } from '../../helpers/test-chain.ts'
import { makeGated } from '../../helpers/test-gated.ts'

/*
 * A thief of an API process signs entries in the name of any key. The chain contains the keys and their scopes. So an
 * entry that its key could not have made over HTTP proves that the server was abused.
 */

type Forge = (chain: TestChain, as: object) => TestLine

const FORGED: Readonly<Record<string, Forge>> = {
  'agent-registered': (chain, as) => chain.registerAgent(makeId('agt'), 'mole', { ...chain.acting(), ...as }),
  'agent-disabled': (chain, as) => chain.disableAgent(chain.agent, 'agent', as),
  'key-created': (chain, as) =>
    chain.createKey(makeId('key'), chain.agent, { scopes: [], by: { ...chain.acting(), ...as } }),
  'key-revoked': (chain, as) => chain.revokeKey(chain.key, chain.agent, undefined, null, as),
  'type-registered': (chain, as) => chain.registerType('order/1', '33'.repeat(32), as),
  'record-notarized': (chain, as) => chain.notarize(as),
  'batch-notarized': (chain, as) => chain.notarizeBatch(2, { predicate: as }),
  'record-created': (chain, as) => makeGated(chain, {}, { principal: as }).last(),
  'payload-erased': (chain, as) => chain.sayErased(chain.notarize(), 0, { by: as }),
}

/** Kinds of entries that the operator may make. The operator has no key in the ledger. */
const BY_SYSTEM = ['agent-registered', 'key-created']

for (const [kind, forge] of Object.entries(FORGED)) {
  test(`${kind} does not verify by a read-only key, and by system only if allowed`, async (t) => {
    const files = temporaryFiles(t)
    const verify = async (make: (chain: TestChain) => TestLine) => {
      const chain = makeChain()
      const line = make(chain)
      const path = files.write('export.ndjson', `${chain.exportLines().join('\n')}\n`)
      return { ...(await runAlone(['verify', path])), seq: line.seq }
    }
    const byReader = await verify((chain) => {
      const reader = makeId('key')
      chain.createKey(reader, chain.agent, { scopes: ['audit:read'] })
      return forge(chain, { key: reader })
    })
    assert.equal(byReader.code, 1, byReader.stdout)
    assert.match(
      byReader.stdout,
      new RegExp(`seq=${byReader.seq} code=actor_not_entitled reason=.*lacks the scope`),
    )
    const bySystem = await verify((chain) => forge(chain, { actor: 'system', key: undefined }))
    assert.equal(bySystem.code, BY_SYSTEM.includes(kind) ? 0 : 1, bySystem.stdout)
    if (bySystem.code === 1) assert.match(bySystem.stdout, new RegExp(`seq=${bySystem.seq} code=actor_not_`))
  })
}

test('every entry that a key with one scope makes over HTTP verifies', async (t) => {
  const app = await buildTestApp(t)
  const scoped = await makeSingleScopes(app)
  const ok = async (scope: Scope, method: string, url: string, body?: object, status = 200) => {
    const options: SendOptions = { key: scoped[scope]!, ...(body && { body }) }
    return expectStatus(status, await app.send(method, url, options)).json()
  }
  const { id: agent } = await ok('agents:manage', 'POST', '/v1/agents', { name: 'made' }, 201)
  const newKey = { agent, name: 'made', scopes: ['keys:manage'] }
  const { id: key } = await ok('keys:manage', 'POST', '/v1/keys', newKey, 201)
  await ok('keys:manage', 'POST', `/v1/keys/${key}/revoke`)
  await ok('agents:manage', 'POST', `/v1/agents/${agent}/disable`)
  const type = { name: 'parcel', version: 1, payloadSchema: { type: 'object' } }
  await ok('types:write', 'POST', '/v1/types', type, 201)
  const notarization = { type: 'parcel/1', payload: { n: 1 } }
  const { id } = await ok('records:write', 'POST', '/v1/records', notarization, 201)
  await ok('records:write', 'POST', '/v1/records/batch', { records: [notarization, notarization] }, 201)
  await ok('payloads:erase', 'DELETE', `/v1/records/${id}/payload`, { code: 'expired' }, 202)
  const task = { type: 'task/1', payload: PAYLOAD }
  const gated = await ok('records:write', 'POST', '/v1/records', task, 201)
  await ok('records:write', 'POST', `/v1/records/${gated.id}/cancel`, { reason: 'withdrawn' })

  const { body } = await app.send('GET', '/v1/export')
  const path = temporaryFiles(t).write('export.ndjson', body)
  const { code, stdout } = await runAlone(['verify', path])
  assert.equal(code, 0, stdout)
  for (const kind of [
    'agent-disabled',
    'key-revoked',
    'type-registered',
    'payload-erased',
    'record-cancelled',
  ])
    assert.ok(body.includes(`"kind":"${kind}"`), kind)
})

async function makeSingleScopes(app: TestApp): Promise<Partial<Record<Scope, string>>> {
  const scopes: Scope[] = ['agents:manage', 'keys:manage', 'types:write', 'records:write', 'payloads:erase']
  const keys: Partial<Record<Scope, string>> = {}
  for (const scope of scopes) {
    const agent = await addAgent(app, `agent of ${scope}`)
    keys[scope] = await addKey(app, { scopes: [scope], agent })
  }
  return keys
}
