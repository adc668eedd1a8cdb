import { rotateKeys } from '../../src/followers/rotation/rotate-keys.ts'
import { ENTRY_KINDS, STATEMENT } from '../../src/proof/statement/kinds.ts'
import { makeRotator, rotateKey } from '../followers/rotation/rotation.ts'
import { addSigningKey, signedRecord, signingOf } from './agent-signer.ts'
import { expectStatus, genericBody, OPERATOR_KEY, type Test, type TestApp } from './app.ts'
import { openEraser } from './eraser.ts'
import { samplesOfItem } from './every-member.ts'
import type { GatedApp } from './gated-app.ts'
import { makePersonalGated } from './personal-gated.ts'
import { erase, PERSONAL } from './personal-records.ts'
import { addStatement } from './signed-statements.ts'

export const FEDERATION_KINDS: readonly string[] = Object.keys(ENTRY_KINDS).filter((kind) =>
  /^(peer-|record-shared|entry-received|step-offered|offer-refused)/.test(kind),
)

export const OWN_KINDS: readonly string[] = [...Object.keys(ENTRY_KINDS), STATEMENT].filter(
  (kind) => !FEDERATION_KINDS.includes(kind),
)

/**
 * Fills the ledger with every kind of entry that needs no peer, and with every member of a record. The caller must
 * append nothing afterwards.
 */
export async function fillLedger(t: Test, app: GatedApp): Promise<void> {
  await addRecords(app)
  await addGated(app)
  await administer(t, app)
  await closeAndReopen(app)
  await addStatement(app)
  const of = { record: (await app.notarize()).id }
  expectStatus(201, await app.send('POST', '/v1/exports', { body: { of, from: 0, documents: 'all' } }))
  await rotateKey(app)
  await rotateKeys(makeRotator(t, app))
}

async function addRecords(app: GatedApp): Promise<void> {
  expectStatus(
    201,
    await app.send('POST', '/v1/types', { body: { name: 'order', version: 1, payloadSchema: {} } }),
  )
  const { id: parent } = await app.notarize()
  const { id: other } = await app.notarize(genericBody(), { headers: { 'idempotency-key': 'one' } })
  const samples = samplesOfItem({
    agents: [app.agents.principal.id, app.agents.performer.id],
    records: [parent, other],
  })
  const sample = (at: 0 | 1) =>
    Object.fromEntries(
      Object.entries(samples).flatMap(([name, two]) => (name === 'salt' ? [] : [[name, two[at]]])),
    )
  for (const at of [0, 1] as const) {
    const { traceparent, ...body } = sample(at)
    await app.notarize(body, { headers: { traceparent: traceparent as string } })
  }
  const records = Array.from({ length: 70 }, (_, i) => sample(i % 2 ? 0 : 1))
  expectStatus(201, await app.send('POST', '/v1/records/batch', { body: { records } }))
}

async function addGated(app: GatedApp): Promise<void> {
  const deadline = new Date(Date.now() + 86_400_000).toISOString()
  const tolerances = { quantity: { percent: '6' } }
  await app.create({ deadline, gate: 'auto', tolerances, maxRevisions: 2 })
  for (const state of ['ACTIVE', 'SUBMITTED', 'ACCEPTED', 'CANCELLED', 'EXPIRED']) await app.reach(state)
}

async function administer(t: Test, app: GatedApp): Promise<void> {
  const post = async (status: number, url: string, body: object) =>
    expectStatus(status, await app.send('POST', url, { body })).json()
  const { agent } = app.ledger
  await post(201, '/v1/retention/rules', { days: 400, basis: 'law', type: 'generic/1', agent: agent.id })
  const { id } = await app.notarize()
  const { seq } = await post(201, '/v1/holds', { case: '2026/1', records: [id] })
  await post(201, '/v1/holds', { case: '2026/2', records: [id], type: 'generic/1', agent: agent.id })
  await post(200, `/v1/holds/${seq}/lift`, {})

  const personal = await makePersonalGated(app)
  const { id: single } = await app.notarize(PERSONAL)
  const batch = await post(201, '/v1/records/batch', { records: [PERSONAL, PERSONAL] })
  for (const record of [single, personal.id, batch.records[1].id]) expectStatus(202, await erase(app, record))
  const evidence = `/v1/records/${personal.id}/completions/${personal.completions[0]}/evidence`
  expectStatus(202, await app.send('DELETE', evidence, { body: { code: 'expired' } }))
  await app.notarize({ ...PERSONAL, subject: 'customer-7' })
  await post(200, '/v1/subjects/erase', { subject: 'customer-7', code: 'data_subject_request' })
  await openEraser(t, app).run()

  const expiresAt = new Date(Date.now() + 86_400_000).toISOString()
  const key = await post(201, '/v1/keys', { name: 'short', scopes: ['records:read'], expiresAt })
  await post(200, `/v1/keys/${key.id}/revoke`, {})
  const gone = await app.addAgent('gone', ['records:write'])
  await post(200, `/v1/agents/${gone.id}/disable`, {})
  const first = await addSigningKey(app, { alg: 'ES256' })
  await post(201, '/v1/records', signedRecord(first, signingOf(app)))
  const second = await addSigningKey(app, { endorsedBy: first })
  await post(200, `/v1/agents/${agent.id}/signing-keys/${second.kid}/revoke`, {})
}

/** Closes the ledger as a restore from an older backup does. Then reopens the ledger as the operator. */
export async function closeAndReopen(app: TestApp): Promise<void> {
  const chain = Buffer.alloc(32, 1)
  await app.sql(
    `select tallystick.close_restored_ledgers(array(select ledger_id from tallystick.ledgers), array[1000], $1, array[0])`,
    [[chain]],
  )
  const body = { known: { size: 1000, chain: chain.toString('hex') } }
  const url = `/v1/ledgers/${app.ledger.ledger.id}/restore`
  expectStatus(200, await app.send('POST', url, { key: OPERATOR_KEY, body }))
}
