import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { toHex } from '../../src/proof/bytes.ts'
import { makeFindKey } from '../../src/proof/offline/key-hints.ts'
import { detachReceipt } from '../../src/proof/receipt/receipt.ts'
import { verifyConsistencyReceipt, verifyReceipt } from '../../src/proof/receipt/verify-receipt.ts'
import { parseCheckpoint } from '../../src/proof/tree/checkpoint.ts'
import { nativeProviders } from '../../src/signing/native.ts'
import { expectStatus, genericBody, type Test } from '../helpers/app.ts'
import { assertProblem } from '../helpers/assert-problem.ts'
import { makePublish, unguarded } from '../helpers/checkpoints.ts'
import { addAgent, addKey } from '../helpers/more-keys.ts'
import { shareApp } from '../helpers/shared-app.ts'

/** A separate application, because the test publishes checkpoints of all its ledgers. */
const publishedApp = shareApp()

async function setUp(t: Test) {
  const app = await publishedApp()
  const publish = await makePublish(t, app)
  const { noteVerifierKey: noteKey } = (await app.send('GET', '/v1/ledger')).json()
  const { keys } = (await app.send('GET', '/.well-known/tallystick-keys.json')).json()
  const trust = { noteKey, findKey: makeFindKey(keys, nativeProviders) }
  const get = async (url: string) => {
    const response = expectStatus(200, await app.send('GET', url))
    assert.equal(response.headers['content-type'], 'application/cose')
    return new Uint8Array(response.rawPayload)
  }
  const verify = async (url: string) => verifyReceipt(await get(url), trust, nativeProviders)
  return { app, publish, get, verify, noteKey }
}

test('a record’s receipt proves its position in the tree of the newest checkpoint', async (t) => {
  const { app, publish, get, verify } = await setUp(t)
  const record = await app.notarize()
  await publish()
  await app.notarize()
  await publish()
  const url = `/v1/records/${record.id}/receipt?statement=true`
  const found = await verify(url)
  assert.deepEqual([found.seq, found.size, found.item], [record.entry.seq, 5, null])
  assert.equal(found.statement.subjects[0].name, record.id)
  assert.equal(toHex(found.leaf), record.entry.leaf)
  const { checkpoint } = parseCheckpoint((await app.send('GET', '/v1/checkpoints/latest')).body)
  assert.deepEqual([toHex(found.root), found.size], [toHex(checkpoint.root), checkpoint.size])
  const { receipt } = detachReceipt(await get(url))
  assert.deepEqual(await get(`/v1/records/${record.id}/receipt`), receipt)
  assert.deepEqual(await get(`/v1/entries/${record.entry.seq}/receipt`), receipt)
  assert.equal((await verify(`${url}&size=4`)).size, 4)
})

test('a record of a batch has its own path; the batch’s receipt has none', async (t) => {
  const { app, publish, verify } = await setUp(t)
  const agent = await addAgent(app, 'another agent')
  for (const count of [1, 3, 70]) {
    const records = Array.from({ length: count }, (_, i) => ({ ...genericBody({ i }), onBehalfOf: agent }))
    const batch = expectStatus(201, await app.send('POST', '/v1/records/batch', { body: { records } })).json()
    await publish()
    for (const index of new Set([0, count - 1])) {
      const { id, digest } = batch.records[index]
      const { item, statement } = await verify(`/v1/records/${id}/receipt?statement=true`)
      assert.deepEqual([item!.record, item!.digest, item!.onBehalfOf], [id, digest, agent])
      assert.equal(statement.kind, 'batch-notarized')
    }
    assert.equal((await verify(`/v1/entries/${batch.entry.seq}/receipt?statement=true`)).item, null)
  }
})

