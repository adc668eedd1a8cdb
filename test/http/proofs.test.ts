import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decodeChunk, encodeChunk } from '../../src/db/chunks/chunk-content.ts'
import { fromHex, toHex } from '../../src/proof/bytes.ts'
import { parseConsistencyProof, parseEntryProof } from '../../src/proof/offline/entry-proof.ts'
import { verifyProof } from '../../src/proof/offline/verify-proof.ts'
import { verifyRecord } from '../../src/proof/offline/verify-record.ts'
import { parseCheckpoint } from '../../src/proof/tree/checkpoint.ts'
import { merkleRoot, verifyConsistency } from '../../src/proof/tree/merkle.ts'
import { nativeProviders } from '../../src/signing/native.ts'
import { expectStatus, genericBody, type SendOptions, type Test, type TestApp } from '../helpers/app.ts'
import { assertProblem } from '../helpers/assert-problem.ts'
import { makePublish, unguarded } from '../helpers/checkpoints.ts'
import { movedCursor } from '../helpers/cursors.ts'
import { addAgent, addKey } from '../helpers/more-keys.ts'
import { runCli } from '../helpers/run-cli.ts'
import { shareApp } from '../helpers/shared-app.ts'
import { temporaryFiles } from '../helpers/temporary-files.ts'

const { sha256 } = nativeProviders

/** A separate application, because the test publishes checkpoints of all its ledgers. */
const publishedApp = shareApp()

/**
 * Sets up a ledger, and a function `prove` that fetches and verifies a proof. The function trusts keys that were read
 * before the proof, not keys that the proof names.
 */
async function setUp(t: Test) {
  const app = await publishedApp()
  const publish = await makePublish(t, app)
  const { noteVerifierKey } = (await app.send('GET', '/v1/ledger')).json()
  const { keys } = (await app.send('GET', '/.well-known/tallystick-keys.json')).json()
  const trust = { kids: [keys[0].kid], noteKey: noteVerifierKey, storedCheckpoints: [], consistency: null }
  const prove = async (url: string, options: SendOptions = {}) => {
    const { body } = expectStatus(200, await app.send('GET', url, options))
    return { body, ...verifyProof(parseEntryProof(body), trust, nativeProviders) }
  }
  return { app, publish, prove, trust }
}

async function notarizeUpTo(app: TestApp, size: number): Promise<void> {
  const { length } = await app.entries()
  await Promise.all(Array.from({ length: size - length }, () => app.notarize()))
}

test('a record and its payload are proved in the newest checkpoint', async (t) => {
  const { app, publish, prove, trust } = await setUp(t)
  const record = await app.notarize()
  await publish()
  await app.notarize()
  await publish()
  const proof = await prove(`/v1/records/${record.id}/proof`)
  assert.deepEqual([proof.seq, proof.checkpoint.size, proof.item], [record.entry.seq, 5, null])
  const shown = await app.send('GET', `/v1/records/${record.id}`)
  verifyRecord(shown.body, proof, nativeProviders)
  const { entry, keys } = JSON.parse(proof.body)
  const { documents, items, ...line } = (await app.entries())[3]
  assert.deepEqual(entry, line)
  assert.deepEqual(keys, (await app.send('GET', '/.well-known/tallystick-keys.json')).json().keys)
  const older = await prove(`/v1/records/${record.id}/proof?size=4`)
  assert.equal(older.checkpoint.size, 4)
  const files = temporaryFiles(t)
  const given = [
    '--proof',
    files.write('proof.json', proof.body),
    '--record',
    files.write('record.json', shown.body),
  ]
  const { code, stdout } = await runCli(['verify', ...given, '--key', trust.kids[0]])
  assert.deepEqual([code, stdout.split(' ')[0]], [0, 'PROOF_OK'])
})

