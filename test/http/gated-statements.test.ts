import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseEnvelope } from '../../src/proof/envelope/cose.ts'
import { parseStatement } from '../../src/proof/statement/statement.ts'
import { expectStatus } from '../helpers/app.ts'
import { FAILING, type GatedApp, PASSING, PAYLOAD, sharedGatedApp } from '../helpers/gated-app.ts'
import { digestOf, leafOf, openEnvelope } from '../helpers/open-envelope.ts'
import { assertVerifies } from '../helpers/verify-app.ts'

const TRACEPARENT = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'
const OCCURRED_AT = '2026-11-19T08:30:00.000Z'
const VALID_UNTIL = '2031-01-01T00:00:00.000Z'

// biome-ignore lint/suspicious/noExplicitAny: the shape is what tests assert
type Json = any
type Opened = {
  kind: string
  subject: Json[]
  predicate: Json
  leaf: string
  seq: number
  recordedAt: string
}

/** Opens each entry of the record twice: with the product's code, and with a second implementation of the formats. */
async function openEntries(app: GatedApp, id: string): Promise<Opened[]> {
  const { keys } = (await app.send('GET', '/.well-known/tallystick-keys.json')).json()
  const { data } = expectStatus(200, await app.send('GET', `/v1/records/${id}/entries?limit=200`)).json()
  return data.map(({ kind, envelope, leaf, seq, recordedAt }: Json) => {
    const bytes = Buffer.from(envelope, 'base64')
    const { claims, statement } = openEnvelope(envelope, keys)
    assert.equal(leafOf(bytes).toString('hex'), leaf)
    assert.equal(claims.get(2), id)
    assert.equal(statement.predicateType, `https://tallystick.dev/predicates/${kind}/v1`)
    const parsed = parseStatement(parseEnvelope(bytes).payload)
    assert.deepEqual([parsed.kind, parsed.predicate], [kind, statement.predicate])
    assert.equal(statement.predicate.recordedAt, recordedAt)
    return { kind, subject: statement.subject, predicate: statement.predicate, leaf, seq, recordedAt }
  })
}

/** Asserts that each entry names its predecessor, both states, the record and the ledger. */
function assertBound(app: GatedApp, id: string, entries: readonly Opened[]): void {
  for (const [i, { predicate, subject }] of entries.entries()) {
    const { ledger, record, version, previous, from, to } = predicate
    const before = entries[i - 1]
    assert.deepEqual([ledger, record, version], [app.ledger.ledger.id, id, i + 1])
    assert.deepEqual([previous, from], [before?.leaf, before?.predicate.to])
    assert.equal(typeof to, 'string')
    assert.deepEqual(subject[0], entries[0]!.subject[0])
  }
}

const subjectOf = (name: string, sha256: string) => ({ name, digest: { sha256 } })

/** Returns the predicate without the members that assertBound and openEntries check. */
function rest({ predicate }: Opened): Json {
  const { ledger, record, version, previous, from, to, recordedAt, ...others } = predicate
  return others
}

