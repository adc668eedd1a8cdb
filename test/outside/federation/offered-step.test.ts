import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { appendEntries, type EntryRow } from '../../../src/db/chain/append-entries.ts'
import { findRecords } from '../../../src/db/records/read-records.ts'
import { ApiError } from '../../../src/errors.ts'
import { toHex } from '../../../src/proof/bytes.ts'
import { parseEnvelope } from '../../../src/proof/envelope/cose.ts'
import { formatId, parseId } from '../../../src/proof/ids.ts'
import { canonicalize } from '../../../src/proof/json/jcs.ts'
import type { JsonValue } from '../../../src/proof/json/json-value.ts'
import { DOCUMENT_BYTES_MAX } from '../../../src/proof/request-limits.ts'
import {
  type OfferedCompletionFacts,
  offeredCompletionId,
} from '../../../src/proof/statement/offered-completions.ts'
import { remoteAgentId } from '../../../src/proof/statement/remote-agents.ts'
import { parseStatement } from '../../../src/proof/statement/statement.ts'
import {
  buildOfferedStep,
  type Offer,
  verifyOfferedEvidence,
} from '../../../src/records/gated/offered-step.ts'
import { nativeProviders } from '../../../src/signing/native.ts'
import { expectStatus } from '../../helpers/app.ts'
import { assertProblem } from '../../helpers/assert-problem.ts'
import { checkLedger } from '../../helpers/check-ledger.ts'
import { connect } from '../../helpers/connect.ts'
import { FAILING, type GatedApp, lendGatedApp, PASSING } from '../../helpers/gated-app.ts'
import { digestOf, sha256 } from '../../helpers/open-envelope.ts'
import { addPeer, type TestPeer } from '../../helpers/test-peers.ts'

/*
 * Tests what the home does with a step that a remote performer has offered. The offer's signatures are verified
 * earlier. So these tests need no signatures: peerings are only rows, and received envelopes are random bytes.
 */

const SALT = 'XaGvK-1McJRNX-agVfElbQ'
let nextRemoteSeq = 10

type Json = Record<string, unknown>
type Changes = Partial<Omit<Offer, 'completion'>> & {
  readonly evidence?: JsonValue
  readonly salt?: string
  readonly completion?: string
}

/** Makes an offer of the peer's agent that follows the record's newest entry. */
async function makeOffer(
  app: GatedApp,
  peer: TestPeer,
  id: string,
  step: Offer['step'],
  changes: Changes = {},
) {
  const row = await readRow(app, id)
  const { evidence = PASSING, salt = SALT, completion, ...others } = changes
  const envelope = randomBytes(100)
  const leaf = sha256(Buffer.of(0), envelope).toString('hex')
  const seq = nextRemoteSeq++
  const version = row.version + 1
  const offer: Offer = {
    peer: peer.peer,
    ledger: peer.ledger,
    seq,
    leaf,
    agent: peer.agent,
    step,
    version,
    previous: toHex(row.leaf),
    payload: toHex(row.digest),
    completion:
      step === 'record-activated'
        ? null
        : {
            id: completion ?? completionIdOf(peer, { record: id, version, digest: digestOf(salt, evidence) }),
            evidence: {
              value: evidence,
              canonical: canonicalize(evidence),
              salt: Buffer.from(salt, 'base64url'),
              digest: digestOf(salt, evidence),
            },
          },
    requireEvidence: () => {},
    receivedRow: {
      peerId: peer.peerId,
      seq,
      kind: 'step-offered',
      recordId: parseId('rec', id),
      version: null,
      leaf,
      envelope: envelope.toString('base64'),
    },
    ...others,
  }
  return { offer, envelope }
}

function completionIdOf(
  { ledger }: TestPeer,
  {
    digest = digestOf(SALT, PASSING),
    ...place
  }: Partial<OfferedCompletionFacts> & { record: string; version: number },
): string {
  return offeredCompletionId(nativeProviders.sha256, { ledger, digest, ...place }, randomBytes(4))
}