test('every record of a batch is proved, in batches of 1, 2 and 2,000', async (t) => {
  const { app, publish, prove } = await setUp(t)
  const agent = await addAgent(app, 'another agent')
  for (const count of [1, 2, 2_000]) {
    const item = { ...genericBody({ count }), onBehalfOf: agent, occurredAt: '2026-11-19T12:00:00Z' }
    const records = Array.from({ length: count }, (_, i) => (i % 2 ? item : genericBody({ i })))
    const response = await app.send('POST', '/v1/records/batch', { body: { records } })
    const batch = expectStatus(201, response).json()
    await publish()
    for (const index of new Set([0, count >> 1, count - 1])) {
      const { id, digest } = batch.records[index]
      const proof = await prove(`/v1/records/${id}/proof`)
      assert.deepEqual([proof.item!.record, proof.item!.digest], [id, digest])
      verifyRecord((await app.send('GET', `/v1/records/${id}`)).body, proof, nativeProviders)
    }
    const alone = await prove(`/v1/entries/${batch.entry.seq}/proof`)
    assert.deepEqual([alone.item, alone.statement.predicate['count']], [null, count])
  }
})

test('entries of every kind are proved in every checkpoint, at sizes around the edges of tiles', async (t) => {
  const { app, publish, prove } = await setUp(t)
  const sizes = [3, 255, 256, 257, 512, 513]
  for (const size of sizes) {
    await notarizeUpTo(app, size)
    await publish()
  }
  const leaves = (await app.entries()).map(({ leaf }) => fromHex(leaf))
  for (const size of sizes) {
    for (const seq of new Set([0, 1, 2, 254, 255, 256, 511, size - 1].filter((one) => one < size))) {
      const { checkpoint } = await prove(`/v1/entries/${seq}/proof?size=${size}`)
      assert.equal(toHex(checkpoint.root), toHex(merkleRoot(sha256, leaves.slice(0, size))))
    }
  }
  const anySizes = [1, 2, 100, 254, ...sizes, 400]
  for (const [from, to] of anySizes.flatMap((a) =>
    anySizes.map((b) => [Math.min(a, b), Math.max(a, b)] as const),
  )) {
    const { body } = expectStatus(
      200,
      await app.send('GET', `/v1/checkpoints/consistency?from=${from}&to=${to}`),
    )
    const { path } = parseConsistencyProof(body)
    const [root1, root2] = [from, to].map((size) => merkleRoot(sha256, leaves.slice(0, size))) as [
      Uint8Array,
      Uint8Array,
    ]
    verifyConsistency(sha256, from, to, path, root1, root2)
  }
})

test('a proof needs as many queries in a large ledger as in a small one', async (t) => {
  const { app, publish, prove } = await setUp(t)
  let queries = 0
  const query = app.deps.readPool.query.bind(app.deps.readPool)
  t.mock.method(app.deps.readPool, 'query', (...args: never[]): unknown => {
    queries++
    return (query as (...args: never[]) => unknown)(...args)
  })
  const counts: number[][] = []
  for (const size of [300, 900]) {
    await notarizeUpTo(app, size)
    await publish()
    const taken = []
    for (const url of ['/v1/entries/7/proof', '/v1/checkpoints/consistency?from=5&to=299']) {
      // The first request also looks up the caller. Then the server caches the caller for some seconds.
      for (let n = 0; n < 2; n++) {
        queries = 0
        url.includes('entries') ? await prove(url) : expectStatus(200, await app.send('GET', url))
      }
      taken.push(queries)
    }
    counts.push(taken)
  }
  assert.deepEqual(counts, [
    [6, 3],
    [6, 3],
  ])
})

test('an entry without a checkpoint gets 409 checkpoint_pending, retryable', async (t) => {
  const { app, publish, prove } = await setUp(t)
  const { id } = await app.notarize()
  const pending = async (url: string) => {
    const response = await app.send('GET', url)
    assert.equal(assertProblem(response, 409, 'checkpoint_pending')['retryable'], true)
    assert.equal(response.headers['retry-after'], '1')
  }
  await pending(`/v1/records/${id}/proof`)
  await pending('/v1/checkpoints/consistency?from=1&to=1')
  await publish()
  await prove(`/v1/records/${id}/proof`)
  const { entry } = await app.notarize()
  await pending(`/v1/entries/${entry.seq}/proof`)
  await pending('/v1/checkpoints/consistency?from=1&to=5')
})

