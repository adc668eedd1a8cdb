import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiError, UsageError } from '../../sdk/errors.ts'
import { operations } from '../../sdk/generated/operations.ts'
import type { Transport } from '../../sdk/http/transport.ts'
import { agentSigner, makePrivateKey } from '../../sdk/signing/index.ts'
import * as verify from '../../sdk/verify/index.ts'
import { fromBase64, toHex } from '../../src/proof/bytes.ts'
import { parseEnvelope } from '../../src/proof/envelope/cose.ts'
import { canonicalize } from '../../src/proof/json/jcs.ts'
import { parseStatement } from '../../src/proof/statement/statement.ts'
import { nativeProviders } from '../../src/signing/native.ts'
import { makePublish } from '../helpers/checkpoints.ts'
import { fullItem } from '../helpers/every-member.ts'
import { addAgentsWithKeys } from '../helpers/more-keys.ts'
import { addPeer } from '../helpers/test-peers.ts'
import { openTestWorker } from '../helpers/test-worker.ts'
import { assertVerifies } from '../helpers/verify-app.ts'
import { setUpSdk, sharedSdk } from './set-up.ts'

test('principal and performer sign all their steps of a gated record, each with its own key', async (t) => {
  const sdk = await setUpSdk(t)
  const { app } = sdk
  const worker = openTestWorker(t, app)
  const publish = await makePublish(t, app)
  const manager = sdk.client()
  const agents = await addAgentsWithKeys(app, {
    principal: ['records:write', 'records:read', 'verdicts:overturn'],
    performer: ['records:write', 'records:read:own'],
  })
  const join = async ({ id, key }: { id: string; key: string }, alg: 'EdDSA' | 'ES256') => {
    const signer = await agentSigner({ pkcs8: await makePrivateKey(alg) })
    const request = await signer.registration({ ledger: app.ledger.ledger.id, agent: id }, { required: true })
    await manager.agents.registerSigningKey(id, request)
    return sdk.client({ apiKey: key, signer })
  }
  const principal = await join(agents.principal, 'EdDSA')
  const performer = await join(agents.performer, 'ES256')
  const created = await principal.records.create({
    payload: { order: 7 },
    performer: agents.performer.id,
    maxRevisions: 1,
    references: ['order:7'],
    deadline: new Date(Date.now() + 60_000).toISOString(),
  })
  const { id } = created
  assert.equal((await performer.records.activate(id)).entry.signedBy, 'agent')
  await performer.records.complete(id, { evidence: { done: 1 } })
  await worker.verify(id)
  await principal.records.requestRevision(id, { reason: 'once more' })
  await performer.records.complete(id, { evidence: { done: 2 } }, { idempotencyKey: 'second' })
  const replayed = await performer.records.complete(
    id,
    { evidence: { done: 2 } },
    { idempotencyKey: 'second' },
  )
  assert.equal(replayed.state, 'SUBMITTED')
  await worker.verify(id)
  const rejected = await principal.records.verdict(id, { verdict: 'reject', reason: 'no' })
  assert.equal(rejected.state, 'REJECTED')
  const settled = await principal.records.overturn(id, { reason: 'well' })
  assert.equal(settled.gated?.overturn?.signal.decision, 'RELEASE')
  const other = await principal.records.create({ payload: {} })
  assert.equal((await principal.records.cancel(other.id, { reason: 'not needed' })).entry.signedBy, 'agent')
  await assertVerifies(app)
  await publish()
  const proof = await principal.records.proof(id)
  const report = await verify.proof(proof)
  assert.equal(report.signedBy, 'agent')
  const texts = await Array.fromAsync(manager.bundles.record(id))
  const bundle = await verify.bundle(texts.join(''), {
    noteKey: (await manager.ledger.get()).noteVerifierKey,
  })
  // The agents signed all entries except the two verifications, which the worker signed.
  assert.deepEqual([bundle.entries, bundle.agentSigned], [9, 7])
  const { keys } = await manager.keyDocument()
  const [own] = await manager.agents.listSigningKeys(agents.principal.id).toArray(1)
  const agentKey = { ...own!, ledger: app.ledger.ledger.id, agent: agents.principal.id }
  const { envelope } = proof.entry
  assert.equal((await verify.envelope(envelope, { keys: [...keys, agentKey] })).signedBy, 'agent')
  const misplaced = { ...agentKey, agent: agents.performer.id }
  await assert.rejects(verify.envelope(envelope, { keys: [misplaced] }), { code: 'key_of_another_agent' })
  await assert.rejects(verify.envelope(envelope, { keys }), { code: 'key_unknown' })
  assert.equal((await verify.proof(proof, { kids: [keys[0]!.kid] })).keys, 'given')
  await assert.rejects(verify.proof(proof, { kids: ['00'.repeat(32)] }), { code: 'trusted_key_absent' })
})

