import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fromBase64Url, utf8Encode } from '../../src/proof/bytes.ts'
import { canonicalize } from '../../src/proof/json/jcs.ts'
import { parseEntryProof } from '../../src/proof/offline/entry-proof.ts'
import { verifyProof } from '../../src/proof/offline/verify-proof.ts'
import { verifyRecord } from '../../src/proof/offline/verify-record.ts'
import { documentDigest } from '../../src/proof/statement/document.ts'
import { nativeProviders } from '../../src/signing/native.ts'
import { expectStatus, type SendOptions, type TestApp } from '../helpers/app.ts'
import { assertProblem } from '../helpers/assert-problem.ts'
import { makePublish } from '../helpers/checkpoints.ts'
import { movedCursor } from '../helpers/cursors.ts'
import { buildGatedApp, type GatedApp, PAYLOAD, sharedGatedApp } from '../helpers/gated-app.ts'
import { runCli } from '../helpers/run-cli.ts'
import { temporaryFiles } from '../helpers/temporary-files.ts'

const STATES = [
  'CREATED',
  'ACTIVE',
  'SUBMITTED',
  'VERIFIED',
  'DISCREPANT',
  'ACCEPTED',
  'REJECTED',
  'CANCELLED',
]
const DELIVERY = { type: 'delivery/1', payload: PAYLOAD }

async function list(app: TestApp, query: Record<string, string> = {}, options: SendOptions = {}) {
  const response = await app.send('GET', `/v1/records?${new URLSearchParams(query)}`, options)
  return idsOf(expectStatus(200, response).json().data)
}

const idsOf = (records: readonly { id: string }[]) => records.map(({ id }) => id)

async function read(app: TestApp, path: string, options: SendOptions = {}) {
  return expectStatus(200, await app.send('GET', path, options)).json()
}

async function takeAllSteps(app: GatedApp, body: object = {}) {
  const { id } = await app.create(body)
  await app.take(id, 'activate')
  await app.take(id, 'completions')
  await app.verify(id)
  await app.take(id, 'revision')
  await app.take(id, 'completions', { body: { evidence: { quantity: 94, currency: 'EUR' } } })
  await app.verify(id)
  await app.take(id, 'verdict', { body: { verdict: 'reject', reason: 'too few' } })
  await app.take(id, 'overturn')
  return app.get(id)
}

test('finds gated records by state, performer and principal', async () => {
  const app = await sharedGatedApp()
  const { principal, performer, stranger, gateway } = app.agents
  const notarized = await app.notarize()
  const reached = new Map<string, string>()
  for (const state of STATES) reached.set(state, (await app.reach(state)).id)
  const forStranger = await app.create({ onBehalfOf: stranger.id }, { as: 'gateway' })
  const open = await app.create({ performer: undefined }, { as: 'gateway' })
  const ofPrincipal = [...reached.values()].reverse()

  for (const [state, id] of reached)
    assert.deepEqual(await list(app, { state, principal: principal.id }), [id], state)
  assert.deepEqual(await list(app, { state: 'RECORDED' }), [notarized.id])
  assert.deepEqual(await list(app, { state: 'EXPIRED' }), [])
  assert.deepEqual(await list(app, { performer: performer.id }), [forStranger.id, ...ofPrincipal])
  assert.deepEqual(await list(app, { performer: stranger.id }), [])
  assert.deepEqual(await list(app, { principal: principal.id }), ofPrincipal, 'what was notarized has none')
  assert.deepEqual(await list(app, { principal: stranger.id }), [forStranger.id])
  assert.deepEqual(await list(app, { principal: gateway.id }), [open.id], 'not what it made for others')
  assert.deepEqual(await list(app, { performer: performer.id, state: 'CREATED' }), [
    forStranger.id,
    reached.get('CREATED'),
  ])
  await app.take(open.id, 'activate', { as: 'stranger' })
  assert.deepEqual(await list(app, { performer: stranger.id, state: 'ACTIVE' }), [open.id])
})

