import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  ConflictError,
  InvalidRequestError,
  NotFoundError,
  SecretLostError,
  TallystickError,
  UsageError,
} from '../../sdk/errors.ts'
import type { Audit, Erasure } from '../../sdk/generated/api.ts'
import { operations } from '../../sdk/generated/operations.ts'
import { agentSigner } from '../../sdk/signing/index.ts'
import * as verify from '../../sdk/verify/index.ts'
import { makePublish } from '../helpers/checkpoints.ts'
import { DELIVERY, FAILING, PASSING, PAYLOAD } from '../helpers/gated-app.ts'
import { makeIssuer, signStatement } from '../helpers/signed-statements.ts'
import { addPeer } from '../helpers/test-peers.ts'
import { openTestWorker } from '../helpers/test-worker.ts'
import { until } from '../helpers/wait.ts'
import { setUpSdk } from './set-up.ts'

/**
 * Operations for which the SDK has no method. All other operations of /openapi.json are called below, so that no new
 * route is forgotten.
 */
const NOT_OF_THE_SDK: Readonly<Record<string, string>> = {
  postTraces: 'exporters of OpenTelemetry send it',
  postLogs: 'exporters of OpenTelemetry send it',
  getPredicatesByKindV1: 'for verifiers in other languages; this library has its own',
  getOpenapiJson: 'the source of this library',
  getRoot: 'for people',
  getTlogByLedgerCheckpoint: 'for clients of C2SP tlog-tiles',
  getTlogByLedgerTileByPath: 'for clients of C2SP tlog-tiles',
  getEntriesById: 'for clients of SCRAPI',
  getWellKnownScittKeys: 'for clients of SCRAPI',
  getWellKnownScittKeysByKid: 'for clients of SCRAPI',
  getDocs: 'for people',
  getDocsBaseJs: 'for people',
  getDocsScalarJs: 'for people',
}

/** Identity of a peer. The peer exists only as a row, not as a server. */
const IDENTITY = {
  ledger: `led_${'0'.repeat(26)}`,
  url: 'https://other.example',
  origin: `other.example/led_${'0'.repeat(26)}`,
  genesis: 'ab'.repeat(32),
  envelopeKey: { kid: 'cd'.repeat(32), alg: 'EdDSA', spki: 'AAAA' },
}

type Delivery = { readonly quantity: number; readonly currency: string }
type Types = { 'delivery/1': { payload: { readonly quantity: number }; evidence: Delivery } }