test('a notarizer signs batches, and unsigned records of the agent are refused', async () => {
  const sdk = await sharedSdk()
  const { ledger } = sdk.app
  const signer = await agentSigner({ pkcs8: await makePrivateKey('EdDSA') })
  const request = await signer.registration(
    { ledger: ledger.ledger.id, agent: ledger.agent.id },
    { required: true },
  )
  await sdk.client().agents.registerSigningKey(ledger.agent.id, request)
  await assert.rejects(sdk.client().records.notarize({ payload: {} }), { code: 'agent_signature_required' })
  const client = sdk.client({ signer })
  const parent = (await client.records.notarize({ payload: {} })).id
  const known = { agents: [ledger.agent.id, ledger.agent.id], records: [parent, parent] } as const
  const batches: string[] = []
  const notarizer = client.notarizer({ onRecorded: ({ batch }) => void batches.push(batch) })
  for (let n = 0; n < 5; n++)
    notarizer.record(
      { n, text: 'äöü' },
      { occurredAt: '2026-11-25T12:00:00Z', references: [`order:${n}`], ...(n > 0 && { metadata: { n } }) },
    )
  const { payload, ...members } = fullItem(known)
  notarizer.record(payload, { ...members, type: 'generic/1' })
  await notarizer.close()
  assert.equal(batches.length, 1)
  const { type: _, ...single } = members
  const { traceparent, ...body } = single
  await client.records.notarize({ payload, ...body }, { traceparent })
  await client.records.create({ payload, ...body }, { traceparent })
  const [, child] = (
    await client.batches.notarize([
      { type: 'generic/1', payload: { a: 1 } },
      { type: 'generic/1', payload: { b: 2 }, parent: 0 },
    ])
  ).records
  assert.ok(child)
  assert.equal(
    (
      await client.records.notarize(
        { payload: { one: 1 } },
        { traceparent: `00-${'a1'.repeat(16)}-${'b2'.repeat(8)}-01` },
      )
    ).entry.signedBy,
    'agent',
  )
  await assertVerifies(sdk.app)
})

test('a record that arrives too late is signed again, and written once', async () => {
  const sdk = await sharedSdk()
  const { ledger } = sdk.app
  const signer = await agentSigner({ seed: new Uint8Array(32).fill(7) })
  const request = await signer.registration({ ledger: ledger.ledger.id, agent: ledger.agent.id })
  await sdk.client().agents.registerSigningKey(ledger.agent.id, request)
  let signatures = 0
  const late = {
    async sign(...asked: Parameters<typeof signer.sign>) {
      if (asked[1].method === 'GET' || ++signatures > 2) return signer.sign(...asked)
      const now = Date.now
      Date.now = () => now() - 60_000
      try {
        return await signer.sign(...asked)
      } finally {
        Date.now = now
      }
    },
    forget: () => signer.forget,
  }
  const record = await sdk.client({ signer: late as never }).records.notarize({ payload: { late: true } })
  assert.equal(record.entry.signedBy, 'agent')
  assert.equal(signatures, 3)
  signatures = -10
  await assert.rejects(
    sdk.client({ signer: late as never }).records.notarize({ payload: {} }),
    (error) => error instanceof ApiError && error.code === 'signed_time_refused',
  )
})

test('a shared record is signed by the server, and an agent-signed record cannot be shared', async () => {
  const sdk = await sharedSdk()
  const { ledger } = sdk.app
  const { peer } = await addPeer(sdk.app)
  const share = [{ peer, documents: 'whole' }] as const
  const signer = await agentSigner({ pkcs8: await makePrivateKey('EdDSA') })
  const request = await signer.registration({ ledger: ledger.ledger.id, agent: ledger.agent.id })
  await sdk.client().agents.registerSigningKey(ledger.agent.id, request)
  const client = sdk.client({ signer })
  const create = (options: object) => client.records.create({ payload: {}, ...options })
  await assert.rejects(create({ share: [...share] }), { code: 'not_signable' })
  const own = await create({})
  await assert.rejects(sdk.client().records.share(own.id, { share: [...share] }), { code: 'not_shareable' })
  const shared = await sdk.client().records.create({ payload: {}, share: [...share] })
  await assert.rejects(client.records.cancel(shared.id, { reason: 'x' }), { code: 'not_signable' })
  assert.equal((await sdk.client().records.cancel(shared.id, { reason: 'x' })).state, 'CANCELLED')
})