type Tail<T extends readonly unknown[]> = T extends readonly [unknown, ...infer Rest] ? Rest : never

async function readRow(app: GatedApp, id: string) {
  const ledgerId = parseId('led', app.ledger.ledger.id)
  const [row] = await findRecords(app.deps.readPool, [{ ledgerId, recordId: parseId('rec', id) }])
  return row!
}

async function build(app: GatedApp, id: string, offer: Offer, now = app.deps.now): Promise<EntryRow> {
  const { id: ledger, issuer } = app.ledger.ledger
  const signer = await app.deps.signers.load()
  const home = { ledger, ledgerId: parseId('led', ledger), issuer, envelopeKid: toHex(signer.kid) }
  const row = await readRow(app, id)
  const refusal = offer.completion && (await judge(app, home, row, offer.completion.evidence))
  const requireEvidence = () => {
    if (refusal) throw refusal
  }
  return buildOfferedStep({ now }, signer, home, row, { ...offer, requireEvidence })
}

/** Verifies the evidence as the server does. Returns the refusal, or null if the evidence is valid. */
async function judge(app: GatedApp, ...about: Tail<Parameters<typeof verifyOfferedEvidence>>) {
  return verifyOfferedEvidence(app.deps, ...about).then(
    () => null,
    (error: ApiError) => error,
  )
}

async function append(app: GatedApp, ...entries: EntryRow[]) {
  const client = await app.deps.writePool.connect()
  try {
    return await appendEntries(client, entries)
  } finally {
    client.release()
  }
}

/** Appends the offered step. Returns the record and the entry's seq. */
async function take(app: GatedApp, peer: TestPeer, id: string, step: Offer['step'], changes?: Changes) {
  const { offer, envelope } = await makeOffer(app, peer, id, step, changes)
  const entry = await build(app, id, offer)
  const [answer] = await append(app, entry)
  assert.equal(answer!.outcome, 'appended')
  return { record: await app.get(id), seq: answer!.seq, entry, offer, envelope }
}

async function assertRefused(
  app: GatedApp,
  peer: TestPeer,
  id: string,
  step: Offer['step'],
  code: string,
  changes: Changes = {},
  now = app.deps.now,
): Promise<ApiError> {
  const { offer } = await makeOffer(app, peer, id, step, changes)
  const error = await build(app, id, offer, now).then(
    () => assert.fail(`nobody refused ${JSON.stringify(changes)}`),
    (refused) => refused as ApiError,
  )
  assert.ok(error instanceof ApiError, error)
  assert.equal(error.code, code, error.message)
  return error
}