test('every operation of the server has a method that calls it', async (t) => {
  const sdk = await setUpSdk(t)
  const { app } = sdk
  const publish = await makePublish(t, app)
  const worker = openTestWorker(t, app)
  const called = new Set<string>()
  const recordingFetch: typeof fetch = (input, init) => {
    called.add(operationOf(init?.method ?? 'GET', new URL(input as URL).pathname))
    return fetch(input, init)
  }
  const client = sdk.client<Types>({ fetch: recordingFetch })
  const operator = sdk.operator({ fetch: recordingFetch })

  await t.test('server: health and published keys', async () => {
    assert.equal((await client.health.live()).status, 'ok')
    assert.equal((await client.health.ready()).status, 'ready')
    const { keys } = await client.keyDocument()
    assert.deepEqual(
      keys.map(({ use }) => use),
      ['envelope'],
    )
  })

  await t.test('ledger.get(): the ledger of the API key', async () => {
    const ledger = await client.ledger.get()
    assert.equal(ledger.id, app.ledger.ledger.id)
    assert.equal(ledger.key.id, app.ledger.key.id)
  })

  await t.test('checkpoints.latest() is null without a checkpoint, and does not wait', async () => {
    const before = Date.now()
    assert.equal(await client.checkpoints.latest(), null)
    assert.ok(Date.now() - before < 500, `it took ${Date.now() - before} ms`)
  })

  await t.test('agents', async () => {
    const agent = await client.agents.register({ name: 'buyer' })
    assert.deepEqual(await client.agents.get(agent.id), agent)
    assert.deepEqual(await client.agents.list({ name: 'buyer' }).toArray(10), [agent])
    const names: string[] = []
    for await (const { name } of client.agents.list({ limit: 1 })) names.push(name)
    assert.deepEqual(names, ['tester', 'buyer'])
    const signer = await agentSigner({ seed: new Uint8Array(32).fill(1) })
    const request = await signer.registration({ ledger: app.ledger.ledger.id, agent: agent.id })
    const key = await client.agents.registerSigningKey(agent.id, request)
    assert.deepEqual(await client.agents.listSigningKeys(agent.id).toArray(10), [key])
    assert.notEqual((await client.agents.revokeSigningKey(agent.id, key.kid)).revokedAt, null)
    assert.notEqual((await client.agents.disable(agent.id)).disabledAt, null)
    await assert.rejects(client.agents.disable(agent.id), (error) => {
      assert.ok(error instanceof ConflictError)
      assert.equal(error.code, 'already_ended')
      return true
    })
  })

  await t.test('keys', async () => {
    const { key, ...made } = await client.keys.create({ name: 'reader', scopes: ['records:read'] })
    assert.match(key, /^tly_/)
    assert.deepEqual(await client.keys.get(made.id), made)
    assert.deepEqual(await client.keys.list({ agent: made.agent }).toArray(10), [made])
    const rateLimit = { requestsPerSecond: 100, burst: 200 }
    assert.deepEqual(await client.keys.setRateLimit(made.id, rateLimit), { rateLimit })
    const otlp = { take: 'all', content: 'keep', rest: 'drop' } as const
    assert.deepEqual(await client.keys.setOtlp(made.id, otlp), { otlp })
    assert.deepEqual((await client.keys.get(made.id)).otlp, otlp)
    const rotated = await client.keys.rotate(made.id, { overlapSeconds: 60 })
    assert.notEqual(rotated.key, key)
    const reader = sdk.client({ apiKey: rotated.key })
    await assert.rejects(reader.records.notarize({ payload: {} }), /records:write/)
    assert.notEqual((await client.keys.revoke(made.id)).revokedAt, null)
  })

  await t.test('a repeated create with a lost secret fails with the key’s id, for a rotation', async () => {
    const losingFetch: typeof fetch = async (input, init) => {
      const response = await fetch(input, init)
      if (response.headers.has('idempotency-replayed')) return response
      throw new TypeError('the answer was lost')
    }
    const request = { name: 'lost', scopes: ['records:read' as const] }
    const error = await sdk
      .client({ fetch: losingFetch })
      .keys.create(request)
      .catch((thrown: unknown) => thrown)
    assert.ok(error instanceof SecretLostError, `${error}`)
    assert.match(error.message, /What to do: rotate key_\w+, to get a new secret$/)
    const { key, name } = await client.keys.rotate(error.id)
    assert.equal(name, 'lost')
    assert.deepEqual(await sdk.client({ apiKey: key }).records.list({ state: 'EXPIRED' }).toArray(1), [])
  })

  await t.test('types', async () => {
    const documents = { payload: PAYLOAD, evidence: FAILING }
    const planned = await client.types.previewDefinition(DELIVERY as never, documents)
    assert.equal(planned.outcome, 'fail')
    const type = await client.types.register(DELIVERY as never)
    assert.deepEqual(await client.types.get('delivery/1'), type)
    assert.deepEqual(await client.types.preview('delivery/1', documents), planned)
    const names = (await client.types.list({ name: 'delivery' }).page()).data.map((each) => each.type)
    assert.deepEqual(names, ['delivery/1'])
    for (const type of ['delivery', 'delivery/1/2', '/1', ''])
      await assert.rejects(client.types.get(type), UsageError)
  })

  await t.test('notarized records, single and in batches', async () => {
    const parent = await client.records.notarize({ payload: { n: 1 }, references: ['order:7'] })
    const child = await client.records.notarize({ payload: { n: 2 }, parent: parent.id })
    const { record, ancestors } = await client.records.tree(child.id)
    assert.deepEqual([record, ...ancestors], [child, parent])
    const batch = await client.batches.notarize([
      { type: 'generic/1', payload: { n: 3 } },
      { type: 'generic/1', payload: { n: 4 } },
    ])
    assert.equal(batch.records.length, 2)
    assert.deepEqual(await client.records.list({ reference: 'order:7' }).toArray(5), [parent])
    const found = await client.records.list({ type: 'generic/1', order: 'asc', limit: 2 }).toArray(3)
    assert.deepEqual(
      found.map(({ payload }) => payload),
      [{ n: 1 }, { n: 2 }, { n: 3 }],
    )
  })

  await t.test('gated records, step by step', async () => {
    const { key, agent: performer } = await client.keys.create({
      name: 'performer',
      scopes: ['records:write', 'records:read:own'],
    })
    const performing = sdk.client<Types>({ apiKey: key, fetch: recordingFetch })
    const take = async (payload: { quantity: number }, evidence: Delivery) => {
      const { id } = await client.records.create({ type: 'delivery/1', payload, performer })
      await performing.records.activate(id)
      await performing.records.complete<'delivery/1'>(id, { evidence })
      await worker.verify(id)
      return client.records.until(id, ['VERIFIED', 'DISCREPANT'])
    }
    const passed = await take(PAYLOAD, PASSING)
    const accepted = await client.records.verdict(
      passed.id,
      { verdict: 'accept' },
      { ifVersion: passed.version },
    )
    assert.equal(accepted.gated!.verdict!.signal.decision, 'SETTLE')

    const failed = await take(PAYLOAD, FAILING)
    const revised = await client.records.requestRevision(failed.id, { reason: 'six are missing' })
    assert.equal(revised.state, 'ACTIVE')
    await assert.rejects(
      performing.records.complete(failed.id, { evidence: PASSING }, { ifVersion: failed.version }),
      (error) => {
        assert.ok(error instanceof ConflictError)
        assert.deepEqual(
          [error.code, error.version, error.state],
          ['version_mismatch', revised.version, 'ACTIVE'],
        )
        return true
      },
    )
    await performing.records.complete(failed.id, { evidence: FAILING })
    await worker.verify(failed.id)
    await client.records.verdict(failed.id, { verdict: 'reject', reason: 'again' })
    const overturned = await client.records.overturn(failed.id, { reason: 'the appeal was granted' })
    assert.equal(overturned.gated!.overturn!.signal.decision, 'RELEASE')

    const withdrawn = await client.records.create({ type: 'delivery/1', payload: PAYLOAD })
    const cancelled = await client.records.cancel(withdrawn.id, { reason: 'withdrawn' })
    assert.equal(cancelled.state, 'CANCELLED')
    await assert.rejects(client.records.until(cancelled.id, ['ACCEPTED']), /has ended as CANCELLED/)
    const { peer } = await addPeer(app)
    const share = [{ peer, documents: 'digests' }] as const
    const shared = await client.records.share(cancelled.id, { share: [...share] })
    assert.deepEqual(shared.gated!.share, share)

    const kinds: string[] = []
    for await (const { kind } of client.records.entries(passed.id)) kinds.push(kind)
    assert.deepEqual(kinds, [
      'record-created',
      'record-activated',
      'completion-submitted',
      'completion-verified',
      'verdict-rendered',
    ])

    const { gated } = await client.records.get(failed.id)
    const why = { code: 'gdpr_request' }
    const erased: Erasure[] = []
    for (const { erasure } of [
      await client.records.eraseEvidence(failed.id, gated!.completion!.id, why),
      await client.records.eraseValues(failed.id, gated!.completion!.id, why),
      await client.records.eraseReason(failed.id, gated!.verdict!.seq, why),
      await client.records.erasePayload(failed.id, why),
    ])
      erased.push(erasure)
    assert.deepEqual(
      erased.map(({ document }) => document),
      ['evidence', 'values', 'reason', 'payload'],
    )
    assert.equal((await client.records.get(failed.id)).payload, null)
  })

  await t.test(
    'records.until() fails at its timeout with the current state and possible next events',
    async () => {
      const { id } = await client.records.create({ payload: { work: 'forever' } })
      await assert.rejects(client.records.until(id, ['ACCEPTED'], { timeoutMs: 20 }), (error) => {
        assert.ok(error instanceof TallystickError && error.retryable)
        assert.match(
          error.message,
          /still CREATED after 20 ms, not ACCEPTED; possible next events: record-activated/,
        )
        return true
      })
    },
  )

  await t.test('entries, from the first to the head, and exports', async () => {
    const { size } = await client.ledger.get()
    const seqs: number[] = []
    for await (const { seq } of client.entries.stream()) seqs.push(seq)
    assert.deepEqual(
      seqs,
      Array.from({ length: size }, (_, seq) => seq),
    )
    const three: number[] = []
    for await (const { seq } of client.entries.stream({ after: 4, limit: 3 })) three.push(seq)
    assert.deepEqual(three, [5, 6, 7])
    const text = await new Response(await client.exports.stream()).text()
    assert.equal(text.trimEnd().split('\n').length, size + 2)
    const { entry, to } = await client.exports.announce({ of: {}, from: 0, documents: 'all' })
    assert.deepEqual([entry.seq, to], [size, size - 1])
  })

  await t.test('retention rules, holds and persons', async () => {
    const rule = await client.retention.setRule({ days: 400, basis: 'law', type: 'other/1' })
    assert.deepEqual(await client.retention.rules(), [rule])
    const found = await client.retention.preview({ days: 183 })
    assert.deepEqual(found, { records: 0, held: 0, oldest: null, byType: {} })
    const { id } = await client.records.notarize({ payload: {}, subject: 'person-1' })
    const hold = await client.holds.set({ case: '7', records: [id] })
    assert.deepEqual(await client.holds.list({ standing: true }).toArray(9), [hold])
    const erase = async () => {
      const receipts = []
      for await (const receipt of client.subjects.erase('person-1', { code: 'gdpr_17' }))
        receipts.push(receipt)
      return receipts.map(({ erased, held }) => [erased.length, held.length])
    }
    assert.deepEqual(await erase(), [[0, 1]])
    await client.holds.lift(hold.seq)
    const [first] = await client.subjects.find('person-1').toArray(9)
    assert.equal(first?.record, id)
    assert.deepEqual(await erase(), [[1, 0]])
  })

  await t.test('entries.stream() with follow yields new entries until the signal aborts', async () => {
    const { size } = await client.ledger.get()
    const stop = new AbortController()
    const seen: number[] = []
    const following = (async () => {
      const stream = client.entries.stream({ after: size - 1, follow: true, signal: stop.signal })
      for await (const { seq } of stream) if (seen.push(seq) === 2) stop.abort()
    })()
    await client.records.notarize({ payload: { n: 5 } })
    await client.records.notarize({ payload: { n: 6 } })
    await assert.rejects(following, { name: 'AbortError' })
    assert.deepEqual(seen, [size, size + 1])
  })

  await t.test('checkpoints and proofs', async () => {
    await publish()
    const { size } = await client.ledger.get()
    const note = await client.checkpoints.latest()
    assert.equal(await client.checkpoints.get(size), note)
    assert.deepEqual(
      (await client.checkpoints.list().page()).data.map((each) => each.size),
      [size],
    )
    const { path } = await client.checkpoints.consistency(3, size)
    assert.ok(path.length > 0)
    await assert.rejects(client.checkpoints.get(size - 1), NotFoundError)
    await assert.rejects(client.checkpoints.consistency(9, 3), InvalidRequestError)
    const [record] = await client.records.list({ type: 'generic/1' }).toArray(1)
    const proof = await client.records.proof(record!.id, { size })
    assert.deepEqual(await client.entries.proof(record!.entry.seq), proof)
    const receipt = await client.records.receipt(record!.id, { size })
    assert.deepEqual(await client.entries.receipt(record!.entry.seq), receipt)
    const { noteVerifierKey: noteKey } = await client.ledger.get()
    const { keys } = await client.keyDocument()
    const found = await verify.receipt(receipt, { noteKey, keys, record: record! })
    assert.deepEqual([found.seq, found.size, found.record], [record!.entry.seq, size, 'same'])
    const joined = await client.checkpoints.consistencyReceipt(size)
    const { to } = await verify.consistencyReceipt(joined, { from: note!, noteKey })
    assert.equal(to, size)
  })

  await t.test('an audit, waited for until the worker is done', async () => {
    const started = await client.audits.start()
    assert.deepEqual(await client.audits.get(started.id), started)
    assert.deepEqual((await client.audits.list().page()).data, [started])
    called.delete('getAuditsById')
    const seen: Audit[] = []
    let isAnnounced = false
    const running = client.audits.run({
      signal: AbortSignal.timeout(5_000),
      onProgress(audit) {
        seen.push(audit)
        isAnnounced ||= !called.has('getAuditsById')
      },
    })
    await until(() => called.has('getAuditsById'))
    await app.sql(
      `update tallystick.audits set state = 'failed', started_at = now(), finished_at = now(), error = '{"code":"io","reason":"x"}' where state = 'queued'`,
    )
    const ended = await running
    assert.deepEqual([isAnnounced, seen[0], seen.at(-1)], [true, started, ended])
    assert.deepEqual([ended.id, ended.state, ended.ok], [started.id, 'failed', null])
  })

  await t.test('events, by page and as a tail', async () => {
    const filter = { events: ['record.recorded' as const] }
    const { data, nextCursor, more } = await client.events.page({ ...filter, limit: 1 })
    assert.deepEqual([data.length, more], [1, true])
    const [, next] = await client.events.list(filter).toArray(2)
    for await (const { cursor, ...event } of client.events.tail({ after: nextCursor, ...filter })) {
      assert.deepEqual(event, next)
      assert.notEqual(cursor, nextCursor)
      break
    }
  })

  await t.test('webhooks and their deliveries', async () => {
    const { webhooks } = client
    const events = ['signal.emitted' as const]
    const url = 'https://example.com/hooks'
    const { secret, publicKey, ...made } = await webhooks.create({ url, events })
    assert.match(secret, /^whsec_/)
    assert.equal(made.secrets[0]!.publicKey, publicKey)
    const { id } = made
    assert.deepEqual(await webhooks.get(id), made)
    assert.deepEqual(await webhooks.list().toArray(5), [made])
    const changed = await webhooks.update(id, { types: ['delivery'] })
    assert.deepEqual([changed.types, changed.events], [['delivery'], events])
    const rotated = await webhooks.rotateSecret(id, { overlapSeconds: 60 })
    assert.deepEqual([rotated.secret === secret, rotated.secrets.length], [false, 2])

    const sent = await webhooks.test(id)
    assert.deepEqual([sent.event, sent.state, sent.attempts], ['webhook.test', 'pending', 0])
    const { attemptLog, ...summary } = await webhooks.delivery(id, sent.id)
    assert.deepEqual(attemptLog, [])
    assert.deepEqual(await webhooks.deliveries(id, { event: 'webhook.test' }).toArray(5), [summary])
    assert.deepEqual(await webhooks.deliveries(id, { state: 'dead' }).toArray(5), [])
    assert.equal((await webhooks.redeliver(id, sent.id)).id, sent.id)
    assert.equal(await webhooks.redeliverDead(id), 0)
    assert.equal((await webhooks.recover(id, { since: made.createdAt })).id, id)

    assert.equal((await webhooks.pause(id)).state, 'paused')
    await assert.rejects(webhooks.test(id), ConflictError)
    assert.equal((await webhooks.resume(id, { from: 'now' })).state, 'active')
    await webhooks.delete(id)
    assert.deepEqual(await webhooks.list().toArray(5), [])
  })

  await t.test('peers: invitations, states and exchanged entries', async () => {
    const { peers } = client
    const { invitation, ...invited } = await peers.invite({ name: 'Harbour Freight' })
    assert.match(invitation, /^tlp_/)
    assert.deepEqual(await peers.get(invited.id), invited)
    // A ledger cannot accept its own invitation.
    await assert.rejects(peers.accept({ name: 'myself', invitation }), InvalidRequestError)
    assert.equal((await peers.revoke(invited.id)).state, 'revoked')

    const { peer } = await addPeer(app)
    await app.sql('update tallystick.peers set invited = $1 where invited = $2', [
      JSON.stringify(IDENTITY),
      '{}',
    ])
    const ids = (await peers.list().toArray(5)).map(({ id }) => id)
    assert.ok(ids.includes(peer) && ids.includes(invited.id))
    assert.equal((await peers.suspend(peer, { code: 'maintenance' })).state, 'suspended')
    assert.equal((await peers.resume(peer)).state, 'active')
    assert.equal(
      (await peers.setBudget(peer, { entriesPerDay: 5, bytesPerDay: 4_096 })).budget.entries.perDay,
      5,
    )
    await peers.setBudget(peer, null)
    const record = await client.records.create({
      type: 'delivery/1',
      payload: PAYLOAD,
      share: [{ peer, documents: 'whole' }],
    })
    const [shared] = await peers.records(peer).toArray(5)
    assert.deepEqual([shared!.id, shared!.role], [record.id, 'home'])
    assert.deepEqual(await peers.record(peer, record.id), { ...shared, typeDefinition: null })
    assert.deepEqual(await peers.deadLetters(peer).toArray(5), [])
    assert.equal(await peers.replay(peer), 0)
    assert.deepEqual(await peers.forks(peer).toArray(5), [])
    const { sent, reasons } = await peers.reconciliation(peer)
    assert.deepEqual([sent.entries, sent.inFlight, reasons], [1, 1, ['not_asked']])
    // No worker runs in this test, so the peer gets no request.
    assert.deepEqual((await peers.reconcile(peer)).reasons, ['not_asked'])
  })

  await t.test('statements of other issuers, and the registration policy', async () => {
    const { statements } = client
    await assert.rejects(statements.policy(), NotFoundError)
    const issuer = makeIssuer()
    const policy = { issuers: [{ issuer: issuer.issuer, keys: [issuer.key] }] }
    const set = await statements.setPolicy(policy)
    assert.deepEqual(set.issuers, policy.issuers)
    assert.deepEqual(await statements.policy(), set)
    const signed = signStatement(issuer)
    const made = await statements.register(signed)
    assert.deepEqual([await statements.register(signed), await statements.get(made.id)], [made, made])
    assert.deepEqual(await statements.list({ subject: made.subject }).toArray(5), [made])
    assert.deepEqual(await statements.list({ issuer: 'nobody' }).toArray(5), [])
    await publish()
    const file = await statements.receipt(made)
    const { noteVerifierKey: noteKey } = await client.ledger.get()
    const found = await verify.statement(file, { noteKey, issuerKey: issuer.key })
    assert.deepEqual(
      [found.seq, found.leaf, found.issuer, found.issuerKey],
      [made.seq, made.leaf, issuer.issuer, 'given'],
    )
    const other = verify.statement(file, { noteKey, issuerKey: makeIssuer().key })
    await assert.rejects(other, /signature_invalid/)
    assert.equal((await verify.statement(file, { noteKey })).issuerKey, 'not given')
    await assert.rejects(
      statements.register(signed.subarray(1)),
      /statement_invalid.*cose_structure|cbor_malformed/,
    )
  })

  await t.test('an operator creates and freezes ledgers, and cannot read them', async () => {
    const made = await operator.ledgers.create({ name: 'of the operator' })
    const { id } = made.ledger
    const rateLimit = { requestsPerSecond: 1_000, burst: 1_000 }
    assert.deepEqual(await operator.ledgers.setRateLimit(id, rateLimit), { rateLimit })
    assert.deepEqual(await operator.ledgers.setTiles(id, 'public'), { tiles: 'public' })
    assert.equal((await operator.ledgers.freeze(id)).closed, 'frozen')
    const frozen = sdk.client({ apiKey: made.key.key })
    await assert.rejects(
      frozen.records.notarize({ payload: {} }),
      /ledger_frozen.*What to do: ask the operator/,
    )
    assert.equal((await operator.ledgers.unfreeze(id)).closed, null)
    const issued = await operator.ledgers.issueKey(id)
    await sdk.client({ apiKey: issued.key }).records.notarize({ payload: {} })
    const ids: string[] = []
    for await (const ledger of operator.ledgers.list({ limit: 1 })) ids.push(ledger.id)
    assert.deepEqual(ids, [app.ledger.ledger.id, id])
    assert.equal((await operator.ledgers.get(id)).name, 'of the operator')
    await assert.rejects(operator.ledgers.getRestore(id), ConflictError)
    const known = { size: 1, chain: '0'.repeat(64) }
    await assert.rejects(operator.ledgers.acknowledgeRestore(id, { known }), ConflictError)
    assert.equal((await operator.health.ready()).status, 'ready')
  })

  const { paths } = (await app.app.inject('/openapi.json')).json()
  const all = Object.values(paths as Record<string, Record<string, { operationId: string }>>).flatMap(
    (methods) => Object.values(methods).map(({ operationId }) => operationId),
  )
  assert.deepEqual([...called, ...Object.keys(NOT_OF_THE_SDK)].sort(), all.sort())
})

/** Returns the operation of a request. If several paths match, the path with the fewest parameters is used. */
function operationOf(method: string, pathname: string): string {
  const matches = Object.entries(operations).filter(([, operation]) => {
    const pattern = operation.path.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/]+')
    return operation.method === method && new RegExp(`^${pattern}$`).test(pathname)
  })
  const [match] = matches.sort((a, b) => a[1].path.split('{').length - b[1].path.split('{').length)
  return match?.[0] ?? `${method} ${pathname}`
}
