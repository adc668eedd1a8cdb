import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { verifyBatchItem } from '../../src/proof/statement/batch.ts'
import { inclusionPath } from '../../src/proof/tree/merkle.ts'
import { nativeProviders } from '../../src/signing/native.ts'
import { expectStatus, type TestApp } from '../helpers/app.ts'
import { addAgent } from '../helpers/more-keys.ts'
import { digestOf, itemLeafOf, openEnvelope, rootOf } from '../helpers/open-envelope.ts'
import { sharedApp } from '../helpers/shared-app.ts'

const TRACEPARENT = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'
const generic = (payload: object) => ({ type: 'generic/1', payload })
const numbered = (count: number) => ({ records: Array.from({ length: count }, (_, i) => generic({ i })) })

async function postBatch(app: TestApp, body: object, headers: Record<string, string> = {}) {
  return app.send('POST', '/v1/records/batch', { body, headers })
}

async function openLine(app: TestApp, seq: number) {
  const [line] = await app.entries(`?after=${seq - 1}&limit=1`)
  const { keys } = (await app.send('GET', '/.well-known/tallystick-keys.json')).json()
  return { line, ...openEnvelope(line.envelope, keys) }
}

test('POST /v1/records/batch', async (t) => {
  const app = await sharedApp()

  await t.test('answers the batch, its entry and the records, in order', async () => {
    const response = expectStatus(201, await postBatch(app, numbered(5)))
    assert.equal(response.headers['content-type'], 'application/json; charset=utf-8')
    const answer = response.json()
    assert.deepEqual(Object.keys(answer), ['batch', 'entry', 'records'])
    assert.deepEqual(Object.keys(answer.entry), ['seq', 'kind', 'leaf', 'chain', 'signedBy'])
    assert.match(answer.batch, /^bat_[0-7][0-9a-hjkmnp-tv-z]{25}$/)
    assert.equal(answer.entry.kind, 'batch-notarized')
    assert.equal(answer.records.length, 5)
    for (const [i, view] of answer.records.entries()) {
      assert.deepEqual(Object.keys(view), ['id', 'digest', 'salt'])
      assert.equal(view.digest, digestOf(view.salt, { i }))
      const record = expectStatus(200, await app.send('GET', `/v1/records/${view.id}`)).json()
      assert.deepEqual(record.payload, { i })
      assert.equal(record.batch, answer.batch)
      assert.deepEqual(record.entry, answer.entry)
    }
  })

  await t.test('signs the Merkle root of items that contain everything signed of each record', async () => {
    const agent = await addAgent(app, 'on whose behalf')
    const records = [
      { ...generic({ a: 1 }), metadata: { unsigned: 1 } },
      { ...generic({ b: 2 }), occurredAt: '2026-11-19T08:30:00Z' },
      { ...generic({ c: 3 }), onBehalfOf: agent, occurredAt: '2026-11-19T08:30:00.250Z' },
    ]
    const answer = expectStatus(201, await postBatch(app, { records }, { traceparent: TRACEPARENT })).json()
    const { line, statement } = await openLine(app, answer.entry.seq)
    const expected = answer.records.map((view: { id: string; digest: string }, i: number) => ({
      record: view.id,
      type: 'generic/1',
      digest: view.digest,
      ...(i === 2 && { onBehalfOf: agent }),
      ...(i === 1 && { occurredAt: '2026-11-19T08:30:00.000Z' }),
      ...(i === 2 && { occurredAt: '2026-11-19T08:30:00.250Z' }),
      traceparent: TRACEPARENT,
    }))
    assert.deepEqual(line.items, expected)
    const root = rootOf(line.items.map(itemLeafOf)).toString('hex')
    assert.deepEqual(statement.subject, [{ name: answer.batch, digest: { sha256: root } }])
    const { recordedAt, ...predicate } = statement.predicate
    assert.equal(recordedAt, line.recordedAt)
    assert.deepEqual(predicate, {
      ledger: app.ledger.ledger.id,
      actor: app.ledger.agent.id,
      key: app.ledger.key.id,
      batch: answer.batch,
      count: 3,
      tree: 'RFC9162_SHA256',
    })
    assert.deepEqual(
      line.documents,
      answer.records.map((view: { id: string; digest: string; salt: string }, i: number) => ({
        subject: view.id,
        digest: view.digest,
        salt: view.salt,
        document: records[i]!.payload,
        erasedBy: null,
      })),
    )
    const first = await app.send('GET', `/v1/records/${answer.records[0].id}`)
    assert.deepEqual(first.json().metadata, { unsigned: 1 })
    const third = await app.send('GET', `/v1/records/${answer.records[2].id}`)
    assert.equal(third.json().onBehalfOf, agent)
    assert.equal(third.json().occurredAt, '2026-11-19T08:30:00.250Z')
  })

  for (const count of [1, 2_000]) {
    await t.test(`accepts ${count} items, each with a proof of at most 11 hashes`, async () => {
      const answer = expectStatus(201, await postBatch(app, numbered(count))).json()
      const { line, statement } = await openLine(app, answer.entry.seq)
      assert.equal(line.items.length, count)
      assert.equal(statement.predicate.count, count)
      assert.deepEqual(
        line.documents.map((d: { document: object }) => d.document),
        numbered(count).records.map((r) => r.payload),
      )
      const leaves = line.items.map(itemLeafOf)
      assert.equal(rootOf(leaves).toString('hex'), statement.subject[0].digest.sha256)
      const root = statement.subject[0].digest.sha256
      for (const index of [0, count >> 1, count - 1]) {
        const path = inclusionPath(nativeProviders.sha256, leaves, index)
        assert.ok(path.length <= 11)
        verifyBatchItem(nativeProviders.sha256, line.items[index], index, count, path, root)
      }
    })
  }

  await t.test('refuses 0 and 2,001 items with 422 invalid_request', async () => {
    const before = await app.written()
    for (const count of [0, 2_001]) {
      const response = await postBatch(app, numbered(count))
      assert.equal(response.statusCode, 422)
      assert.equal(response.json().code, 'invalid_request')
    }
    assert.deepEqual(await app.written(), before)
  })

  const bad: [string, object, number, string][] = [
    ['an unknown type', { type: 'order/1', payload: {} }, 422, 'unknown_type'],
    ['a gated type', { type: 'task/1', payload: {} }, 422, 'not_notarizable'],
    ['a payload that is a list', { type: 'generic/1', payload: [] }, 422, 'invalid_request'],
    ['no payload', { type: 'generic/1' }, 422, 'invalid_request'],
    ['an unknown field', { ...generic({}), state: 'ACCEPTED' }, 422, 'invalid_request'],
    [
      'a salt, which batches make themselves',
      { ...generic({}), salt: 'A'.repeat(22) },
      422,
      'invalid_request',
    ],
    ['a payload over the limit', generic({ a: 'x'.repeat(65_536) }), 422, 'document_too_large'],
    [
      'metadata over the limit',
      { ...generic({}), metadata: { a: 'x'.repeat(4_096) } },
      422,
      'metadata_too_large',
    ],
    [
      'a day that does not exist',
      { ...generic({}), occurredAt: '2026-02-30T00:00:00Z' },
      422,
      'invalid_request',
    ],
    [
      'an agent of nowhere',
      { ...generic({}), onBehalfOf: 'agt_01jegv5gyme018000000000002' },
      422,
      'unknown_agent',
    ],
  ]
  for (const [what, item, status, code] of bad) {
    await t.test(`refuses the whole batch for one item with ${what}, and names its index`, async () => {
      const { records } = numbered(7)
      const before = await app.written()
      const response = await postBatch(app, { records: [...records.slice(0, 4), item, ...records.slice(4)] })
      const problem = response.json()
      assert.equal(response.statusCode, status, response.body)
      assert.equal(problem.code, code)
      assert.equal(problem.index, 4)
      assert.deepEqual(await app.written(), before)
    })
  }

  await t.test(
    'answers a replay with the identical body, and another body with idempotency_key_reused',
    async () => {
      const headers = { 'idempotency-key': randomUUID() }
      const first = expectStatus(201, await postBatch(app, numbered(300), headers))
      const before = await app.written()
      const second = expectStatus(201, await postBatch(app, numbered(300), headers))
      assert.equal(second.body, first.body)
      assert.equal(second.headers['idempotency-replayed'], 'true')
      assert.equal(first.headers['idempotency-replayed'], undefined)
      assert.equal(second.headers['content-type'], first.headers['content-type'])
      assert.deepEqual(await app.written(), before)
      const other = await postBatch(app, numbered(299), headers)
      assert.equal(other.json().code, 'idempotency_key_reused')
      assert.equal(other.statusCode, 422)
    },
  )
})