test('refuses sizes without a checkpoint, and entries of other records', async (t) => {
  const { app, publish, prove } = await setUp(t)
  const [record, other] = [await app.notarize(), await app.notarize()]
  await publish()
  const about = (query: string) => app.send('GET', `/v1/records/${record.id}/proof${query}`)
  assertProblem(await about('?size=4'), 404, 'not_found')
  assertProblem(await about('?size=999'), 404, 'not_found')
  assert.equal(assertProblem(await about('?size=3'), 422, 'invalid_request')['path'], '/size')
  for (const query of ['?size=0', '?size=-1', '?size=1e2', '?size=9007199254740993', '?seq=01', '?leaf=1'])
    assertProblem(await about(query), 422, 'invalid_request')
  assertProblem(await about(`?seq=${other.entry.seq}`), 404, 'not_found')
  assertProblem(await about('?seq=999'), 404, 'not_found')
  assert.equal((await prove(`/v1/records/${record.id}/proof?seq=${record.entry.seq}`)).seq, record.entry.seq)
  for (const seq of ['999', '-1', 'x', '1.5', '9999999999999999'])
    assertProblem(await app.send('GET', `/v1/entries/${seq}/proof`), 404, 'not_found')
  for (const query of ['?from=2&to=1', '?from=0&to=1', '?from=1', '?from=1&to=x', '?from=1&to=1&x=1'])
    assertProblem(await app.send('GET', `/v1/checkpoints/consistency${query}`), 422, 'invalid_request')
})

test('a proof covers the whole record, also after its payload was erased', async (t) => {
  const { app, publish, prove } = await setUp(t)
  const parent = await app.notarize()
  const body = { ...genericBody(), parent: parent.id, references: ['jira:OPS-7'], metadata: { a: 1 } }
  const { id } = await app.notarize(body)
  await publish()
  const shown = () => app.send('GET', `/v1/records/${id}`)
  verifyRecord((await shown()).body, await prove(`/v1/records/${id}/proof`), nativeProviders)
  const response = await app.send('DELETE', `/v1/records/${id}/payload`, { body: { code: 'requested' } })
  const { entry } = expectStatus(202, response).json().erasure
  await publish()
  const proof = await prove(`/v1/records/${id}/proof`)
  assert.equal(proof.checkpoint.size, entry.seq + 1)
  const erasure = await prove(`/v1/records/${id}/proof?seq=${entry.seq}`)
  assert.deepEqual([erasure.seq, erasure.statement.kind], [entry.seq, 'payload-erased'])
  const erased = (await shown()).body
  assert.throws(() => verifyRecord(erased, proof, nativeProviders), /document_presence/)
})

test('a key with records:read:own gets no proofs of other records or entries', async (t) => {
  const { app, publish, prove } = await setUp(t)
  const agent = await addAgent(app, 'another agent')
  const own = await addKey(app, { scopes: ['records:read:own'], agent })
  const writer = await addKey(app, { scopes: ['records:write'], agent })
  const theirs = await app.notarize()
  const performed = await app.notarize(genericBody(), { key: writer })
  const commissioned = await app.notarize({ ...genericBody(), onBehalfOf: agent })
  await publish()
  assertProblem(await app.send('GET', `/v1/records/${theirs.id}/proof`, { key: own }), 404, 'not_found')
  for (const { id } of [performed, commissioned]) await prove(`/v1/records/${id}/proof`, { key: own })
  for (const scope of ['records:read', 'audit:read'] as const) {
    const key = await addKey(app, { scopes: [scope] })
    await prove(`/v1/records/${theirs.id}/proof`, { key })
  }
  assertProblem(await app.send('GET', '/v1/entries/0/proof', { key: own }), 403, 'forbidden')
})

