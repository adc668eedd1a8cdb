import assert from 'node:assert/strict'
import { test } from 'node:test'
import { expectStatus } from '../../helpers/app.ts'
import { assertProblem } from '../../helpers/assert-problem.ts'
import { sharedGatedApp } from '../../helpers/gated-app.ts'
import { addTestHome } from '../../helpers/test-home.ts'

const NO_STEPS = {
  completion: null,
  verification: null,
  verdict: null,
  overturn: null,
  revision: null,
  cancellation: null,
}

test('a record of another ledger is shown in the shape of the ledger’s own', async (t) => {
  const app = await sharedGatedApp()
  const home = await addTestHome(app)
  const { performer, stranger } = app.agents
  const principal = `${home.ledger}/${home.agent}`

  await t.test('after creation, with remote agent ids and the receiving entry', async () => {
    const before = (await app.entries()).length
    const record = await home.share({
      performer: performer.id,
      payload: { quantity: 100 },
      terms: {
        deadline: '2030-01-01T00:00:00.000Z',
        occurredAt: '2026-01-01T00:00:00.000Z',
        tolerances: { a: { percent: '1' } },
      },
    })
    const response = expectStatus(200, await app.send('GET', `/v1/records/${record.id}`))
    const shown = response.json()
    const entry = (await app.entries())[before]
    assert.equal(response.headers['etag'], '"1"')
    assert.deepEqual(shown, {
      id: record.id,
      ledger: home.ledger,
      type: 'task/1',
      state: 'CREATED',
      version: 1,
      nextEvents: ['record-activated', 'record-cancelled', 'record-expired'],
      payload: { quantity: 100 },
      salt: record.payload.salt,
      digest: record.payload.digest,
      actor: principal,
      key: home.key,
      onBehalfOf: null,
      parent: null,
      references: null,
      occurredAt: '2026-01-01T00:00:00.000Z',
      recordedAt: shown.recordedAt,
      entry: {
        seq: before,
        kind: 'entry-received',
        leaf: entry.leaf,
        chain: entry.chain,
        signedBy: 'server',
      },
      batch: null,
      metadata: null,
      erasure: null,
      gated: {
        principal,
        performer: performer.id,
        gate: 'principal',
        deadline: '2030-01-01T00:00:00.000Z',
        maxRevisions: 2,
        revisions: 0,
        tolerances: { a: { percent: '1' } },
        ...NO_STEPS,
        share: [{ peer: home.peer, documents: 'whole' }],
        offer: null,
      },
    })
  })

  await t.test('with the newest step of each kind and its documents', async () => {
    // The performer is an agent of the home ledger. An agent of this ledger has the same id, and the server must not
    // confuse the two.
    const other = { agent: stranger.id, key: home.key }
    const open = await home.share()
    await open.activate(other)
    const evidence = await open.submit(other)
    await open.verify('fail')
    await open.revise('the labels are missing')
    const again = await open.submit(other)
    await open.verify()
    await open.judge('accept', 'all there')
    const shown = await app.get(open.id)
    assert.deepEqual([shown.state, shown.version, shown.nextEvents], ['ACCEPTED', 8, []])
    const { gated } = shown
    assert.equal(gated.performer, `${home.ledger}/${stranger.id}`)
    assert.equal(gated.revisions, 1)
    assert.notEqual(evidence.subject, again.subject)
    assert.deepEqual(
      [gated.completion.id, gated.completion.evidence, gated.completion.salt, gated.completion.digest],
      [again.subject, again.document, again.salt, again.digest],
    )
    assert.equal(gated.completion.by, `${home.ledger}/${stranger.id}`)
    assert.deepEqual([gated.verification.by, gated.verification.outcome], ['system', 'pass'])
    assert.deepEqual([gated.verdict.by, gated.verdict.reason], [principal, 'all there'])
    assert.deepEqual([gated.revision.by, gated.revision.reason], [principal, 'the labels are missing'])
    const seqs = [gated.revision, gated.completion, gated.verification, gated.verdict].map(({ seq }) => seq)
    const entries = await app.entries()
    for (const seq of seqs) assert.equal(entries[seq].kind, 'entry-received')
    assert.deepEqual(
      seqs,
      [...seqs].sort((a, b) => a - b),
    )
    assert.equal(shown.entry.seq, gated.verdict.seq)
  })

  await t.test('without documents if only digests are shared', async () => {
    const record = await home.share({ documents: 'digests' })
    const other = { agent: stranger.id, key: home.key }
    await record.activate(other)
    const evidence = await record.submit(other)
    const { payload, salt, digest, gated } = await app.get(record.id)
    assert.deepEqual([payload, salt, digest], [null, null, record.payload.digest])
    assert.deepEqual(
      [gated.completion.evidence, gated.completion.salt, gated.completion.digest, gated.completion.erasedBy],
      [null, null, evidence.digest, null],
    )
    assert.deepEqual(gated.share, [{ peer: home.peer, documents: 'digests' }])
  })

  await t.test('without documents that its home has erased', async () => {
    const record = await home.share()
    const created = record.last().seq
    const other = { agent: stranger.id, key: home.key }
    await record.activate(other)
    const evidence = await record.submit(other)
    const submitted = record.last().seq
    await record.erase({ name: record.id, sha256: record.payload.digest }, created)
    await record.erase({ name: evidence.subject, sha256: evidence.digest }, submitted)
    const { payload, salt, erasure, gated } = await app.get(record.id)
    const last = (await app.entries()).length - 1
    assert.deepEqual([payload, salt], [null, null])
    assert.deepEqual([erasure.code, erasure.by, erasure.seq], ['data_subject_request', principal, last - 1])
    assert.deepEqual(
      [gated.completion.evidence, gated.completion.salt, gated.completion.erasedBy],
      [null, null, last],
    )
    assert.equal(gated.completion.digest, evidence.digest)
  })
})