test('an invalid private key is refused, and a seed always gives the same key', async () => {
  for (const pkcs8 of [undefined, '', 'x', new Uint8Array([1, 2, 3])])
    await assert.rejects(agentSigner({ pkcs8 }), UsageError)
  const one = await agentSigner({ seed: new Uint8Array(32).fill(7) })
  const other = await agentSigner({ seed: new Uint8Array(32).fill(7) })
  assert.equal(one.kid, other.kid)
})

test('the signer refuses another record from the server, and signs the version that follows ifVersion', async () => {
  const signer = await agentSigner({ pkcs8: await makePrivateKey('EdDSA') })
  const [id, other] = ['rec_01jegv5gyme05800000000000a', 'rec_01jegv5gyme05800000000000b']
  const record = {
    id,
    version: 6,
    state: 'CREATED',
    digest: '11'.repeat(32),
    entry: { leaf: '22'.repeat(32) },
  }
  const ledger = {
    id: 'led_01jegv5gyme058000000000000',
    issuer: 'https://ledger.example',
    key: { id: 'key_01jegv5gyme058000000000000', agent: 'agt_01jegv5gyme058000000000000' },
  }
  const json = async (operation: unknown) => (operation === operations.getLedger ? ledger : record)
  const sign = (asked: string, options: object = {}) =>
    signer.sign({ json } as unknown as Transport, operations.postRecordsByIdActivate, {
      params: { id: asked },
      body: {},
      options,
    })
  await assert.rejects(sign(other!), /answered with another record than rec_01jegv5gyme05800000000000b/)
  for (const [options, version] of [
    [{}, 7],
    [{ ifVersion: 4 }, 5],
  ] as const) {
    const { envelope } = (await sign(id!, options)) as { envelope: string }
    assert.equal(parseStatement(parseEnvelope(fromBase64(envelope)).payload).predicate['version'], version)
  }
})

test('the signer refuses a type whose gating or definition does not fit the call', async () => {
  const signer = await agentSigner({ pkcs8: await makePrivateKey('EdDSA') })
  const definition = { name: 'order', version: 1, payloadSchema: true }
  const digest = toHex(nativeProviders.sha256(Buffer.from(canonicalize(definition))))
  const sign = (found: object, gated: boolean) => {
    const json = async () => ({ type: 'order/1', gated: false, digest, definition, ...found })
    const body = { type: 'order/1', payload: {} }
    return signer.sign({ json } as unknown as Transport, operations.postRecords, { body, gated })
  }
  await assert.rejects(sign({}, true), /order\/1 is not gated on this server: use records.notarize/)
  const gated = { ...definition, evidenceSchema: true }
  const other = { definition: gated, digest: toHex(nativeProviders.sha256(Buffer.from(canonicalize(gated)))) }
  await assert.rejects(sign({ ...other, gated: true }, false), UsageError)
  for (const lie of [{ digest: '00'.repeat(32) }, { definition: { ...definition, name: 'other' } }])
    await assert.rejects(sign(lie, false), /not that of order\/1/)
})

test('a type that requires agent signatures refuses unsigned records and accepts signed ones', async () => {
  const sdk = await sharedSdk()
  const { ledger } = sdk.app
  const signer = await agentSigner({ pkcs8: await makePrivateKey('ES256') })
  const request = await signer.registration({ ledger: ledger.ledger.id, agent: ledger.agent.id })
  const unsigned = sdk.client()
  await unsigned.agents.registerSigningKey(ledger.agent.id, request)
  const report = { name: 'report', version: 1, payloadSchema: true, agentSigned: true } as const
  await unsigned.types.register(report)
  await unsigned.types.register({ ...report, name: 'deal', evidenceSchema: true })
  const signed = sdk.client({ signer })
  const use = (client: typeof signed) => [
    () => client.records.notarize({ type: 'report/1', payload: {} }),
    () => client.records.create({ type: 'deal/1', payload: {} }),
    async () =>
      client.records.cancel((await signed.records.create({ type: 'deal/1', payload: {} })).id, {
        reason: 'x',
      }),
    () =>
      client.batches.notarize([
        { type: 'generic/1', payload: {} },
        { type: 'report/1', payload: {} },
      ]),
  ]
  for (const attempt of use(unsigned))
    await assert.rejects(attempt(), (error) => {
      assert.ok(error instanceof ApiError && error.code === 'agent_signature_required', String(error))
      return /must be signed by their agents: register a signing key/.test(error.message)
    })
  for (const attempt of use(signed)) assert.ok(await attempt())
  // The server still signs the agent's records of other types.
  assert.equal((await unsigned.records.notarize({ payload: {} })).entry.signedBy, 'server')
  await assertVerifies(sdk.app)
})
