import assert from 'node:assert/strict'
import { test } from 'node:test'
import { appendEntries } from '../../../src/db/chain/append-entries.ts'
import { constraintOf } from '../../../src/db/connect/constraints.ts'
import { toHex } from '../../../src/proof/bytes.ts'
import { formatId, parseId, type Uuid } from '../../../src/proof/ids.ts'
import { canonicalize } from '../../../src/proof/json/jcs.ts'
import { documentDigest } from '../../../src/proof/statement/document.ts'
import { nativeProviders } from '../../../src/signing/native.ts'
import { expectStatus } from '../../helpers/app.ts'
import { assertProblem } from '../../helpers/assert-problem.ts'
import { connect } from '../../helpers/connect.ts'
import { openEraser } from '../../helpers/eraser.ts'
import { type GatedApp, STEP_BODIES, STEP_NAMES, sharedGatedApp } from '../../helpers/gated-app.ts'
import { openEnvelope } from '../../helpers/open-envelope.ts'
import type { TestDocument } from '../../helpers/test-chain.ts'
import { addTestHome, type HomeRecord, type ShareOptions, type TestHome } from '../../helpers/test-home.ts'
import { adminEntry } from '../../helpers/test-ledger.ts'
import { lockHeads, until } from '../../helpers/wait.ts'

type Guest = GatedApp & { readonly home: TestHome }

async function buildGuest(): Promise<Guest> {
  const app = await sharedGatedApp()
  return Object.assign(app, { home: await addTestHome(app) })
}

function shareWithPerformer(app: Guest, options: ShareOptions = {}): Promise<HomeRecord> {
  return app.home.share({ performer: app.agents.performer.id, ...options })
}

/** Offers the step. Fails unless the status is 202. */
async function offer(app: Guest, id: string, step: 'activate' | 'completions', options = {}) {
  return expectStatus(202, await app.step(id, step, options)).json().gated.offer
}

/** Makes a record that is ACTIVE, because the home has accepted the performer's offer to activate it. */
async function shareActive(app: Guest, options: ShareOptions = {}): Promise<HomeRecord> {
  const record = await shareWithPerformer(app, options)
  await record.activate({ offerSeq: (await offer(app, record.id, 'activate')).seq })
  return record
}

async function evidenceOf(app: Guest, seq: number): Promise<TestDocument> {
  const [row] = await app.sql<{ digest: Buffer; salt: Buffer; content: Buffer; subject_id: Uuid }>(
    'select * from tallystick.documents where ledger_id = $1 and seq = $2',
    [app.ledgerId, seq],
  )
  return {
    subject: formatId('cmp', row!.subject_id),
    digest: row!.digest.toString('hex'),
    salt: row!.salt.toString('base64url'),
    document: JSON.parse(row!.content.toString('utf8')),
    erasedBy: null,
  }
}