test('a record of another ledger is visible to', async (t) => {
  const app = await sharedGatedApp()
  const home = await addTestHome(app)
  const { performer, stranger } = app.agents
  const read = (id: string, key: string) => app.send('GET', `/v1/records/${id}`, { key })

  await t.test('keys that read all records, and its performer', async () => {
    const { id } = await home.share({ performer: performer.id })
    for (const key of [app.ledger.key.key, performer.key]) expectStatus(200, await read(id, key))
  })

  await t.test('no other agent and no other ledger of the server: 404', async () => {
    const elsewhere = await app.newLedger()
    const { id } = await home.share({ performer: performer.id })
    for (const key of [stranger.key, elsewhere.key.key]) assertProblem(await read(id, key), 404, 'not_found')
    for (const key of [stranger.key, elsewhere.key.key])
      assertProblem(await app.send('GET', `/v1/records/${id}/entries`, { key }), 404, 'not_found')
  })

  await t.test('each agent that has offered a step of the record', async () => {
    const { id } = await home.share()
    assertProblem(await read(id, stranger.key), 404, 'not_found')
    expectStatus(202, await app.step(id, 'activate', { as: 'stranger' }))
    expectStatus(200, await read(id, stranger.key))
    expectStatus(200, await app.send('GET', `/v1/records/${id}/entries`, { key: stranger.key }))
  })

  await t.test('nobody as a tree: 404', async () => {
    const { id } = await home.share()
    assertProblem(await app.send('GET', `/v1/records/${id}/tree`), 404, 'not_found')
  })
})

