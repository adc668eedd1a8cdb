import assert from 'node:assert/strict'
import { test } from 'node:test'
import { toBase64 } from '../../src/proof/bytes.ts'
import { AGENT_KEYS_MAX } from '../../src/proof/limits.ts'
import {
  addSigningKey,
  keyRegistration,
  makeAgentKey,
  signedBatch,
  signedRecord,
  signingOf,
  type TestAgentKey,
} from '../helpers/agent-signer.ts'
import { expectStatus, genericBody, type TestApp } from '../helpers/app.ts'
import { assertProblem } from '../helpers/assert-problem.ts'
import { addAgent, addAgentsWithKeys } from '../helpers/more-keys.ts'
import { sharedApp } from '../helpers/shared-app.ts'
import { assertVerifies } from '../helpers/verify-app.ts'

function keysUrl({ ledger }: TestApp, agent: string = ledger.agent.id): string {
  return `/v1/agents/${agent}/signing-keys`
}

async function revoke(app: TestApp, key: TestAgentKey) {
  return expectStatus(200, await app.send('POST', `${keysUrl(app)}/${key.kid}/revoke`, { body: {} })).json()
}

for (const alg of ['EdDSA', 'ES256'] as const) {
  test(`an agent signs its records with its own ${alg} key, and the ledger verifies`, async () => {
    const app = await sharedApp()
    const key = await addSigningKey(app, { alg })
    const body = signedRecord(key, signingOf(app))
    const record = expectStatus(201, await app.send('POST', '/v1/records', { body })).json()
    assert.equal(record.entry.signedBy, 'agent')
    const found = (await app.send('GET', `/v1/records/${record.id}`)).json()
    assert.deepEqual(found, record)
    const [entry] = await app.entries(`?after=${record.entry.seq - 1}`)
    assert.equal(entry.envelope, body.envelope)
    const batch = signedBatch(key, signingOf(app), [{ payload: { n: 1 } }, { payload: { n: 2 } }])
    const made = expectStatus(201, await app.send('POST', '/v1/records/batch', { body: batch })).json()
    assert.equal(made.entry.signedBy, 'agent')
    assert.equal((await app.notarize()).entry.signedBy, 'server')
    await assertVerifies(app)
  })
}

test('a further key of an agent needs an endorsement by one of its current keys', async () => {
  const app = await sharedApp()
  const url = keysUrl(app)
  const first = await addSigningKey(app)
  const second = makeAgentKey('ES256')
  const alone = await app.send('POST', url, { body: keyRegistration(signingOf(app), second) })
  assertProblem(alone, 409, 'endorsement_needed')
  const stranger = keyRegistration(signingOf(app), second, { endorsedBy: makeAgentKey() })
  assertProblem(await app.send('POST', url, { body: stranger }), 422, 'key_proof_refused')
  await addSigningKey(app, { endorsedBy: first })
  const { seq, revokedSeq } = await revoke(app, first)
  assert.ok(revokedSeq > seq)
  const byRevoked = keyRegistration(signingOf(app), second, { endorsedBy: first })
  assertProblem(await app.send('POST', url, { body: byRevoked }), 409, 'endorsement_needed')
  const { data } = (await app.send('GET', url)).json()
  assert.equal(data.length, 2)
  assert.equal(data[0].kid, first.kid)
  assert.ok(data[0].revokedAt)
  assert.deepEqual([data[0].revokedSeq, data[1].revokedSeq], [revokedSeq, null])
  await assertVerifies(app)
})

test('a first key needs a valid proof of possession, and of concurrent registrations one succeeds', async () => {
  const app = await sharedApp()
  const url = keysUrl(app)
  const key = makeAgentKey()
  const body = keyRegistration(signingOf(app), key)
  for (const wrong of [
    { ...body, required: true },
    { ...body, proof: keyRegistration(signingOf(app), makeAgentKey()).proof },
    keyRegistration({ ...signingOf(app), agent: await addAgent(app, 'another') }, key),
  ])
    assertProblem(await app.send('POST', url, { body: wrong }), 422, 'key_proof_refused')
  const weak = { ...body, spki: toBase64(Buffer.from(`302a300506032b6570032100${'00'.repeat(32)}`, 'hex')) }
  assertProblem(await app.send('POST', url, { body: weak }), 422, 'invalid_request')
  const others = [key, makeAgentKey(), makeAgentKey()].map((one) => keyRegistration(signingOf(app), one))
  const answers = await Promise.all(others.map((one) => app.send('POST', url, { body: one })))
  assert.deepEqual(answers.map(({ statusCode }) => statusCode).sort(), [201, 409, 409])
  const taken =
    answers[0]!.statusCode === 201 ? body : others[answers.findIndex((a) => a.statusCode === 201)]!
  assertProblem(await app.send('POST', url, { body: taken }), 409, 'endorsement_needed')
  await assertVerifies(app)
})