test('an offer of a step of a record of another ledger', async (t) => {
  const app = await buildGuest()
  const { performer } = app.agents
  const record = await shareWithPerformer(app)
  const { keys } = (await app.send('GET', '/.well-known/tallystick-keys.json')).json()
  const signedAt = async (seq: number) => openEnvelope((await app.entries())[seq].envelope, keys).statement

  await t.test('is one signed entry, which leaves the record’s state unchanged', async () => {
    const before = await app.get(record.id)
    const seq = (await app.entries()).length
    const response = expectStatus(202, await app.step(record.id, 'activate'))
    const { gated, ...others } = response.json()
    const { recordedAt } = gated.offer
    assert.equal(response.headers['etag'], '"1"')
    const { gated: _, ...othersBefore } = before
    assert.deepEqual(others, othersBefore)
    assert.deepEqual(gated.offer, {
      state: 'pending',
      step: 'record-activated',
      version: 2,
      completion: null,
      by: performer.id,
      recordedAt,
      seq,
      code: null,
      decidedBy: null,
    })
    assert.deepEqual(await app.get(record.id), response.json())
    const { subject, predicate, predicateType } = await signedAt(seq)
    assert.match(predicateType, /step-offered/)
    assert.deepEqual(subject, [{ name: record.id, digest: { sha256: record.payload.digest } }])
    const { key, ...said } = predicate
    assert.match(key, /^key_/)
    assert.deepEqual(said, {
      ledger: app.ledger.ledger.id,
      actor: performer.id,
      recordedAt,
      peer: app.home.peer,
      record: record.id,
      step: 'record-activated',
      version: 2,
      previous: record.last().leaf,
    })
  })

  await t.test('is taken when the home’s entry arrives', async () => {
    const { seq } = (await app.get(record.id)).gated.offer
    await record.activate({ offerSeq: seq })
    const { state, version, gated, entry } = await app.get(record.id)
    assert.deepEqual([state, version, gated.performer], ['ACTIVE', 2, performer.id])
    assert.deepEqual([gated.offer.state, gated.offer.decidedBy], ['taken', entry.seq])
  })

  await t.test('of a completion signs its evidence, without checking the type’s schema', async () => {
    const evidence = { anything: ['at', 'all'] }
    const offered = await offer(app, record.id, 'completions', { body: { evidence } })
    const { subject, predicate } = await signedAt(offered.seq)
    const document = await evidenceOf(app, offered.seq)
    assert.deepEqual(document.document, evidence)
    assert.equal(digestOf(document), document.digest)
    assert.deepEqual(subject[1], { name: offered.completion, digest: { sha256: document.digest } })
    assert.deepEqual(
      [predicate.completion, predicate.step, predicate.version, predicate.previous],
      [offered.completion, 'completion-submitted', 3, record.last().leaf],
    )
    assert.equal((await app.get(record.id)).gated.completion, null)
    await record.submit({ offerSeq: offered.seq }, document)
    const { completion } = (await app.get(record.id)).gated
    assert.deepEqual(
      [completion.id, completion.evidence, completion.salt, completion.by],
      [offered.completion, evidence, document.salt, performer.id],
    )
  })

  await t.test('can be repeated after the home has refused the first', async () => {
    const other = await shareWithPerformer(app)
    const first = await offer(app, other.id, 'activate')
    await other.refuse(first.seq, 'deadline_passed')
    const refused = (await app.get(other.id)).gated.offer
    assert.deepEqual([refused.state, refused.code, refused.seq], ['refused', 'deadline_passed', first.seq])
    assert.equal((await app.entries())[refused.decidedBy].kind, 'entry-received')
    const again = await offer(app, other.id, 'activate')
    assert.deepEqual([again.state, again.code, again.decidedBy], ['pending', null, null])
    assert.ok(again.seq > first.seq)
  })

  await t.test('can be made for another agent by a key that may act for others', async () => {
    const other = await shareWithPerformer(app)
    const body = { onBehalfOf: performer.id }
    const offered = await offer(app, other.id, 'activate', { as: 'gateway', body })
    assert.equal(offered.by, performer.id)
    const { predicate } = await signedAt(offered.seq)
    assert.deepEqual([predicate.actor, predicate.onBehalfOf], [app.agents.gateway.id, performer.id])
  })

  await t.test('can be made by any agent if the record names no performer', async () => {
    const open = await app.home.share()
    const offered = await offer(app, open.id, 'activate', { as: 'stranger' })
    await open.activate({ offerSeq: offered.seq })
    assert.equal((await app.get(open.id)).gated.performer, app.agents.stranger.id)
    assertProblem(await app.step(open.id, 'completions'), 404, 'not_found')
  })
})

function digestOf({ document, salt }: TestDocument): string {
  const text = Buffer.from(canonicalize(document))
  return toHex(documentDigest(nativeProviders.sha256, Buffer.from(salt!, 'base64url'), text))
}

