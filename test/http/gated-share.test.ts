import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseEnvelope } from '../../src/proof/envelope/cose.ts'
import { formatId, parseId, type Uuid } from '../../src/proof/ids.ts'
import { remoteAgentId } from '../../src/proof/statement/remote-agents.ts'
import { parseStatement } from '../../src/proof/statement/statement.ts'
import { nativeProviders } from '../../src/signing/native.ts'
import { expectStatus } from '../helpers/app.ts'
import { assertProblem } from '../helpers/assert-problem.ts'
import { connect } from '../helpers/connect.ts'
import { type GatedApp, PAYLOAD, type StepOptions, sharedGatedApp } from '../helpers/gated-app.ts'
import { addPeer, setPeerState, type TestPeer } from '../helpers/test-peers.ts'

const WEAK_SALT = Buffer.alloc(16, 7).toString('base64url')
const SEVEN_BYTES = Buffer.from([1, 2, 3, 4, 5, 6, 7, 1, 2, 3, 4, 5, 6, 7, 1, 2]).toString('base64url')
const EIGHT_BYTES = Buffer.from([1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 5, 6, 7, 8]).toString('base64url')

const whole = ({ peer }: TestPeer) => ({ peer, documents: 'whole' })
const digests = ({ peer }: TestPeer) => ({ peer, documents: 'digests' })
const bySharedOrder = (a: { peer: string }, b: { peer: string }) => (a.peer < b.peer ? -1 : 1)

function post(app: GatedApp, body: object, { as = 'principal', headers = {} }: StepOptions = {}) {
  return app.send('POST', '/v1/records', {
    key: typeof as === 'string' ? app.agents[as].key : as.key,
    body: { type: 'delivery/1', payload: PAYLOAD, ...body },
    headers,
  })
}

function share(
  app: GatedApp,
  id: string,
  list: unknown,
  { as = 'principal', headers = {}, body = {} } = {} as StepOptions,
) {
  const key = typeof as === 'string' ? app.agents[as].key : as.key
  return app.send('POST', `/v1/records/${id}/share`, {
    key,
    body: { share: list, ...(body as object) },
    headers,
  })
}

async function statementAt(app: GatedApp, seq: number) {
  const [entry] = await app.entries(`?after=${seq - 1}&limit=1`)
  return parseStatement(parseEnvelope(Buffer.from(entry.envelope, 'base64')).payload)
}

async function sharedRows(app: GatedApp, id: string) {
  const rows = await app.sql<{ peer_id: Uuid; documents: string; shared_seq: string }>(
    'select peer_id, documents, shared_seq from tallystick.shared_records where record_id = $1 order by peer_id',
    [parseId('rec', id)],
  )
  return rows.map(({ peer_id, documents, shared_seq }) => ({
    peer: formatId('peer', peer_id),
    documents,
    seq: Number(shared_seq),
  }))
}