test('a key with records:read:own finds each record of its agent once, as principal or performer', async () => {
  const app = await sharedGatedApp()
  const both = await app.addAgent('both', ['records:read:own', 'records:write', 'agents:act'])
  const performed = await app.create({ performer: both.id })
  const made = await app.create({}, { as: both })
  // The agent creates the record on behalf of another agent and performs it.
  const forOther = { onBehalfOf: app.agents.stranger.id, performer: both.id }
  const forOtherByItself = await app.create(forOther, { as: both })
  const open = await app.create({ performer: undefined })
  const other = await app.create()
  const { key } = both

  assert.deepEqual(await list(app, {}, { key }), [forOtherByItself.id, made.id, performed.id])
  assert.deepEqual(await list(app, { type: 'delivery/1', order: 'asc' }, { key }), [
    performed.id,
    made.id,
    forOtherByItself.id,
  ])
  for (const path of ['', '/entries', '/tree']) {
    await read(app, `/v1/records/${performed.id}${path}`, { key })
    for (const { id } of [other, open])
      assertProblem(await app.send('GET', `/v1/records/${id}${path}`, { key }), 404, 'not_found')
  }
  await app.take(open.id, 'activate', { as: both })
  assert.equal((await list(app, {}, { key }))[0], open.id, 'its own from its activation on')
})

test('shows each entry of a record with the document of its step', async () => {
  const app = await sharedGatedApp()
  const record = await takeAllSteps(app)
  const { data, nextCursor } = await read(app, `/v1/records/${record.id}/entries`)
  assert.equal(nextCursor, null)
  const shown = data.map(
    (entry: { kind: string; document: { subject: string; document: unknown } | null }) => [
      entry.kind,
      entry.document?.subject.replace(/_[^/]*/, ''),
      entry.document?.document,
    ],
  )
  assert.deepEqual(
    shown.map(([kind, subject]: string[]) => [kind, subject]),
    [
      ['record-created', undefined],
      ['record-activated', undefined],
      ['completion-submitted', 'cmp'],
      ['completion-verified', 'cmp/values'],
      ['revision-requested', 'rec/reason'],
      ['completion-submitted', 'cmp'],
      ['completion-verified', 'cmp/values'],
      ['verdict-rendered', 'rec/reason'],
      ['verdict-overturned', 'rec/reason'],
    ],
  )
  assert.deepEqual(shown[2][2], { quantity: 100, currency: 'EUR' }, 'evidence of the first round')
  assert.equal(shown[4][2], 'the labels are missing')
  assert.deepEqual(
    { ...data[5].document, seq: data[5].seq },
    {
      subject: record.gated.completion.id,
      digest: record.gated.completion.digest,
      salt: record.gated.completion.salt,
      document: record.gated.completion.evidence,
      erasedBy: null,
      seq: record.gated.completion.seq,
    },
  )
  for (const { envelope, document } of data.filter((entry: { document: unknown }) => entry.document)) {
    const salted = utf8Encode(canonicalize(document.document))
    const digest = documentDigest(nativeProviders.sha256, fromBase64Url(document.salt), salted)
    assert.equal(Buffer.from(digest).toString('hex'), document.digest)
    const statement = Buffer.from(envelope, 'base64').toString('latin1')
    assert.ok(statement.includes(`{"name":"${document.subject}","digest":{"sha256":"${document.digest}"}}`))
  }
})

test('shows only the digest of an erased document, as soon as its entry is written', async () => {
  const app = await sharedGatedApp()
  const { id, gated } = await takeAllSteps(app)
  const path = `/v1/records/${id}/entries`
  const before = (await read(app, path)).data
  const earlier = before[2].document
  const response = await app.send('DELETE', `/v1/records/${id}/completions/${earlier.subject}/evidence`, {
    body: { code: 'requested' },
  })
  const erasedBy = expectStatus(202, response).json().erasure.entry.seq
  const { data } = await read(app, path)
  assert.deepEqual(data[2].document, { ...earlier, salt: null, document: null, erasedBy })
  assert.notEqual(gated.completion.id, earlier.subject)
  assert.deepEqual(data.toSpliced(2, 1), before.toSpliced(2, 1), 'nothing else')
})

test('pages a record’s entries while new entries are written', async () => {
  const app = await sharedGatedApp()
  const { id } = await app.reach('VERIFIED')
  const path = `/v1/records/${id}/entries`
  const first = await read(app, `${path}?limit=3`)
  await app.take(id, 'verdict')
  const second = await read(app, `${path}?limit=3&cursor=${first.nextCursor}`)
  assert.deepEqual([...first.data, ...second.data], (await read(app, path)).data)
  assert.deepEqual([first.data.length, second.data.length, second.nextCursor], [3, 2, null])
  for (const place of [[0], [-1], [2 ** 31], ['1'], [1.5], []]) {
    const cursor = movedCursor(first.nextCursor, place)
    assertProblem(await app.send('GET', `${path}?cursor=${cursor}`), 422, 'invalid_request')
  }
})

