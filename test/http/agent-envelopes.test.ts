import assert from 'node:assert/strict'
import { test } from 'node:test'
import { toBase64Url } from '../../src/proof/bytes.ts'
import { formatId } from '../../src/proof/ids.ts'
import { firstRecordId } from '../../src/proof/statement/batch-ids.ts'
import {
  addSigningKey,
  keyRegistration,
  makeAgentKey,
  makeSalt,
  type Otherwise,
  signedBatch,
  signedRecord,
  signingOf,
  withOtherS,
} from '../helpers/agent-signer.ts'
import { buildTestApp, expectStatus, type TestApp } from '../helpers/app.ts'
import { assertProblem } from '../helpers/assert-problem.ts'
import { addAgent } from '../helpers/more-keys.ts'
import { sharedApp } from '../helpers/shared-app.ts'
import { assertVerifies } from '../helpers/verify-app.ts'

const post = (app: TestApp, body: object, headers: Record<string, string> = {}) =>
  app.send('POST', '/v1/records', { body, headers })

test('an envelope is accepted once; its Idempotency-Key replays the first answer even for a new signature', async () => {
  const app = await sharedApp()
  const key = await addSigningKey(app)
  const who = signingOf(app)
  const body = signedRecord(key, who)
  const headers = { 'idempotency-key': 'once' }
  const record = expectStatus(201, await post(app, body, headers)).json()
  for (const again of [body, signedRecord(key, who), signedRecord(key, who, undefined, { atMs: 0 })]) {
    const answer = expectStatus(201, await post(app, again, headers))
    assert.equal(answer.headers['idempotency-replayed'], 'true')
    assert.deepEqual(answer.json(), record)
  }
  assertProblem(await post(app, signedRecord(key, who, { other: 1 }), headers), 422, 'idempotency_key_reused')
  assertProblem(await post(app, body), 409, 'duplicate_envelope')
  assertProblem(await post(app, body, { 'idempotency-key': 'twice' }), 409, 'duplicate_envelope')
  const batch = signedBatch(key, who, [{ payload: {} }])
  const sendBatch = (more: Record<string, string> = {}) =>
    app.send('POST', '/v1/records/batch', { body: batch, headers: more })
  const made = expectStatus(201, await sendBatch({ 'idempotency-key': 'batch' })).json()
  assert.deepEqual(expectStatus(201, await sendBatch({ 'idempotency-key': 'batch' })).json(), made)
  assertProblem(await sendBatch(), 409, 'duplicate_envelope')
  const racing = signedRecord(key, who)
  const answers = await Promise.all(Array.from({ length: 6 }, () => post(app, racing)))
  assert.deepEqual(answers.map(({ statusCode }) => statusCode).sort(), [201, 409, 409, 409, 409, 409])
  await assertVerifies(app)
})

test('refuses every envelope that differs from what the server would sign', async () => {
  const app = await sharedApp()
  const key = await addSigningKey(app)
  const who = signingOf(app)
  const other = await app.newLedger()
  const foreign = { ...who, ledger: other.ledger.id }
  const stranger = { ...who, agent: await addAgent(app, 'stranger') }
  const before = await app.written()
  const mismatches: readonly (readonly [string, Otherwise, object?])[] = [
    ['/issuer', { issuer: 'https://elsewhere.example' }],
    ['/predicate/key', { predicate: { key: 'key_01jegv5gyme05800000000000a' } }],
    ['/predicate/type', { predicate: { type: 'other/1' } }],
    ['/predicate/occurredAt', { predicate: { occurredAt: '2026-11-25T00:00:00.000Z' } }],
    ['/subject/0/sha256', {}, { payload: { tool: 'another' } }],
    ['/subject/0/sha256', {}, { salt: toBase64Url(makeSalt()) }],
    ['/predicate/references', {}, { references: ['order:1'] }],
    ['/predicate/record', { record: formatId('rec', firstRecordId(app.deps.entropy.uuidv7(Date.now()))) }],
    ['/predicate/record', { record: 'rec_00000000000000000000000000' }],
  ]
  for (const [path, otherwise, change = {}] of mismatches) {
    const answer = await post(app, { ...signedRecord(key, who, undefined, otherwise), ...change })
    assert.equal(assertProblem(answer, 422, 'statement_mismatch')['path'], path)
  }
  for (const lie of [foreign, stranger])
    assert.equal(
      assertProblem(await post(app, signedRecord(key, lie)), 422, 'envelope_refused')['reason'],
      'key_of_another_agent',
    )
  const flipped = (signature: Uint8Array) => signature.with(0, signature[0]! ^ 1)
  const forged = await post(app, signedRecord(key, who, undefined, { signature: flipped }))
  assert.equal(assertProblem(forged, 422, 'envelope_refused')['reason'], 'signature_invalid')
  assertProblem(await post(app, { ...signedRecord(key, who), envelope: 'AAAA' }), 422, 'envelope_refused')
  assertProblem(await post(app, signedRecord(makeAgentKey(), who)), 422, 'signing_key_refused')
  const { salt: _, ...unsalted } = signedRecord(key, who)
  assertProblem(await post(app, unsalted), 422, 'invalid_request')
  for (const atMs of [Date.now() - 25_000, Date.now() + 25_000])
    assertProblem(await post(app, signedRecord(key, who, undefined, { atMs })), 422, 'signed_time_refused')
  assert.deepEqual(await app.written(), before)
})