test('a record created with shares', async (t) => {
  const app = await sharedGatedApp()
  const [first, second, third] = [await addPeer(app), await addPeer(app), await addPeer(app, 'suspended')]
  async function assertRefused(body: object, status: number, code: string, path?: string) {
    const before = await app.written()
    const problem = assertProblem(await post(app, body), status, code)
    assert.deepEqual(await app.written(), before)
    if (path !== undefined) assert.equal(problem['path'], path)
  }

  await t.test('lists its peers, sorted, in statement, row and answers', async () => {
    const asked = [digests(third), whole(second), whole(first)]
    const response = expectStatus(201, await post(app, { share: asked }))
    const record = response.json()
    const sorted = [...asked].sort(bySharedOrder)
    assert.deepEqual(record.gated.share, sorted)
    assert.deepEqual([record.gated.offer, record.gated.performer], [null, null])
    assert.deepEqual(await app.get(record.id), record)
    const { seq } = record.entry
    assert.deepEqual((await statementAt(app, seq)).predicate['share'], sorted)
    assert.deepEqual(
      await sharedRows(app, record.id),
      sorted.map((one) => ({ ...one, seq })),
    )
    const listed = await app.send('GET', '/v1/records?type=delivery/1&limit=1')
    assert.deepEqual(expectStatus(200, listed).json().data, [record])
  })

  await t.test('may have a remote performer, whose steps no agent here can take', async () => {
    const response = expectStatus(201, await post(app, { share: [whole(first)], performer: first.agent }))
    const record = response.json()
    assert.equal(record.gated.performer, first.agent)
    assert.deepEqual(await app.get(record.id), record)
    const { predicate } = await statementAt(app, record.entry.seq)
    assert.equal(predicate['performer'], first.agent)
    const [row] = await app.sql<{ performer_id: string; performer_remote: string }>(
      'select performer_id, performer_remote from tallystick.gated_records where record_id = $1',
      [parseId('rec', record.id)],
    )
    const standsFor = remoteAgentId(nativeProviders.sha256, first.agent)
    assert.deepEqual(row, { performer_id: standsFor, performer_remote: first.agent })
    for (const as of ['gateway', 'principal'] as const) {
      const problem = assertProblem(await app.step(record.id, 'activate', { as }), 403, 'not_entitled')
      assert.equal(problem['role'], 'performer')
    }
    // An agent of this ledger is not the remote agent, even if both have the same id.
    const [, local] = first.agent.split('/')
    for (const [performer, found] of [
      [first.agent, [record]],
      [local!, []],
      [second.agent, []],
    ] as const) {
      const query = `/v1/records?performer=${encodeURIComponent(performer)}`
      assert.deepEqual(expectStatus(200, await app.send('GET', query)).json().data, found)
    }
    const cancelled = await app.take(record.id, 'cancel')
    assert.deepEqual([cancelled.gated.performer, cancelled.gated.share], [first.agent, [whole(first)]])
  })

  await t.test('gets the first answer again on a retry, even after further shares', async () => {
    const headers = { 'idempotency-key': 'shared-once' }
    const body = { share: [whole(first)], performer: first.agent }
    const created = expectStatus(201, await post(app, body, { headers })).json()
    expectStatus(200, await share(app, created.id, [whole(second)]))
    const again = await post(app, body, { headers })
    assert.equal(again.headers['idempotency-replayed'], 'true')
    assert.deepEqual(again.json(), created)
    // The record is shared with two peers. The answer to a later step shows both.
    const step = { headers: { 'idempotency-key': 'cancelled-once' } }
    const cancelled = await app.take(created.id, 'cancel', step)
    assert.deepEqual(cancelled.gated.share, [whole(first), whole(second)].sort(bySharedOrder))
    assert.deepEqual(await app.take(created.id, 'cancel', step), cancelled)
  })

  await t.test('gets the first answer again on a retry, even after the peering was revoked', async () => {
    const gone = await addPeer(app)
    const headers = { 'idempotency-key': 'shared-before' }
    const body = { share: [whole(gone)], performer: gone.agent }
    const created = expectStatus(201, await post(app, body, { headers }))
    await setPeerState(app, gone, 'revoked')
    const before = await app.written()
    const again = expectStatus(201, await post(app, body, { headers }))
    assert.equal(again.headers['idempotency-replayed'], 'true')
    assert.equal(again.body, created.body)
    await assertRefused(body, 409, 'peer_not_active', '/share/0/peer')
    assert.deepEqual(await app.written(), before)
  })

  await t.test('is refused with an unknown peer or a peering that is not active', async () => {
    const elsewhere = await addPeer(app, 'active', (await app.newLedger()).ledger.id)
    const nowhere = { ...first, peer: formatId('peer', app.deps.entropy.uuidv7(Date.now())) }
    for (const unknown of [elsewhere, nowhere])
      await assertRefused({ share: [whole(first), whole(unknown)] }, 422, 'unknown_peer', '/share/1/peer')
    for (const state of ['invited', 'pending', 'revoked'] as const)
      await assertRefused(
        { share: [digests(await addPeer(app, state))] },
        409,
        'peer_not_active',
        '/share/0/peer',
      )
  })

  const { peer } = first
  const bad: [what: string, list: unknown, path: string][] = [
    ['with nobody', [], '/share'],
    ['with one twice', [whole(first), whole(second), digests(first)], '/share/2/peer'],
    ['with nine', Array.from({ length: 9 }, () => whole(first)), '/share'],
    ['with what is no list', whole(first), '/share'],
    [
      'with an id of something else',
      [{ peer: peer.replace('peer', 'agt'), documents: 'whole' }],
      '/share/0/peer',
    ],
    ['without saying what of it', [{ peer }], '/share/0'],
    ['in a way that is none', [{ peer, documents: 'some' }], '/share/0/documents'],
  ]
  for (const [what, list, path] of bad) {
    await t.test(`is refused ${what}`, () => assertRefused({ share: list }, 422, 'invalid_request', path))
  }

  await t.test(
    'is refused with a remote performer whose ledger is not shared with: performer_not_shared',
    async () => {
      const own = `${app.ledger.ledger.id}/${app.agents.performer.id}`
      for (const body of [
        { performer: first.agent },
        { performer: first.agent, share: [whole(second)] },
        { performer: own, share: [whole(first)] },
      ])
        await assertRefused(body, 422, 'performer_not_shared', '/performer')
    },
  )

  await t.test('is refused with a weak salt if a peer sees only the digest: weak_salt', async () => {
    for (const salt of [WEAK_SALT, SEVEN_BYTES]) {
      await assertRefused({ share: [whole(first), digests(second)], salt }, 422, 'weak_salt', '/salt')
      expectStatus(201, await post(app, { share: [whole(first)], salt }))
      expectStatus(201, await post(app, { salt }))
    }
    expectStatus(201, await post(app, { share: [digests(first)], salt: EIGHT_BYTES }))
    expectStatus(201, await post(app, { share: [digests(first)] }))
  })

  await t.test('refuses a completion with a weak salt if a peer sees only the digest', async () => {
    const body = { evidence: PAYLOAD, salt: SEVEN_BYTES }
    for (const [list, refused] of [
      [[digests(first)], true],
      [[whole(first)], false],
    ] as const) {
      const { id } = await app.create({ share: list })
      await app.take(id, 'activate')
      const response = await app.step(id, 'completions', { body })
      if (refused) assertProblem(response, 422, 'weak_salt')
      else expectStatus(200, response)
    }
  })

  await t.test('is refused with a type that is not gated, and in a batch', async () => {
    await assertRefused({ type: 'generic/1', share: [whole(first)] }, 422, 'not_gated', '/share')
    const item = { type: 'generic/1', payload: {}, share: [whole(first)] }
    assertProblem(
      await app.send('POST', '/v1/records/batch', { body: { records: [item] } }),
      422,
      'invalid_request',
    )
  })

  await t.test('is not created if the peering is revoked at the same time', async () => {
    const gone = await addPeer(app)
    const before = await app.written()
    const refused = await whileHeadIsLocked(
      app,
      () => post(app, { share: [whole(gone)] }),
      () => setPeerState(app, gone, 'revoked'),
    )
    assertProblem(refused, 409, 'peer_not_active')
    assert.deepEqual(await app.written(), before)
  })

  await t.test('has no share member or rows if it is not shared', async () => {
    const record = await app.create()
    assert.deepEqual([record.gated.share, await sharedRows(app, record.id)], [null, []])
    const { predicate } = await statementAt(app, record.entry.seq)
    assert.equal('share' in predicate, false)
  })

  /** Sends a request while appends to the ledger are blocked. Calls `meanwhile` as soon as the request waits. */
  async function whileHeadIsLocked<T>(
    on: GatedApp,
    request: () => Promise<T>,
    meanwhile: () => Promise<void>,
  ) {
    const client = await connect(t, on.database.superuserUrl)
    await client.query('begin')
    await client.query('select from tallystick.chain_heads where ledger_id = $1 for update', [on.ledgerId])
    const answer = request()
    for (;;) {
      const waiting = await on.sql(
        "select from pg_stat_activity where wait_event_type = 'Lock' and query like '%append_entries%'",
      )
      if (waiting.length > 0) break
    }
    await meanwhile()
    await client.query('commit')
    return answer
  }
})