test('a tree shows each agent only its own part of a delegation', async () => {
  const app = await sharedGatedApp()
  const { performer, stranger } = app.agents
  const order = await app.create()
  await app.take(order.id, 'activate')
  const part = await app.create({ parent: order.id, performer: stranger.id }, { as: 'performer' })
  const proof = await app.notarize({ type: 'generic/1', payload: {}, parent: part.id }, { key: stranger.key })

  const tree = await read(app, `/v1/records/${part.id}/tree`)
  assert.deepEqual(
    [tree.record, tree.ancestors, tree.children.data],
    [part, [await app.get(order.id)], [proof]],
  )
  const seenBy = async (key: string, id: string) => {
    const { ancestors, children } = await read(app, `/v1/records/${id}/tree`, { key })
    return [idsOf(ancestors), idsOf(children.data)]
  }
  assert.deepEqual(await seenBy(performer.key, part.id), [[order.id], []])
  assert.deepEqual(await seenBy(stranger.key, part.id), [[], [proof.id]])
  assert.deepEqual(await seenBy(stranger.key, proof.id), [[part.id], []])
  assertProblem(
    await app.send('GET', `/v1/records/${order.id}/tree`, { key: stranger.key }),
    404,
    'not_found',
  )
})

test('gated records have the same maximum depth below their first ancestor as others', async () => {
  const app = await sharedGatedApp()
  let parent: string | undefined
  for (let depth = 1; depth <= 16; depth++) parent = (await app.create({ ...(parent && { parent }) })).id
  assert.equal((await read(app, `/v1/records/${parent}/tree`)).ancestors.length, 15)
  const before = await app.written()
  const create = (body: object) => app.send('POST', '/v1/records', { body: { ...DELIVERY, ...body } })
  assertProblem(await create({ parent }), 422, 'parent_too_deep')
  assertProblem(await create({ parent: 'rec_00000000000000000000000000' }), 422, 'unknown_parent')
  assert.deepEqual(await app.written(), before)
})

test('every step has a proof that verifies with the record, also for the performer', async (t) => {
  const app = await buildGatedApp(t)
  const publish = await makePublish(t, app)
  const terms = {
    deadline: '2096-11-20T12:00:00Z',
    tolerances: { quantity: { percent: '7' } },
    maxRevisions: 7,
  }
  const { id } = await takeAllSteps(app, terms)
  await publish()
  const { data } = await read(app, `/v1/records/${id}/entries`)
  const { body: record } = await app.send('GET', `/v1/records/${id}`)
  const trust = { kids: [], noteKey: null, storedCheckpoints: [], consistency: null }
  const { key } = app.agents.performer
  for (const { seq, kind } of data) {
    const url = `/v1/records/${id}/proof?seq=${seq}`
    const { body } = expectStatus(200, await app.send('GET', url, { key }))
    const proof = verifyProof(parseEntryProof(body), trust, nativeProviders)
    assert.deepEqual([proof.seq, proof.statement.kind], [seq, kind])
    // These entries have documents of the first round, which the record no longer shows.
    if (seq === data[2].seq || seq === data[3].seq)
      assert.throws(() => verifyRecord(record, proof, nativeProviders), /record_contradicts_proof/)
    else verifyRecord(record, proof, nativeProviders)
  }
  const stranger = { key: app.agents.stranger.key }
  assertProblem(await app.send('GET', `/v1/records/${id}/proof`, stranger), 404, 'not_found')
})

test('tallystick verify accepts the proof of a verdict with its record, and refuses a contradicting record', async (t) => {
  const app = await buildGatedApp(t)
  const publish = await makePublish(t, app)
  const record = await app.reach('REJECTED')
  await publish()
  const proof = await app.send('GET', `/v1/records/${record.id}/proof?seq=${record.gated.verdict.seq}`)
  const files = temporaryFiles(t)
  const verify = async (shown: object) => {
    const given = ['--proof', files.write('proof.json', proof.body)]
    const { code, stdout } = await runCli([
      'verify',
      ...given,
      '--record',
      files.write('record.json', JSON.stringify(shown)),
    ])
    return [code, stdout]
  }
  const [code, found] = await verify(record)
  assert.equal(code, 0)
  assert.match(`${found}`, /^PROOF_OK .* kind=verdict-rendered .* record=same signal=HOLD version=5$/m)
  const signal = { ...record.gated.verdict.signal, decision: 'SETTLE' }
  const verdict = { ...record.gated.verdict, verdict: 'accept', signal }
  const [refused, reason] = await verify({ ...record, gated: { ...record.gated, verdict } })
  assert.equal(refused, 1)
  assert.match(`${reason}`, /^PROOF_FAILED code=record_contradicts_proof /m)
})