test('an agent has at most eight current keys, and cannot register a former key again', async () => {
  const app = await sharedApp()
  const first = await addSigningKey(app)
  const keys = [first]
  while (keys.length < AGENT_KEYS_MAX) keys.push(await addSigningKey(app, { endorsedBy: first }))
  const one = keyRegistration(signingOf(app), makeAgentKey(), { endorsedBy: first })
  assertProblem(await app.send('POST', keysUrl(app), { body: one }), 409, 'endorsement_needed')
  await revoke(app, keys[1]!)
  const again = keyRegistration(signingOf(app), keys[1]!, { endorsedBy: first })
  assertProblem(await app.send('POST', keysUrl(app), { body: again }), 409, 'signing_key_exists')
  await addSigningKey(app, { endorsedBy: first })
  await assertVerifies(app)
})

test('refuses the 257th key of an agent with 409 endorsement_needed, although most are revoked', async () => {
  const app = await sharedApp()
  const first = await addSigningKey(app)
  await app.sql(
    `insert into tallystick.agent_signing_keys
     select ledger_id, agent_id, sha256(int4send(n)), alg, spki, false, registered_seq, registered_seq + 1
     from tallystick.agent_signing_keys, generate_series(1, 254) n where kid = decode($1, 'hex')`,
    [first.kid],
  )
  await addSigningKey(app, { endorsedBy: first })
  const another = keyRegistration(signingOf(app), makeAgentKey(), { endorsedBy: first })
  assertProblem(await app.send('POST', keysUrl(app), { body: another }), 409, 'endorsement_needed')
})

test('an agent with records:write rotates and revokes its own keys, but cannot register the first', async () => {
  const app = await sharedApp()
  const { writer, other } = await addAgentsWithKeys(app, {
    writer: ['records:write'],
    other: ['records:write'],
  })
  const url = keysUrl(app, writer.id)
  const who = { ...signingOf(app), agent: writer.id }
  const first = makeAgentKey()
  const body = keyRegistration(who, first)
  assertProblem(await app.send('POST', url, { key: writer.key, body }), 403, 'forbidden')
  expectStatus(201, await app.send('POST', url, { body }))
  const second = keyRegistration(who, makeAgentKey(), { endorsedBy: first })
  assertProblem(await app.send('POST', url, { key: other.key, body: second }), 403, 'forbidden')
  expectStatus(201, await app.send('POST', url, { key: writer.key, body: second }))
  const revokeUrl = `${url}/${first.kid}/revoke`
  assertProblem(await app.send('POST', revokeUrl, { key: other.key, body: {} }), 403, 'forbidden')
  expectStatus(200, await app.send('POST', revokeUrl, { key: writer.key, body: {} }))
  assertProblem(await app.send('POST', revokeUrl, { key: writer.key, body: {} }), 409, 'already_ended')
  assertProblem(await app.send('POST', `${url}/${'0'.repeat(64)}/revoke`, { body: {} }), 404, 'not_found')
  await assertVerifies(app)
})

test('refuses unsigned writes of an agent with a required key with 403 agent_signature_required', async () => {
  const app = await sharedApp()
  const { gateway } = await addAgentsWithKeys(app, { gateway: ['records:write', 'agents:act'] })
  const key = await addSigningKey(app, { required: true })
  const agent = app.ledger.agent.id
  const refused = { 'POST /v1/records': genericBody(), 'POST /v1/agents': { name: 'by the agent' } }
  for (const [route, body] of Object.entries(refused)) {
    const [method, url] = route.split(' ') as [string, string]
    assertProblem(await app.send(method, url, { body }), 403, 'agent_signature_required')
  }
  const batch = { records: [genericBody()] }
  assertProblem(await app.send('POST', '/v1/records/batch', { body: batch }), 403, 'agent_signature_required')
  const task = { type: 'task/1', payload: {} }
  assertProblem(await app.send('POST', '/v1/records', { body: task }), 403, 'agent_signature_required')
  for (const body of [
    { ...genericBody(), onBehalfOf: agent },
    { ...task, onBehalfOf: agent },
  ]) {
    const forIt = await app.send('POST', '/v1/records', { key: gateway.key, body })
    assertProblem(forIt, 403, 'agent_signature_required')
  }
  const many = { records: [genericBody(), { ...genericBody(), onBehalfOf: agent }] }
  const batchForIt = await app.send('POST', '/v1/records/batch', { key: gateway.key, body: many })
  assertProblem(batchForIt, 403, 'agent_signature_required')
  expectStatus(201, await app.send('POST', '/v1/records', { key: gateway.key, body: genericBody() }))
  expectStatus(201, await app.send('POST', '/v1/records', { body: signedRecord(key, signingOf(app)) }))
  await assertVerifies(app)
})