test('a record shared after its creation', async (t) => {
  const app = await sharedGatedApp()
  const { principal, stranger, gateway } = app.agents
  const [first, second, third] = [await addPeer(app), await addPeer(app), await addPeer(app, 'suspended')]
  async function assertRefused(
    id: string,
    list: unknown,
    status: number,
    code: string,
    options?: StepOptions,
  ) {
    const before = await app.written()
    const problem = assertProblem(await share(app, id, list, options), status, code)
    assert.deepEqual(await app.written(), before)
    return problem
  }

  await t.test('gets an entry record-shared, which is no step', async () => {
    const record = await app.reach('SUBMITTED')
    const response = expectStatus(200, await share(app, record.id, [digests(third), whole(first)]))
    const list = [whole(first), digests(third)].sort(bySharedOrder)
    assert.deepEqual(response.json(), { ...record, gated: { ...record.gated, share: list } })
    assert.equal(response.headers['etag'], '"3"')
    assert.deepEqual(await app.get(record.id), response.json())
    const [last] = (await app.entries()).slice(-1)
    const statement = await statementAt(app, last.seq)
    const { ledger, actor, key, recordedAt: _, ...said } = statement.predicate
    assert.deepEqual(
      [statement.kind, statement.subjects],
      ['record-shared', [{ name: record.id, sha256: record.digest }]],
    )
    assert.deepEqual([ledger, actor, key], [app.ledger.ledger.id, principal.id, app.ledger.key.id])
    assert.deepEqual(said, { record: record.id, share: list })
    assert.deepEqual(
      await sharedRows(app, record.id),
      list.map((one) => ({ ...one, seq: last.seq })),
    )
    // After the record was shared, it can be shared with one more peer, and steps are still possible.
    expectStatus(200, await share(app, record.id, [whole(second)]))
    await app.verify(record.id)
    const { state, gated } = await app.take(record.id, 'verdict')
    assert.equal(state, 'ACCEPTED')
    assert.deepEqual(gated.share, [...list, whole(second)].sort(bySharedOrder))
  })

  await t.test('can be in an end state', async () => {
    for (const state of ['ACCEPTED', 'REJECTED', 'CANCELLED', 'EXPIRED']) {
      const { id } = await app.reach(state)
      const shared = expectStatus(200, await share(app, id, [whole(first)])).json()
      assert.deepEqual([shared.state, shared.gated.share], [state, [whole(first)]])
    }
  })

  await t.test('can be shared only by its principal, or an agent on its behalf', async () => {
    const { id } = await app.create()
    for (const as of ['performer', 'gateway'] as const) {
      const problem = await assertRefused(id, [whole(first)], 403, 'not_entitled', { as })
      assert.equal(problem['role'], 'principal')
    }
    await assertRefused(id, [whole(first)], 404, 'not_found', { as: 'stranger' })
    await assertRefused(id, [whole(first)], 403, 'forbidden', { as: 'overturner' })
    const body = { onBehalfOf: principal.id }
    expectStatus(200, await share(app, id, [whole(first)], { as: 'gateway', body }))
    const [last] = (await app.entries()).slice(-1)
    const { actor, onBehalfOf } = await statementAt(app, last.seq)
    assert.deepEqual([actor, onBehalfOf], [gateway.id, principal.id])
    const made = expectStatus(201, await post(app, { onBehalfOf: stranger.id }, { as: 'gateway' })).json()
    await assertRefused(made.id, [whole(first)], 403, 'not_entitled')
    expectStatus(200, await share(app, made.id, [whole(first)], { as: 'stranger' }))
  })

  await t.test('can be shared with each peer once, and with at most eight', async () => {
    const { id } = await app.create({ share: [whole(first)] })
    expectStatus(200, await share(app, id, [digests(second)]))
    for (const again of [whole(first), digests(first), whole(second)])
      assert.equal(
        (await assertRefused(id, [whole(third), again], 409, 'already_shared'))['path'],
        '/share/1/peer',
      )
    const more = await Promise.all(Array.from({ length: 7 }, () => addPeer(app)))
    assert.equal((await assertRefused(id, more.map(whole), 422, 'invalid_request'))['path'], '/share')
    const shared = expectStatus(200, await share(app, id, more.slice(1).map(whole))).json()
    assert.equal(shared.gated.share.length, 8)
    await assertRefused(id, [whole(more[0]!)], 422, 'invalid_request')
  })

  await t.test('is shared by one of two simultaneous requests; the other gets already_shared', async () => {
    const { id } = await app.create()
    const both = await Promise.all([share(app, id, [whole(first)]), share(app, id, [digests(first)])])
    const [done, refused] = both.sort((a, b) => a.statusCode - b.statusCode)
    expectStatus(200, done!)
    assertProblem(refused!, 409, 'already_shared')
    assert.equal((await sharedRows(app, id)).length, 1)
  })

  await t.test('is refused with the same peers as at creation', async () => {
    const { id } = await app.create()
    const revoked = await addPeer(app, 'revoked')
    await assertRefused(id, [whole(revoked)], 409, 'peer_not_active')
    const nowhere = { ...first, peer: formatId('peer', app.deps.entropy.uuidv7(Date.now())) }
    await assertRefused(id, [whole(nowhere)], 422, 'unknown_peer')
    await assertRefused(id, [whole(first), whole(first)], 422, 'invalid_request')
    await assertRefused(id, [], 422, 'invalid_request')
  })

  await t.test('is refused if it is notarized: not_shareable; or unknown: not_found', async () => {
    const notarized = await app.notarize()
    const body = { records: [{ type: 'generic/1', payload: {} }] }
    const batch = expectStatus(201, await app.send('POST', '/v1/records/batch', { body })).json()
    for (const [id, why] of [
      [notarized.id, /was notarized/],
      [batch.records[0].id, /is an item of a batch/],
    ] as const)
      assert.match(String((await assertRefused(id, [whole(first)], 422, 'not_shareable'))['detail']), why)
    await assertRefused(formatId('rec', app.deps.entropy.uuidv7(0)), [whole(first)], 404, 'not_found')
    await assertRefused('rec_x', [whole(first)], 404, 'not_found')
  })

  await t.test('is not shared by digests if one of its salts is weak: weak_salt', async () => {
    const payload = await app.create({ salt: WEAK_SALT })
    const evidence = await app.reach('ACTIVE')
    await app.take(evidence.id, 'completions', { body: { evidence: PAYLOAD, salt: SEVEN_BYTES } })
    await app.verify(evidence.id)
    await app.take(evidence.id, 'revision')
    await app.take(evidence.id, 'completions', { body: { evidence: PAYLOAD, salt: EIGHT_BYTES } })
    for (const { id } of [payload, evidence]) {
      await assertRefused(id, [whole(first), digests(second)], 422, 'weak_salt')
      expectStatus(200, await share(app, id, [whole(first), whole(second)]))
    }
    const strong = await app.create({ salt: EIGHT_BYTES })
    expectStatus(200, await share(app, strong.id, [digests(first)]))
  })

  await t.test('is answered on a retry as it is now, and the retry appends nothing', async () => {
    const headers = { 'idempotency-key': 'share-once' }
    const gone = await addPeer(app)
    const { id } = await app.create()
    expectStatus(200, await share(app, id, [whole(gone)], { headers }))
    await app.take(id, 'activate')
    for (const state of ['active', 'revoked'] as const) {
      await setPeerState(app, gone, state)
      const before = await app.written()
      const again = expectStatus(200, await share(app, id, [whole(gone)], { headers }))
      assert.equal(again.headers['idempotency-replayed'], 'true')
      assert.deepEqual(again.json(), await app.get(id))
      assert.deepEqual(await app.written(), before)
    }
    await assertRefused(id, [whole(first)], 422, 'idempotency_key_reused', { headers })
  })

  await t.test('is refused with integrity_fault if its columns contradict its entries', async () => {
    const { id } = await app.create()
    const other = await app.create({}, { as: 'gateway' })
    const setPrincipal = (agent: string, record: string) =>
      app.sql(`
        set local session_replication_role = replica;
        update tallystick.gated_records set principal_id = '${parseId('agt', agent)}'
        where record_id = '${parseId('rec', record)}'`)
    // An attacker who can write rows could enter itself as the principal of other agents' records.
    await setPrincipal(principal.id, other.id)
    await assertRefused(other.id, [whole(first)], 500, 'integrity_fault')
    await setPrincipal(gateway.id, other.id)
    expectStatus(200, await share(app, id, [whole(first)]))
  })
})