test('an offer is refused, and nothing written,', async (t) => {
  const app = await buildGuest()
  const created = await shareWithPerformer(app)
  const active = await shareActive(app)
  const refused = async (
    [status, code]: [number, string],
    id: string,
    step: 'activate' | 'completions',
    options: object = {},
  ) => {
    const before = await app.written()
    const problem = assertProblem(await app.step(id, step, options), status, code)
    assert.deepEqual(await app.written(), before)
    return problem
  }

  await t.test('if the step belongs to another agent', async () => {
    const gateway = { as: 'gateway' }
    for (const [id, step] of [
      [created.id, 'activate'],
      [active.id, 'completions'],
    ] as const) {
      assert.equal((await refused([403, 'not_entitled'], id, step, gateway))['role'], 'performer')
      const body = { ...STEP_BODIES[step], onBehalfOf: app.agents.stranger.id }
      await refused([403, 'not_entitled'], id, step, { as: 'gateway', body })
    }
  })

  await t.test('for an agent that may not see the record, with the same 404 as for no record', async () => {
    const none = 'rec_01jegv5gyme05800000000000a'
    const [one, other] = [
      await refused([404, 'not_found'], created.id, 'activate', { as: 'stranger' }),
      await refused([404, 'not_found'], none, 'activate', { as: 'stranger' }),
    ]
    assert.equal(String(one['detail']).replace(created.id, none), other['detail'])
  })

  await t.test('where the record has another version, or its state does not allow the step', async () => {
    const headers = { 'if-match': '"2"' }
    const mismatch = await refused([412, 'version_mismatch'], created.id, 'activate', { headers })
    assert.deepEqual([mismatch['version'], mismatch['state']], [1, 'CREATED'])
    const conflict = await refused([409, 'state_conflict'], created.id, 'completions')
    assert.deepEqual(conflict['nextEvents'], ['record-activated', 'record-cancelled'])
    await refused([409, 'state_conflict'], active.id, 'activate')
    expectStatus(202, await app.step(active.id, 'completions', { headers }))
  })

  await t.test('while another offer waits for its decision', async () => {
    const { seq } = (await app.get(active.id)).gated.offer
    const problem = await refused([409, 'offer_pending'], active.id, 'completions')
    assert.deepEqual([problem['seq'], problem['retryable']], [seq, true])
  })

  await t.test(
    'if its evidence is too large, or its salt is guessable where only digests are shared',
    async () => {
      const secret = await shareActive(app, { documents: 'digests' })
      const salt = Buffer.alloc(16, 1).toString('base64url')
      const body = { evidence: {}, salt }
      await refused([422, 'weak_salt'], secret.id, 'completions', { body })
      const large = { body: { evidence: { text: 'x'.repeat(65_536) } } }
      await refused([422, 'document_too_large'], secret.id, 'completions', large)
      const open = await shareActive(app)
      expectStatus(202, await app.step(open.id, 'completions', { body }))
    },
  )

  await t.test('with `occurredAt`: 422 invalid_request', async () => {
    const body = { occurredAt: '2026-01-01T00:00:00Z' }
    const problem = await refused([422, 'invalid_request'], created.id, 'activate', { body })
    assert.equal(problem['path'], '/occurredAt')
  })

  await t.test('where the peering is not active', async () => {
    for (const state of ['suspended', 'revoked'] as const) {
      await app.home.setState(state)
      const problem = await refused([409, 'peer_not_active'], created.id, 'activate')
      assert.ok(String(problem['detail']).endsWith(state))
    }
    await app.home.setState('active')
    expectStatus(202, await app.step(created.id, 'activate'))
  })
})

test('any step other than activate and completions is refused with 409 not_home', async () => {
  const app = await buildGuest()
  const record = await shareActive(app)
  await record.submit({ offerSeq: (await offer(app, record.id, 'completions')).seq })
  await record.verify()
  const before = await app.written()
  for (const step of STEP_NAMES) {
    if (step === 'activate' || step === 'completions') continue
    const problem = assertProblem(await app.step(record.id, step), 409, 'not_home')
    assert.equal(problem['ledger'], app.home.ledger)
    const stranger = await app.addAgent(`stranger to ${step}`, ['records:write'])
    const answer = await app.step(record.id, step, { as: step === 'overturn' ? 'overturner' : stranger })
    assertProblem(answer, step === 'overturn' ? 409 : 404, step === 'overturn' ? 'not_home' : 'not_found')
  }
  const after = await app.written()
  assert.deepEqual(
    [after['received_entries'], after['offers']],
    [before['received_entries'], before['offers']],
  )
})