test('the signed statements of a gated record contain everything that was set', async (t) => {
  const app = await sharedGatedApp()
  const { principal, performer, gateway, overturner } = app.agents
  const headers = { traceparent: TRACEPARENT }
  const said = { occurredAt: '2026-11-19T08:30:00Z' }
  const signed = { occurredAt: OCCURRED_AT, traceparent: TRACEPARENT }
  const type = (await app.send('GET', '/v1/types/delivery/1')).json()
  const byPrincipal = { actor: principal.id, key: app.ledger.key.id }

  await t.test('from creation to an overturned rejection', async () => {
    const parent = await app.notarize()
    const deadline = new Date(Date.now() + 3_600_000).toISOString()
    const terms = {
      gate: 'principal',
      deadline,
      maxRevisions: 1,
      tolerances: { quantity: { percent: '1.50' } },
    }
    const links = { parent: parent.id, references: ['order:1'], metadata: { not: 'signed' } }
    const created = await app.create({ ...terms, ...links, ...said }, { headers })
    const { id } = created
    await app.take(id, 'activate', { as: 'gateway', body: { onBehalfOf: performer.id, ...said }, headers })
    const first = await app.take(id, 'completions', { body: { evidence: FAILING, ...said }, headers })
    const failed = await app.verify(id)
    const revised = await app.take(id, 'revision', { body: { reason: 'count again', ...said }, headers })
    const second = await app.take(id, 'completions')
    const passed = await app.verify(id)
    const verdict = { verdict: 'reject', reason: 'too late', validUntil: VALID_UNTIL, ...said }
    const judged = await app.take(id, 'verdict', { body: verdict, headers })
    const released = await app.take(id, 'overturn', { body: { reason: 'granted', ...said }, headers })

    const entries = await openEntries(app, id)
    assertBound(app, id, entries)
    const states = [
      'CREATED',
      'ACTIVE',
      'SUBMITTED',
      'DISCREPANT',
      'ACTIVE',
      'SUBMITTED',
      'VERIFIED',
      'REJECTED',
    ]
    assert.deepEqual(
      entries.map(({ predicate }) => predicate.to),
      [...states, 'ACCEPTED'],
    )
    const [creation, activation, , failure, revision, , pass, rejection, release] = entries as [
      Opened,
      ...Opened[],
    ] &
      Opened[]
    const about = subjectOf(id, digestOf(created.salt, PAYLOAD))
    const cmp1 = subjectOf(first.gated.completion.id, digestOf(first.gated.completion.salt, FAILING))
    const cmp2 = subjectOf(second.gated.completion.id, digestOf(second.gated.completion.salt, PASSING))
    const reason = (step: Json, text: string) => subjectOf(`${id}/reason`, digestOf(step.salt, text))
    const values = (step: Json, of: string) => subjectOf(`${of}/values`, digestOf(step.salt, step.values))
    assert.deepEqual(
      entries.map(({ subject }) => subject),
      [
        [about],
        [about],
        [about, cmp1],
        [about, cmp1, values(failed.gated.verification, cmp1.name)],
        [about, reason(revised.gated.revision, 'count again')],
        [about, cmp2],
        [about, cmp2, values(passed.gated.verification, cmp2.name)],
        [about, cmp2, reason(judged.gated.verdict, 'too late')],
        [about, cmp2, reason(released.gated.overturn, 'granted')],
      ],
    )

    assert.deepEqual(rest(creation), {
      ...byPrincipal,
      type: 'delivery/1',
      typeDigest: type.digest,
      performer: performer.id,
      ...terms,
      parent: parent.id,
      references: digestOf(created.salt, ['order:1']),
      ...signed,
    })
    const { key: gatewayKey, ...activated } = rest(activation!)
    assert.match(gatewayKey, /^key_/)
    assert.deepEqual(activated, { actor: gateway.id, onBehalfOf: performer.id, ...signed })
    const { key: _, ...submitted } = rest(entries[2]!)
    assert.deepEqual(submitted, { actor: performer.id, completion: cmp1.name, ...signed })
    const rules = (outcome: string, code?: string) => [
      { id: 'quantity', outcome, ...(code && { code }) },
      { id: 'currency', outcome: 'pass' },
    ]
    assert.deepEqual(rest(failure!), {
      actor: 'system',
      completion: cmp1.name,
      outcome: 'fail',
      rules: rules('fail', 'outside_tolerance'),
    })
    assert.deepEqual(rest(revision!), { ...byPrincipal, completion: cmp1.name, ...signed })
    assert.deepEqual(rest(pass!), {
      actor: 'system',
      completion: cmp2.name,
      outcome: 'pass',
      rules: rules('pass'),
    })
    assert.deepEqual(rest(rejection!), {
      ...byPrincipal,
      completion: cmp2.name,
      verdict: 'reject',
      by: 'principal',
      signal: { decision: 'HOLD', code: 'rejected', failingRules: [], validUntil: VALID_UNTIL },
      ...signed,
    })
    const { key: __, ...overturned } = rest(release!)
    assert.deepEqual(overturned, {
      actor: overturner.id,
      completion: cmp2.name,
      signal: { decision: 'RELEASE', code: 'overturned', failingRules: [], validUntil: null },
      supersedes: rejection!.leaf,
      ...signed,
    })
    const text = JSON.stringify(entries)
    for (const secret of ['count again', 'too late', 'granted', 'not', 'order:1'])
      assert.ok(!text.includes(`"${secret}"`), `${secret} is beside the chain, not in it`)
  })

  await t.test('with an auto gate, whose verdict is by the rules alone', async () => {
    const { id } = await app.create({ type: 'task/1', payload: {}, gate: 'auto', performer: undefined })
    await app.take(id, 'activate', { as: 'stranger' })
    await app.take(id, 'completions', { as: 'stranger', body: { evidence: {} } })
    await app.verify(id)
    const entries = await openEntries(app, id)
    assertBound(app, id, entries)
    const creation = rest(entries[0]!)
    assert.deepEqual(
      [creation.performer, creation.deadline, creation.tolerances],
      [undefined, undefined, undefined],
    )
    const completion = entries[2]!.subject[1].name
    assert.deepEqual(rest(entries[3]!), { actor: 'system', completion, outcome: 'pass', rules: [] })
    assert.deepEqual(rest(entries[4]!), {
      actor: 'system',
      completion,
      verdict: 'accept',
      by: 'auto',
      signal: { decision: 'SETTLE', code: 'rules_passed', failingRules: [], validUntil: null },
    })
    assert.equal(entries[4]!.seq, entries[3]!.seq + 1)
  })

  await t.test('until its early end: cancelled with a reason, or expired', async () => {
    const cancelled = await app.reach('CANCELLED')
    const [, cancellation] = await openEntries(app, cancelled.id)
    assert.deepEqual(rest(cancellation!), byPrincipal)
    const { salt, reason } = cancelled.gated.cancellation
    assert.deepEqual(cancellation!.subject[1], subjectOf(`${cancelled.id}/reason`, digestOf(salt, reason)))
    const expired = await app.reach('EXPIRED')
    const entries = await openEntries(app, expired.id)
    assertBound(app, expired.id, entries)
    assert.deepEqual(rest(entries[1]!), { actor: 'system' })
    assert.equal(entries[1]!.subject.length, 1)
  })

  await t.test('with a verdict without a reason, which has no reason as subject', async () => {
    const { id } = await app.reach('ACCEPTED')
    const entries = await openEntries(app, id)
    assert.equal(entries.at(-1)!.subject.length, 2)
  })

  await t.test('the ledger verifies', async () => {
    await assertVerifies(app)
  })
})