test('a changed stored tree gets 500 and is logged instead of a proof', async (t) => {
  const { app, publish, prove } = await setUp(t)
  await notarizeUpTo(app, 300)
  await publish()
  // The last URL's proof has hashes that agree with each other, but contradict a signed root. To notice this, the
  // server computes the roots of both sizes.
  const urls = [
    '/v1/entries/7/proof',
    '/v1/entries/299/proof',
    '/v1/checkpoints/consistency?from=7&to=280',
    '/v1/checkpoints/consistency?from=9&to=10',
  ]
  const provesNone = async (wanted: string[]) => {
    for (const url of wanted) assertProblem(await app.send('GET', url), 500, 'internal_error')
  }
  // Flips one bit of each tile. A second call restores the bits.
  const flip = () =>
    unguarded(
      app,
      `update tallystick.tree_tiles
       set hashes = set_byte(hashes, 300 % length(hashes), get_byte(hashes, 300 % length(hashes)) # 1)
       where ledger_id = '${app.ledgerId}'`,
    )
  await flip()
  await provesNone(urls)
  assert.match(app.logs(), /merkle_path: the path from leaf 7 of 300 leads to another root/)
  await flip()
  await prove(urls[0]!)
  await unguarded(
    app,
    `update tallystick.tree_tiles set hashes = substr(hashes, 1, 32 * 200)
     where ledger_id = '${app.ledgerId}' and level = 0`,
  )
  await provesNone([urls[0]!])
  await unguarded(app, `delete from tallystick.tree_tiles where ledger_id = '${app.ledgerId}'`)
  await provesNone(urls)
})

test('a batch with changed records gets 500 instead of a proof', async (t) => {
  const { app, publish } = await setUp(t)
  const body = { records: [genericBody(), genericBody()] }
  const batch = (await app.send('POST', '/v1/records/batch', { body })).json()
  await publish()
  const [chunk] = await app.sql<{ content: Buffer }>(
    'select content from tallystick.batch_chunks where ledger_id = $1',
    [app.ledgerId],
  )
  const records = decodeChunk(chunk!.content, 2)
  const content = encodeChunk(records.with(1, { ...records[1]!, type: 'generic/2' }))
  await unguarded(
    app,
    `update tallystick.batch_chunks set content = '\\x${content.toString('hex')}' where ledger_id = '${app.ledgerId}'`,
  )
  const url = `/v1/records/${batch.records[0].id}/proof`
  assertProblem(await app.send('GET', url), 500, 'internal_error')
})

test('checkpoints are listed newest first, and each is found by its size', async (t) => {
  const { app, publish } = await setUp(t)
  assert.deepEqual((await app.send('GET', '/v1/checkpoints')).json(), { data: [], nextCursor: null })
  for (const size of [3, 4, 5, 6, 7]) {
    await notarizeUpTo(app, size)
    await publish()
  }
  const sizes: number[] = []
  let pages = 0
  let first: string | null = null
  for (let cursor: string | null = ''; cursor !== null; pages++) {
    const url: string = `/v1/checkpoints?limit=2${cursor && `&cursor=${cursor}`}`
    const page = expectStatus(200, await app.send('GET', url)).json()
    assert.ok(page.data.every((one: { publishedAt: string }) => /^\d{4}-.*\.\d{3}Z$/.test(one.publishedAt)))
    sizes.push(...page.data.map((one: { size: number }) => one.size))
    cursor = page.nextCursor
    first ??= cursor
  }
  assert.deepEqual([sizes, pages], [[7, 6, 5, 4, 3], 3])
  const note = expectStatus(200, await app.send('GET', '/v1/checkpoints/5'))
  assert.equal(note.headers['content-type'], 'text/plain; charset=utf-8')
  assert.equal(parseCheckpoint(note.body).checkpoint.size, 5)
  const latest = await app.send('GET', '/v1/checkpoints/latest')
  assert.equal(latest.body, (await app.send('GET', '/v1/checkpoints/7')).body)
  for (const size of ['2', '8', '0', '05', 'x', '99999999999999999999'])
    assertProblem(await app.send('GET', `/v1/checkpoints/${size}`), 404, 'not_found')
  for (const query of ['limit=0', 'limit=201', 'cursor=x', `cursor=${movedCursor(first!, [-1])}`])
    assertProblem(await app.send('GET', `/v1/checkpoints?${query}`), 422, 'invalid_request')
})