test('refuses an ES256 signature with the higher s as signature_invalid', async () => {
  const app = await sharedApp()
  const key = await addSigningKey(app, { alg: 'ES256' })
  const high = signedRecord(key, signingOf(app), undefined, { signature: withOtherS })
  assert.equal(assertProblem(await post(app, high), 422, 'envelope_refused')['reason'], 'signature_invalid')
})

test('accepts a batch only with the signed items and ids', async () => {
  const app = await sharedApp()
  const key = await addSigningKey(app)
  const who = signingOf(app)
  const send = (body: object) => app.send('POST', '/v1/records/batch', { body })
  const batch = signedBatch(key, who, [{ payload: { n: 1 } }, { payload: { n: 2 } }])
  const [first, second] = batch.records
  for (const records of [[first], [second, first], [{ ...first, metadata: {}, payload: { n: 3 } }, second]])
    assertProblem(await send({ ...batch, records }), 422, 'statement_mismatch')
  const { salt: _, ...unsalted } = first!
  assertProblem(await send({ ...batch, records: [unsalted, second] }), 422, 'invalid_request')
  assertProblem(await send({ records: [first, second] }), 422, 'invalid_request')
  const old = firstRecordId(app.deps.entropy.uuidv7(Date.now() - 3_600_000))
  const oldBatch = signedBatch(key, who, [{ payload: {} }], { first: old })
  assertProblem(await send(oldBatch), 422, 'statement_mismatch')
  const { envelope } = signedRecord(key, who)
  assertProblem(await send({ ...batch, envelope }), 422, 'envelope_refused')
  const made = expectStatus(201, await send(batch)).json()
  const overlapping = signedBatch(key, who, [{ payload: {} }], {
    first: firstRecordId(app.deps.entropy.uuidv7(Date.now())),
  })
  expectStatus(201, await send(overlapping))
  assert.equal(made.records[1].salt, second!.salt)
  await assertVerifies(app)
})

test('a revoked key signs no entry after its revocation, even in a race', async () => {
  const app = await sharedApp()
  const key = await addSigningKey(app)
  const who = signingOf(app)
  const bodies = Array.from({ length: 12 }, () => signedRecord(key, who))
  const url = `/v1/agents/${who.agent}/signing-keys/${key.kid}/revoke`
  const answers = await Promise.all([
    ...bodies.slice(0, 6).map((body) => post(app, body)),
    app.send('POST', url, { body: {} }),
    ...bodies.slice(6).map((body) => post(app, body)),
  ])
  for (const answer of answers)
    if (answer.statusCode >= 300) assertProblem(answer, 422, 'signing_key_refused')
  assertProblem(await post(app, signedRecord(key, who)), 422, 'signing_key_refused')
  await assertVerifies(app)
})

test('server-signed entries are refused once the agent requires its own signature, even in a race', async () => {
  const app = await sharedApp()
  const who = signingOf(app)
  const body = keyRegistration(who, makeAgentKey(), { required: true })
  const answers = await Promise.all([
    ...Array.from({ length: 8 }, () =>
      app.send('POST', '/v1/records', { body: { type: 'generic/1', payload: {} } }),
    ),
    app.send('POST', `/v1/agents/${who.agent}/signing-keys`, { body }),
    ...Array.from({ length: 8 }, () =>
      app.send('POST', '/v1/records', { body: { type: 'generic/1', payload: {} } }),
    ),
  ])
  for (const answer of answers)
    if (answer.statusCode >= 300) assertProblem(answer, 403, 'agent_signature_required')
  await assertVerifies(app)
})

test('a request that waited too long is refused with 503 overloaded, whatever time the agent signed', async (t) => {
  let aheadMs = 0
  const app = await buildTestApp(t, { now: () => Date.now() + aheadMs })
  const key = await addSigningKey(app)
  const { signers } = app.deps
  const signerOf = signers.signerOf.bind(signers)
  // Simulates a long wait for the type. During the wait the API key may expire.
  t.mock.method(signers, 'signerOf', (ledger: Parameters<typeof signerOf>[0]) => {
    aheadMs = 41_000
    return signerOf(ledger)
  })
  assertProblem(await post(app, signedRecord(key, signingOf(app))), 503, 'overloaded')
})