test('each Idempotency-Key makes one offer', async (t) => {
  const app = await buildGuest()
  const record = await shareWithPerformer(app)
  const headers = { 'idempotency-key': 'k-1' }
  const again = () => app.step(record.id, 'activate', { headers })
  const first = expectStatus(202, await again()).json()

  await t.test('while it waits', async () => {
    const before = await app.written()
    const replayed = expectStatus(202, await again())
    assert.equal(replayed.headers['idempotency-replayed'], 'true')
    assert.deepEqual(replayed.json(), first)
    assertProblem(await app.step(record.id, 'activate'), 409, 'offer_pending')
    assert.deepEqual(await app.written(), before)
  })

  await t.test('and a retry returns the current record', async () => {
    await record.activate({ offerSeq: first.gated.offer.seq })
    const before = await app.written()
    const replayed = expectStatus(202, await again())
    assert.deepEqual([replayed.headers['etag'], replayed.json().state], ['"2"', 'ACTIVE'])
    assert.deepEqual(replayed.json(), await app.get(record.id))
    await app.home.setState('revoked')
    expectStatus(202, await again())
    await app.home.setState('active')
    assert.deepEqual(await app.written(), before)
  })

  await t.test('another request with the key is refused with 422 idempotency_key_reused', async () => {
    const other = await shareWithPerformer(app)
    for (const id of [other.id, record.id]) {
      const body = id === record.id ? { onBehalfOf: undefined, evidence: {} } : {}
      const step = id === record.id ? 'completions' : 'activate'
      assertProblem(await app.step(id, step, { headers, body }), 422, 'idempotency_key_reused')
    }
  })
})

test('of concurrent offers one succeeds', async (t) => {
  const app = await buildGuest()

  await t.test('by any agents, the others get 409 offer_pending', async () => {
    const record = await app.home.share()
    const agents = ['performer', 'stranger', 'gateway', 'principal'] as const
    const answers = await Promise.all(
      [...agents, ...agents].map((as) => app.step(record.id, 'activate', { as })),
    )
    const made = answers.filter(({ statusCode }) => statusCode === 202)
    assert.equal(made.length, 1)
    for (const answer of answers) if (answer !== made[0]) assertProblem(answer, 409, 'offer_pending')
    const entries = await app.entries()
    assert.equal(entries.filter(({ kind }) => kind === 'step-offered').length, 1)
  })

  await t.test('and none if the peering ends meanwhile', async (t) => {
    const record = await shareWithPerformer(app)
    const size = (await app.entries()).length
    const release = await lockHeads(t, app.database.superuserUrl)
    const answer = app.step(record.id, 'activate')
    await until(async () => {
      const [row] = await app.sql<{ waiting: number }>(
        `select count(*)::int as waiting from pg_stat_activity where wait_event_type = 'Lock' and query ~ 'append_entries'`,
      )
      return row!.waiting > 0
    })
    await app.home.setState('suspended')
    await release()
    assertProblem(await answer, 409, 'peer_not_active')
    assert.equal((await app.entries()).length, size)
  })
})