test('a consistency receipt connects an earlier checkpoint with the newest or a chosen later one', async (t) => {
  const { app, publish, get, noteKey } = await setUp(t)
  await publish()
  const kept = parseCheckpoint((await app.send('GET', '/v1/checkpoints/latest')).body).checkpoint
  for (let n = 0; n < 2; n++) {
    await app.notarize()
    await publish()
  }
  const url = '/v1/checkpoints/consistency/receipt?from=3'
  const verify = async (query: string) =>
    verifyConsistencyReceipt(await get(url + query), kept, noteKey, nativeProviders).size
  assert.deepEqual([await verify(''), await verify('&to=4'), await verify('&to=3')], [5, 4, 3])
  assertProblem(await app.send('GET', `${url}&to=6`), 404, 'not_found')
  const refused = await app.send('GET', '/v1/checkpoints/consistency/receipt?from=6')
  assert.equal(assertProblem(refused, 422, 'invalid_request')['path'], '/from')
})

test('wait makes a receipt request wait for its checkpoint, at most that many seconds', async (t) => {
  const { app, publish, verify } = await setUp(t)
  const { id } = await app.notarize()
  const url = `/v1/records/${id}/receipt?statement=true`
  assertProblem(await app.send('GET', url), 409, 'checkpoint_pending')
  assertProblem(
    await app.send('GET', '/v1/checkpoints/consistency/receipt?from=1'),
    409,
    'checkpoint_pending',
  )
  const beganAt = performance.now()
  assertProblem(await app.send('GET', `${url}&wait=1`), 409, 'checkpoint_pending')
  assert.ok(performance.now() - beganAt >= 1_000)
  const waiting = verify(`${url}&wait=10`)
  await sleep(300)
  assert.equal(app.deps.admission.underWay, 0)
  await publish()
  assert.equal((await waiting).size, 4)
  for (const wait of ['11', '-1', '1.25', '10.1', '01', ''])
    assertProblem(await app.send('GET', `${url}&wait=${wait}`), 422, 'invalid_request')
})

test('at most 32 requests wait for a checkpoint and share its polling; more get 503', async (t) => {
  const { app, publish } = await setUp(t)
  const { id } = await app.notarize()
  await app.send('GET', `/v1/records/${id}/receipt`)
  let looks = 0
  const newest = app.deps.checkpoints.newest.bind(app.deps.checkpoints)
  t.mock.method(app.deps.checkpoints, 'newest', (ledgerId: never) => {
    looks++
    return newest(ledgerId)
  })
  const asked = Array.from({ length: 40 }, () => app.send('GET', `/v1/records/${id}/receipt?wait=10`))
  await sleep(700)
  await publish()
  const codes = (await Promise.all(asked)).map(({ statusCode }) => statusCode)
  assert.deepEqual(
    [codes.filter((code) => code === 200).length, codes.filter((code) => code === 503).length],
    [32, 8],
  )
  // All 40 requests make a query at their start, and the 32 requests that may wait make a query at their end. The other
  // queries are polls, which the requests share.
  assert.ok(looks < 40 + 2 * 32 + 10, `${looks} looks`)
})

test('a key with records:read:own gets only the receipts of its own records', async (t) => {
  const { app, publish } = await setUp(t)
  const agent = await addAgent(app, 'own')
  const key = await addKey(app, { agent, scopes: ['records:read:own', 'records:write'] })
  const [mine, other] = [await app.notarize(genericBody(), { key }), await app.notarize()]
  await publish()
  expectStatus(200, await app.send('GET', `/v1/records/${mine.id}/receipt`, { key }))
  assertProblem(await app.send('GET', `/v1/records/${other.id}/receipt`, { key }), 404, 'not_found')
})

test('a tree head that the note key did not sign gets 500 integrity_fault instead of a receipt', async (t) => {
  const { app, publish } = await setUp(t)
  const { id } = await app.notarize()
  await publish()
  const { body: note } = await app.send('GET', '/v1/checkpoints/latest')
  const change = (text: string) =>
    unguarded(app, `update tallystick.checkpoints set note = '${text}' where ledger_id = '${app.ledgerId}'`)
  const line = note.trimEnd().split('\n').at(-1)!
  const other = `${line.slice(0, -8)}AAAA${line.slice(-4)}`
  for (const changed of [note.replace(`${line}\n`, ''), note.replace(line, other)]) {
    await change(changed)
    assertProblem(await app.send('GET', `/v1/records/${id}/receipt`), 500, 'integrity_fault')
    expectStatus(200, await app.send('GET', `/v1/records/${id}/proof`))
  }
})