test('the entries of a record of another ledger are the entries that received its steps', async (t) => {
  const app = await sharedGatedApp()
  const home = await addTestHome(app)
  const other = { agent: app.agents.stranger.id, key: home.key }
  const record = await home.share()
  await record.activate(other)
  const evidence = await record.submit(other)
  await record.verify()
  await record.judge('reject', 'too late')

  await t.test('each with the home’s envelope, and the document of its step', async () => {
    const { data, nextCursor } = (await app.send('GET', `/v1/records/${record.id}/entries`)).json()
    assert.equal(nextCursor, null)
    const entries = await app.entries()
    assert.deepEqual(
      data.map(({ seq, kind, leaf, chain, envelope, recordedAt }: Record<string, unknown>) => ({
        seq,
        kind,
        leaf,
        chain,
        envelope,
        recordedAt,
      })),
      entries.slice(-5).map(({ seq, kind, leaf, chain, envelope, recordedAt }) => ({
        seq,
        kind,
        leaf,
        chain,
        envelope,
        recordedAt,
      })),
    )
    const kinds = data.map(({ received }: { received: string }) => {
      return /predicates\/([a-z-]+)\/v1/.exec(Buffer.from(received, 'base64').toString('latin1'))![1]
    })
    assert.deepEqual(kinds, [
      'record-created',
      'record-activated',
      'completion-submitted',
      'completion-verified',
      'verdict-rendered',
    ])
    assert.deepEqual(data[2].document, { ...evidence, erasedBy: null })
    assert.deepEqual([data[0].document, data[1].document], [null, null])
    assert.equal(data[4].document.document, 'too late')
  })

  await t.test('page by page', async () => {
    const seqs: number[] = []
    let cursor: string | null = ''
    for (let pages = 0; cursor !== null; pages++) {
      assert.ok(pages < 3)
      const url: string = `/v1/records/${record.id}/entries?limit=2${cursor && `&cursor=${cursor}`}`
      const page = (await app.send('GET', url)).json()
      seqs.push(...page.data.map(({ seq }: { seq: number }) => seq))
      cursor = page.nextCursor
    }
    const size = (await app.entries()).length
    assert.deepEqual(
      seqs,
      [5, 4, 3, 2, 1].map((back) => size - back),
    )
  })
})

test('if two peers sent records with one id, the first peer’s record is shown', async (t) => {
  const app = await sharedGatedApp()
  const [one, other] = [await addTestHome(app), await addTestHome(app)]
  const { performer } = app.agents
  const { id } = await one.share({ performer: performer.id })
  await other.share({ id, performer: performer.id })
  const ledgerOf = async (query = '') => {
    const [record, entries] = [
      await app.send('GET', `/v1/records/${id}${query}`),
      await app.send('GET', `/v1/records/${id}/entries${query}`),
    ]
    assert.equal(expectStatus(200, entries).json().data.length, 1)
    return expectStatus(200, record).json().ledger
  }

  await t.test('and `peer` selects either record', async () => {
    assert.equal(await ledgerOf(), one.ledger)
    for (const { peer, ledger } of [one, other]) {
      assert.equal(await ledgerOf(`?peer=${peer}`), ledger)
      const shown = await app.send('GET', `/v1/peers/${peer}/records/${id}`)
      assert.equal(expectStatus(200, shown).json().role, 'guest')
    }
    const problem = assertProblem(await app.step(id, 'cancel'), 409, 'not_home')
    assert.equal(problem['ledger'], one.ledger)
  })

  await t.test('a peer without such a record gets 404', async () => {
    const nobody = await addTestHome(app)
    for (const path of [
      `/v1/records/${id}?peer=${nobody.peer}`,
      `/v1/records/${id}/entries?peer=${nobody.peer}`,
    ])
      assertProblem(await app.send('GET', path), 404, 'not_found')
    const step = await app.step(id, 'activate', { body: { peer: nobody.peer } })
    assertProblem(step, 404, 'not_found')
  })

  await t.test('a revoked peer’s record is shown only if no other active peer sent the record', async () => {
    await one.setState('revoked')
    assert.equal(await ledgerOf(), other.ledger)
    await other.setState('revoked')
    assert.equal(await ledgerOf(), one.ledger)
  })

  await t.test('and the ledger’s own record is always shown before a peer’s', async () => {
    const own = await app.create()
    await one.setState('active')
    await one.share({ id: own.id })
    assert.equal((await app.get(own.id)).ledger, app.ledger.ledger.id)
    const { stranger } = app.agents
    assertProblem(await app.send('GET', `/v1/records/${own.id}`, { key: stranger.key }), 404, 'not_found')
    assertProblem(await app.step(own.id, 'activate', { as: 'stranger' }), 404, 'not_found')
  })
})