test('offered evidence can be erased here', async (t) => {
  const app = await buildGuest()
  const eraser = openEraser(t, app)
  const contentsAt = async (seq: number) =>
    (
      await app.sql('select content, salt from tallystick.documents where ledger_id = $1 and seq = $2', [
        app.ledgerId,
        seq,
      ])
    )[0]!
  const eraseOf = (id: string, completion: string, headers: Record<string, string> = {}) =>
    app.send('DELETE', `/v1/records/${id}/completions/${completion}/evidence`, {
      body: { code: 'data_subject_request' },
      headers,
    })

  await t.test('not while the home decides: 409 offer_pending', async () => {
    const record = await shareActive(app)
    const { completion, seq } = await offer(app, record.id, 'completions')
    const before = await app.written()
    assert.equal(assertProblem(await eraseOf(record.id, completion), 409, 'offer_pending')['seq'], seq)
    assert.deepEqual(await app.written(), before)
  })

  await t.test('after a refusal', async () => {
    const record = await shareActive(app)
    const { completion, seq } = await offer(app, record.id, 'completions')
    await record.refuse(seq, 'evidence_invalid')
    const { erasure, remaining } = expectStatus(202, await eraseOf(record.id, completion)).json()
    assert.deepEqual(
      [erasure.document, erasure.documentSeq, erasure.completion],
      ['evidence', seq, completion],
    )
    assert.deepEqual(remaining, [])
    await eraser.run()
    assert.deepEqual(await contentsAt(seq), { content: null, salt: null })
    assertProblem(await eraseOf(record.id, completion), 409, 'already_ended')
  })

  await t.test('after acceptance, if the home sent only digests', async () => {
    const record = await shareActive(app, { documents: 'digests' })
    const { completion, seq } = await offer(app, record.id, 'completions')
    await record.submit({ offerSeq: seq }, await evidenceOf(app, seq))
    // The evidence is stored with the offer and shown from there.
    assert.deepEqual((await app.get(record.id)).gated.completion.evidence, STEP_BODIES.completions.evidence)
    const { erasure } = expectStatus(202, await eraseOf(record.id, completion)).json()
    const { evidence, salt, erasedBy } = (await app.get(record.id)).gated.completion
    assert.deepEqual([evidence, salt, erasedBy], [null, null, erasure.entry.seq])
    await eraser.run()
    assert.deepEqual(await contentsAt(seq), { content: null, salt: null })
  })

  await t.test('and, if the home sent the evidence back, only after the home has erased it', async () => {
    const record = await shareActive(app)
    const { completion, seq } = await offer(app, record.id, 'completions')
    const document = await evidenceOf(app, seq)
    await record.submit({ offerSeq: seq }, document)
    const submitted = record.last().seq
    const headers = { 'idempotency-key': 'erase-1' }
    assertProblem(await eraseOf(record.id, completion, headers), 409, 'not_home')
    await record.erase({ name: document.subject, sha256: document.digest }, submitted)
    assert.equal((await app.get(record.id)).gated.completion.evidence, null)
    const first = expectStatus(202, await eraseOf(record.id, completion, headers))
    const again = expectStatus(202, await eraseOf(record.id, completion, headers))
    assert.equal(again.headers['idempotency-replayed'], 'true')
    assert.deepEqual(again.json().erasure, first.json().erasure)
    await eraser.run()
    assert.deepEqual(await contentsAt(seq), { content: null, salt: null })
  })
})

test('the database refuses an offer without its evidence, and a second pending offer', async (t) => {
  const app = await buildGuest()
  const record = await shareActive(app)
  const client = await connect(t, app.database.apiUrl)
  const signer = await app.deps.signers.load()
  const ledger = {
    id: parseId('led', app.ledger.ledger.id),
    agentId: parseId('agt', app.ledger.agent.id),
    keyId: parseId('key', app.ledger.key.id),
    kid: Buffer.from(signer.kid),
  }
  const subjectId = parseId('rec', record.id)
  const [evidence, other] = [0, 1].map(() => ({
    name: 'evidence' as const,
    subjectId: app.deps.entropy.uuidv7(Date.now()),
    digest: Buffer.alloc(32, 1),
    salt: Buffer.alloc(16, 1),
    content: '{}',
  }))
  const make = (step: string, document: typeof evidence | undefined) => ({
    ...adminEntry(ledger, 'step-offered', subjectId, {
      peerId: parseId('peer', app.home.peer),
      version: 3,
      step,
      agentId: ledger.agentId,
    }),
    document,
  })
  const constraintFor = async (step: string, document: typeof evidence | undefined) =>
    appendEntries(client, [make(step, document)]).then(
      ([answer]) => answer!.outcome,
      (error) => constraintOf(error),
    )
  assert.equal(await constraintFor('completion-submitted', undefined), 'entries_make_documents')
  assert.equal(await constraintFor('record-activated', evidence), 'entries_make_documents')
  assert.equal(await constraintFor('completion-submitted', evidence), 'appended')
  assert.equal(await constraintFor('completion-submitted', other), 'offers_pending')
})

test('holds find offered evidence by the record’s type and by the offering agent', async () => {
  const app = await buildGuest()
  const record = await shareActive(app)
  const { seq } = await offer(app, record.id, 'completions')
  const [facts] = await app.sql(
    `select f.type, f.agents, r.type as expected from tallystick.keeping_facts($1, $2, $3, null, '{}') f
     join tallystick.remote_records r on r.ledger_id = $1 and r.record_id = $2`,
    [app.ledgerId, parseId('rec', record.id), seq],
  )
  const { type, agents, expected } = facts as { type: string; agents: Uuid[]; expected: string }
  assert.equal(type, expected)
  assert.ok(agents.includes(parseId('agt', app.agents.performer.id)))
})
