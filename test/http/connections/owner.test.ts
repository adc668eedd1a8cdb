import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { CONTACTS_PER_QUERY_MAX } from '../../../src/db/limits.ts'
import { buildApp } from '../../../src/http/app.ts'
import { OPERATOR } from '../../../src/http/connections/prove.ts'
import { makeByteBudgets } from '../../../src/load/budgets.ts'
import { Shares } from '../../../src/load/shares.ts'
import { UNPROVEN } from '../../../src/load/unproven.ts'
import { Metrics } from '../../../src/observe/metrics/metrics.ts'
import { NONCE_BYTES, signRequest } from '../../../src/outside/federation/http-signature.ts'
import { formatId } from '../../../src/proof/ids.ts'
import { makeEd25519Signer, nativeProviders } from '../../../src/signing/native.ts'
import { expectStatus, OPERATOR_KEY } from '../../helpers/app.ts'
import { addKey } from '../../helpers/more-keys.ts'
import { sharedApp } from '../../helpers/shared-app.ts'

test('an answer counts for the owner that the key proves, not for the requested ledger', async (t) => {
  const app = await sharedApp()
  const ledger = app.ledger.ledger.id
  const made = await app.send('POST', '/v1/ledgers', { key: OPERATOR_KEY, body: { name: 'public' } })
  const open = expectStatus(201, made).json().ledger.id
  const set = { key: OPERATOR_KEY, body: { tiles: 'public' } }
  expectStatus(200, await app.send('PUT', `/v1/ledgers/${open}/tiles`, set))
  const reader = await addKey(app, { scopes: ['records:write'] })
  const expired = await addKey(app, { scopes: ['records:read'], expiresAtMs: Date.now() - 1 })

  const owners: string[] = []
  class Watched extends Shares {
    override take(owner: string, bytes = 1): void {
      if (bytes > 0) owners.push(owner)
      super.take(owner, bytes)
    }
  }
  const budgets = {
    ...makeByteBudgets(),
    reads: new Watched({ rule: 'rest', max: 1_000_000, unprovenMax: 1_000_000 }),
  }
  const server = buildApp({ ...app.deps, budgets, metrics: new Metrics() })
  t.after(() => server.close())
  for (const [url, key, status, owner] of [
    ['/v1/records', app.ledger.key.key, 200, ledger],
    ['/v1/records', reader, 403, ledger],
    ['/v1/records', expired, 401, UNPROVEN],
    ['/v1/records', `${app.ledger.key.key.slice(0, -8)}00000000`, 401, UNPROVEN],
    ['/v1/records', null, 401, UNPROVEN],
    ['/v1/nothing', null, 404, UNPROVEN],
    ['/v1/ledgers', OPERATOR_KEY, 200, OPERATOR],
    ['/v1/ledgers', null, 401, UNPROVEN],
    ['/v1/ledgers', `${OPERATOR_KEY}x`, 401, UNPROVEN],
    ['/v1/ledgers', app.ledger.key.key, 401, ledger],
    [`/tlog/${open}/tile/0/000`, null, 404, UNPROVEN],
    [`/tlog/${open}/tile/0/000`, app.ledger.key.key, 404, ledger],
  ] as const) {
    owners.length = 0
    const headers = key === null ? {} : { authorization: `Bearer ${key}` }
    assert.equal((await server.inject({ url, headers })).statusCode, status, url)
    assert.deepEqual(owners, [owner], `${url} with ${key}`)
  }
})

test('forged requests of unknown peerings share queries, and get peer_unknown', async () => {
  const app = await sharedApp()
  const { contacts: before } = app.deps.lookups.figures
  const signer = makeEd25519Signer(nativeProviders.sha256, randomBytes(32))
  const path = '/v1/federation/summary'
  const forge = () => {
    const id = () => app.deps.entropy.uuidv7(Date.now())
    const request = {
      method: 'POST',
      targetUri: app.deps.publicUrl + path,
      body: '{}',
      peering: formatId('peer', id()),
      from: formatId('led', id()),
      to: app.ledger.ledger.id,
    }
    const signed = signRequest(request, signer, { nowMs: Date.now(), nonce: randomBytes(NONCE_BYTES) })
    const headers = { ...signed, 'content-type': 'application/json' }
    return app.app.inject({ method: 'POST', url: path, headers, payload: request.body })
  }
  const answers = await Promise.all(Array.from({ length: 2 * CONTACTS_PER_QUERY_MAX }, forge))
  for (const answer of answers) assert.equal(answer.json().code, 'peer_unknown')
  const { contacts } = app.deps.lookups.figures
  assert.equal(contacts.keys - before.keys, answers.length)
  assert.ok(contacts.queries - before.queries < answers.length / 4, `${contacts.queries - before.queries}`)
})