const shared = (peer: TestPeer, documents = 'whole') => ({ share: [{ peer: peer.peer, documents }] })
const remote = (peer: TestPeer) => ({ ...shared(peer), performer: peer.agent })
test('a step that a remote performer offers', async (t) => {
  const app = await lendGatedApp(t)
  const peer = await addPeer(app)
  const other = await addPeer(app)

  await t.test('is the home’s own entry, by the remote agent, without a key, naming the offer', async () => {
    const { id, digest, entry: created } = await app.create(remote(peer))
    const activated = await take(app, peer, id, 'record-activated')
    assert.deepEqual(
      [activated.record.state, activated.record.version, activated.record.entry.seq],
      ['ACTIVE', 2, activated.seq],
    )
    const submitted = await take(app, peer, id, 'completion-submitted')
    const cmp = submitted.offer.completion!
    const about = { name: id, sha256: digest }
    for (const [{ entry, offer }, said] of [
      [activated, { version: 2, previous: created.leaf, from: 'CREATED', to: 'ACTIVE' }],
      [
        submitted,
        {
          version: 3,
          previous: activated.record.entry.leaf,
          from: 'ACTIVE',
          to: 'SUBMITTED',
          completion: cmp.id,
        },
      ],
    ] as const) {
      const { kind, subjects, key, predicate } = parseStatement(parseEnvelope(entry.envelope).payload)
      const { recordedAt: _, ...others } = predicate
      assert.deepEqual([kind, key], [offer.step, null])
      assert.deepEqual(others, {
        ledger: app.ledger.ledger.id,
        actor: peer.agent,
        record: id,
        offer: { peer: peer.peer, ledger: peer.ledger, seq: offer.seq, leaf: offer.leaf },
        ...said,
      })
      const evidence = { name: cmp.id, sha256: cmp.evidence.digest }
      assert.deepEqual(subjects, kind === 'completion-submitted' ? [about, evidence] : [about])
    }
  })

  await t.test('is stored with the offer, and shown with its agent', async () => {
    const { id } = await app.create(remote(peer))
    await take(app, peer, id, 'record-activated')
    const { record, seq, offer, envelope, entry } = await take(app, peer, id, 'completion-submitted')
    const [columns] = await app.sql<Json>(
      `select e.actor_id, e.key_id, r.peer_id, r.remote_seq::int4, r.kind, r.record_id, r.version, r.leaf, r.envelope
       from tallystick.entries e join tallystick.received_entries r using (ledger_id, seq) where e.leaf = $1`,
      [entry.leaf],
    )
    assert.deepEqual(columns, {
      actor_id: remoteAgentId(nativeProviders.sha256, peer.agent),
      key_id: null,
      peer_id: peer.peerId,
      remote_seq: offer.seq,
      kind: 'step-offered',
      record_id: parseId('rec', id),
      version: null,
      leaf: Buffer.from(offer.leaf, 'hex'),
      envelope,
    })
    const { recordedAt: _, ...completion } = record.gated.completion
    assert.deepEqual(completion, {
      id: offer.completion!.id,
      by: peer.agent,
      seq,
      evidence: PASSING,
      salt: SALT,
      digest: digestOf(SALT, PASSING),
      erasedBy: null,
    })
    assert.equal(record.gated.performer, peer.agent)
  })

  await t.test('is verified by the worker and judged by the principal like any other step', async () => {
    const { id } = await app.create(remote(peer))
    await take(app, peer, id, 'record-activated')
    await take(app, peer, id, 'completion-submitted', { evidence: FAILING })
    assert.equal((await app.verify(id)).state, 'DISCREPANT')
    await app.take(id, 'revision')
    await take(app, peer, id, 'completion-submitted')
    assert.equal((await app.verify(id)).state, 'VERIFIED')
    const { state, gated } = await app.take(id, 'verdict', { body: { verdict: 'reject' } })
    assert.deepEqual([state, gated.verdict.by], ['REJECTED', app.agents.principal.id])
    assert.equal((await app.take(id, 'overturn')).state, 'ACCEPTED')
    const auto = await app.create({ ...remote(peer), gate: 'auto' })
    await take(app, peer, auto.id, 'record-activated')
    await take(app, peer, auto.id, 'completion-submitted')
    assert.equal((await app.verify(auto.id)).state, 'ACCEPTED')
  })

  await t.test('on an open record makes the offering agent its performer', async () => {
    const { id } = await app.create({
      performer: undefined,
      share: [...shared(peer).share, ...shared(other).share],
    })
    const { record } = await take(app, peer, id, 'record-activated')
    assert.equal(record.gated.performer, peer.agent)
    await assertRefused(app, other, id, 'completion-submitted', 'not_entitled')
    const problem = assertProblem(await app.step(id, 'completions', { as: 'gateway' }), 403, 'not_entitled')
    assert.equal(problem['role'], 'performer')
    await take(app, peer, id, 'completion-submitted')
    const replayed = await app.send('GET', `/v1/records?performer=${encodeURIComponent(peer.agent)}&limit=1`)
    assert.equal(expectStatus(200, replayed).json().data[0].id, id)
  })

  await t.test('is refused with not_entitled for peers without a share, and for other agents', async () => {
    const named = await app.create(remote(peer))
    const colleague = `${peer.ledger}/${formatId('agt', app.deps.entropy.uuidv7(Date.now()))}`
    const error = await assertRefused(app, peer, named.id, 'record-activated', 'not_entitled', {
      agent: colleague,
    })
    assert.equal(error.members['role'], 'performer')
    const local = await app.create(shared(peer))
    await assertRefused(app, peer, local.id, 'record-activated', 'not_entitled')
    const open = await app.create({ performer: undefined, ...shared(peer) })
    await assertRefused(app, other, open.id, 'record-activated', 'not_entitled')
    const alone = await app.create({ performer: undefined })
    await assertRefused(app, peer, alone.id, 'record-activated', 'not_entitled')
    const notarized = await app.notarize()
    await assertRefused(app, peer, notarized.id, 'record-activated', 'not_entitled')
  })

  await t.test('is refused if the state does not allow the step', async () => {
    const { id } = await app.create(remote(peer))
    await assertRefused(app, peer, id, 'completion-submitted', 'state_conflict')
    await take(app, peer, id, 'record-activated')
    const again = await assertRefused(app, peer, id, 'record-activated', 'state_conflict')
    assert.deepEqual(again.members['nextEvents'], ['completion-submitted', 'record-cancelled'])
    await app.take(id, 'cancel')
    await assertRefused(app, peer, id, 'completion-submitted', 'state_conflict')
  })

  await t.test('is refused with state_conflict if its version or previous entry is wrong', async () => {
    const { id } = await app.create(remote(peer))
    for (const changes of [{ version: 1 }, { version: 3 }, { previous: '00'.repeat(32) }])
      await assertRefused(app, peer, id, 'record-activated', 'state_conflict', changes)
  })

  await t.test('must come before the deadline, by the clocks of the home and of the database', async () => {
    const deadline = new Date(Date.now() + 600).toISOString()
    const { id } = await app.create({ ...remote(peer), deadline })
    const late = () => Date.parse(deadline)
    const refused = await assertRefused(app, peer, id, 'record-activated', 'deadline_passed', {}, late)
    assert.deepEqual(refused.members['nextEvents'], ['record-cancelled', 'record-expired'])
    const { offer } = await makeOffer(app, peer, id, 'record-activated')
    const entry = await build(app, id, offer, () => Date.parse(deadline) - 1)
    await app.sql('select pg_sleep_until($1)', [deadline])
    assert.equal((await append(app, entry))[0]!.outcome, 'refused_deadline')
    await assertRefused(app, peer, id, 'record-activated', 'deadline_passed')
  })

  await t.test('must have evidence that is valid for the type', async () => {
    const { id } = await app.create(remote(peer))
    await take(app, peer, id, 'record-activated')
    const refused = (code: string, changes: Changes) =>
      assertRefused(app, peer, id, 'completion-submitted', code, changes)
    const { members } = await refused('evidence_invalid', { evidence: { quantity: 'many' } })
    assert.equal(members['path'], '/quantity')
    await refused('evidence_invalid', { evidence: ['quantity'] })
    await refused('document_too_large', { evidence: { quantity: 1, text: 'x'.repeat(DOCUMENT_BYTES_MAX) } })
    const task = await app.create({ type: 'task/1', payload: {}, ...remote(peer) })
    await take(app, peer, task.id, 'record-activated')
    await assertRefused(app, peer, task.id, 'completion-submitted', 'evidence_invalid', { evidence: [] })
    await take(app, peer, task.id, 'completion-submitted', { evidence: { whatever: 1 } })
  })

  await t.test(
    'is refused with weak_salt if a peer sees only digests and the salt is guessable',
    async () => {
      const salt = Buffer.alloc(16).toString('base64url')
      const both = await app.create({
        ...remote(peer),
        share: [...shared(peer).share, ...shared(other, 'digests').share],
      })
      const whole = await app.create(remote(peer))
      for (const { id } of [both, whole]) await take(app, peer, id, 'record-activated')
      await assertRefused(app, peer, both.id, 'completion-submitted', 'weak_salt', { salt })
      await take(app, peer, whole.id, 'completion-submitted', { salt })
    },
  )

  await t.test('must have a completion id derived from ledger, record, version and digest', async () => {
    const { gated } = await app.reach('SUBMITTED')
    const { id } = await app.create(remote(peer))
    await take(app, peer, id, 'record-activated')
    const elsewhere = (await app.create(remote(peer))).id
    const made = (changes: object) => completionIdOf(peer, { record: id, version: 3, ...changes })
    for (const completion of [
      gated.completion.id,
      `cmp_${id.slice(4)}`,
      formatId('cmp', app.deps.entropy.uuidv7(Date.now())),
      made({ record: elsewhere }),
      made({ version: 5 }),
      made({ ledger: other.ledger }),
      made({ digest: digestOf(SALT, FAILING) }),
    ])
      await assertRefused(app, peer, id, 'completion-submitted', 'invalid_request', { completion })
    const first = await take(app, peer, id, 'completion-submitted')
    await app.verify(id)
    await app.take(id, 'revision')
    const { id: used } = first.offer.completion!
    await assertRefused(app, peer, id, 'completion-submitted', 'invalid_request', { completion: used })
    await take(app, peer, id, 'completion-submitted')
  })

  await t.test('of two for one version one is taken', async () => {
    const { id } = await app.create({
      performer: undefined,
      share: [...shared(peer).share, ...shared(other).share],
    })
    const offers = await Promise.all(
      [peer, other].map(async (one) => (await makeOffer(app, one, id, 'record-activated')).offer),
    )
    const entries = await Promise.all(offers.map((offer) => build(app, id, offer)))
    const outcomes = (await append(app, ...entries)).map(({ outcome }) => outcome)
    assert.deepEqual(outcomes, ['appended', 'again'])
    await assert.rejects(build(app, id, offers[1]!), { code: 'not_entitled' })
  })

  await t.test('loses against an earlier cancellation with state_conflict', async () => {
    const { id } = await app.create(remote(peer))
    const { offer } = await makeOffer(app, peer, id, 'record-activated')
    const entry = await build(app, id, offer)
    await app.take(id, 'cancel')
    assert.notEqual((await append(app, entry))[0]!.outcome, 'appended')
    await assert.rejects(build(app, id, offer), { code: 'state_conflict' })
  })

  await t.test(
    'is not judged if the performer’s columns contradict the signed entry: integrity_fault',
    async () => {
      const { id } = await app.create(remote(peer))
      await take(app, peer, id, 'record-activated')
      await take(app, peer, id, 'completion-submitted')
      await app.verify(id)
      const recordId = parseId('rec', id)
      const setPerformer = (column: string, value: string) =>
        app.sql(`update tallystick.gated_records set ${column} = $1 where record_id = $2`, [value, recordId])
      await app.sql('alter table tallystick.gated_records disable trigger user')
      const [row] = await app.sql<{ performer_id: string }>(
        'select performer_id from tallystick.gated_records where record_id = $1',
        [recordId],
      )
      for (const [column, value, right] of [
        ['performer_id', parseId('agt', app.agents.performer.id), row!.performer_id],
        ['performer_remote', other.agent, peer.agent],
      ] as const) {
        await setPerformer(column, value)
        assertProblem(await app.step(id, 'verdict'), 500, 'integrity_fault')
        await setPerformer(column, right)
      }
      await app.sql('alter table tallystick.gated_records enable trigger user')
      assert.equal((await app.take(id, 'verdict')).state, 'ACCEPTED')
    },
  )

  await t.test('leaves a ledger that passes checkLedger', async () => {
    const client = await connect(t, app.database.superuserUrl)
    assert.ok((await checkLedger(client, parseId('led', app.ledger.ledger.id))) > 60)
  })
})
