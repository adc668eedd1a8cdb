import assert from 'node:assert/strict'
import { test } from 'node:test'
import { withClient } from '../../src/db/connect/client.ts'
import { parseId } from '../../src/proof/ids.ts'
import { expectStatus, genericBody } from '../helpers/app.ts'
import { assertProblem } from '../helpers/assert-problem.ts'
import { listStoredRecords } from '../helpers/batch-records.ts'
import { checkLedger } from '../helpers/check-ledger.ts'
import { openEraser } from '../helpers/eraser.ts'
import { addKey } from '../helpers/more-keys.ts'
import { openEnvelope } from '../helpers/open-envelope.ts'
import { assertVerifies, ERASE, erase, PERSONAL, postBatch, SECRET } from '../helpers/personal-records.ts'
import { sharedApp } from '../helpers/shared-app.ts'

test('DELETE /v1/records/{id}/payload', async (t) => {
  const app = await sharedApp()

  await t.test(
    'answers the erasure and its entry, which names the record, its digest and its first entry',
    async () => {
      const record = await app.notarize(PERSONAL)
      const answer = expectStatus(202, await erase(app, record.id)).json()
      const { entry, recordedAt, ...erasure } = answer.erasure
      assert.deepEqual(Object.keys(answer), ['id', 'erasure', 'remaining'])
      assert.deepEqual([answer.id, answer.remaining], [record.id, []])
      const { id: by } = app.ledger.agent
      const { id: key } = app.ledger.key
      const erased = { document: 'payload', documentSeq: record.entry.seq, completion: null }
      assert.deepEqual(erasure, { ...erased, ...ERASE, by, key })

      const [line] = await app.entries(`?after=${entry.seq - 1}`)
      assert.deepEqual(entry, { seq: line.seq, kind: 'payload-erased', leaf: line.leaf, chain: line.chain })
      assert.deepEqual([line.documents, line.items], [[], null])
      const { keys } = (await app.send('GET', '/.well-known/tallystick-keys.json')).json()
      const { statement } = openEnvelope(line.envelope, keys)
      assert.deepEqual(statement.subject, [{ name: record.id, digest: { sha256: record.digest } }])
      assert.deepEqual(statement.predicate, {
        ledger: app.ledger.ledger.id,
        actor: app.ledger.agent.id,
        key: app.ledger.key.id,
        recordedAt,
        seq: record.entry.seq,
        code: ERASE.code,
      })
    },
  )

  await t.test('accepts a code without a reason', async () => {
    const record = await app.notarize()
    const { erasure } = expectStatus(202, await erase(app, record.id, { code: 'expired' })).json()
    assert.deepEqual([erasure.code, erasure.reason], ['expired', null])
  })

  await t.test('refuses a second erasure and names the first one’s entry', async () => {
    const record = await app.notarize()
    const { seq } = expectStatus(202, await erase(app, record.id)).json().erasure.entry
    const before = await app.written()
    for (const headers of [{}, { 'idempotency-key': 'another-request' }]) {
      const problem = assertProblem(await erase(app, record.id, ERASE, { headers }), 409, 'already_ended')
      assert.deepEqual([problem['seq'], problem['remaining']], [seq, []])
      assert.match(problem['detail'] as string, new RegExp(`erased by entry ${seq}$`))
    }
    assert.deepEqual(await app.written(), before)
  })

  await t.test('of simultaneous erasures one succeeds, the others get 409 already_ended', async () => {
    const record = await app.notarize()
    const answers = await Promise.all(Array.from({ length: 8 }, () => erase(app, record.id)))
    const [won, ...others] = answers.filter((answer) => answer.statusCode === 202)
    assert.deepEqual([others.length, answers.length], [0, 8])
    const { seq } = won!.json().erasure.entry
    for (const answer of answers.filter((one) => one !== won))
      assert.equal(assertProblem(answer, 409, 'already_ended')['seq'], seq)
    await withClient(app.database.superuserUrl, (client) =>
      checkLedger(client, parseId('led', app.ledger.ledger.id)),
    )
  })

  await t.test(
    'a retry with the same Idempotency-Key gets the first answer; another body gets idempotency_key_reused',
    async () => {
      const record = await app.notarize()
      const headers = { 'idempotency-key': `erase-${record.id}` }
      const first = expectStatus(202, await erase(app, record.id, ERASE, { headers }))
      const before = await app.written()
      const again = expectStatus(202, await erase(app, record.id, ERASE, { headers }))
      assert.equal(again.body, first.body)
      assert.deepEqual(
        [first.headers['idempotency-replayed'], again.headers['idempotency-replayed']],
        [undefined, 'true'],
      )
      const other = await erase(app, record.id, { code: 'other' }, { headers })
      assertProblem(other, 422, 'idempotency_key_reused')
      assert.deepEqual(await app.written(), before)
    },
  )

  const bad: [string, unknown][] = [
    ['no body', null],
    ['no code', {}],
    ['an empty code', { code: '' }],
    ['a code that begins with a digit', { code: '1a' }],
    ['a code in capitals', { code: 'GDPR' }],
    ['a code of 65 characters', { code: 'a'.repeat(65) }],
    ['an empty reason', { code: 'a', reason: '' }],
    ['a reason of 1,001 characters', { code: 'a', reason: 'ü'.repeat(1_001) }],
    ['a reason that is no text', { code: 'a', reason: 7 }],
    ['an unknown member', { code: 'a', document: 'payload' }],
  ]
  for (const [what, body] of bad) {
    await t.test(`refuses ${what}`, async () => {
      const record = await app.notarize()
      const before = await app.written()
      assertProblem(await erase(app, record.id, body), 422, 'invalid_request')
      assert.deepEqual(await app.written(), before)
    })
  }

  await t.test('refuses duplicate members, an empty body and other content types', async () => {
    const record = await app.notarize()
    const url = `/v1/records/${record.id}/payload`
    const twice = await app.send('DELETE', url, { text: '{"code":"a","code":"b"}' })
    assertProblem(twice, 400, 'lossy_json')
    assertProblem(await app.send('DELETE', url, { text: '' }), 400, 'bad_json')
    const plain = { text: '{"code":"a"}', headers: { 'content-type': 'text/plain' } }
    assertProblem(await app.send('DELETE', url, plain), 415, 'unsupported_media_type')
  })

  await t.test('accepts the longest code and reason', async () => {
    const record = await app.notarize()
    const longest = { code: 'a'.repeat(64), reason: '𝄞'.repeat(1_000) }
    const { erasure } = expectStatus(202, await erase(app, record.id, longest)).json()
    assert.equal(erasure.reason, longest.reason)
  })

  await t.test('answers 404 to ids that are not records of the ledger', async () => {
    const elsewhere = await app.newLedger()
    const foreign = await app.notarize(genericBody(), { key: elsewhere.key.key })
    const { batch } = expectStatus(201, await postBatch(app, 1)).json()
    for (const id of [foreign.id, batch, 'rec_01jegv5gyme05800000000000a', 'x'])
      assertProblem(await erase(app, id), 404, 'not_found')
  })

  await t.test('needs only the scope payloads:erase', async () => {
    const record = await app.notarize()
    const writer = await addKey(app, { scopes: ['records:write', 'records:read', 'keys:manage'] })
    const refused = assertProblem(await erase(app, record.id, ERASE, { key: writer }), 403, 'forbidden')
    assert.equal(refused['scope'], 'payloads:erase')
    const eraser = await addKey(app, { scopes: ['payloads:erase'] })
    expectStatus(202, await erase(app, record.id, ERASE, { key: eraser }))
  })
})

test('erased documents are hidden', async (t) => {
  const app = await sharedApp()
  const eraser = openEraser(t, app)
  const headers = { 'idempotency-key': 'the-first-request' }
  const body = { ...PERSONAL, references: [SECRET] }
  const record = await app.notarize(body, { headers })
  const batch = (await postBatch(app, 3, { 'idempotency-key': 'the-batch' })).json()
  const item = batch.records[1]
  const kept = (await app.send('GET', `/v1/records/${batch.records[0].id}`)).body
  const { erasure } = expectStatus(202, await erase(app, record.id)).json()
  expectStatus(202, await erase(app, item.id, { code: 'expired' }))
  const stored = async () => {
    const own = await app.sql<{ text: string }>(
      `select convert_from(coalesce(payload, '') || coalesce(metadata, ''), 'UTF8') as text from tallystick.records
       where ledger_id = $1 order by first_seq`,
      [app.ledgerId],
    )
    const items = await listStoredRecords(app)
    return [
      ...own,
      ...items.map(({ document }) => ({
        text: document.erasedSeq === undefined ? `${document.payload}${document.metadata ?? ''}` : '',
      })),
    ]
  }
  assert.equal(
    (await stored()).filter(({ text }) => text.includes(SECRET)).length,
    4,
    'the worker has not come yet',
  )

  const assertHidden = async () => {
    const shown = (await app.send('GET', `/v1/records/${record.id}`)).json()
    const { code, by, recordedAt } = erasure
    assert.deepEqual(shown, {
      ...record,
      payload: null,
      salt: null,
      metadata: null,
      references: null,
      erasure: { code, by, recordedAt, seq: erasure.entry.seq },
    })
    assert.deepEqual(Object.keys(shown), Object.keys(record))
    assert.equal((await app.send('GET', `/v1/records/${item.id}`)).json().payload, null)
    const list = (await app.send('GET', '/v1/records')).json().data
    assert.deepEqual(list[3], shown)
    assert.equal(
      JSON.stringify(list).split(SECRET).length - 1,
      4,
      'payload and metadata of the two that remain',
    )
    const found = (await app.send('GET', `/v1/records?reference=${SECRET}`)).json()
    assert.deepEqual(found, { data: [], nextCursor: null })
    assert.equal((await app.send('GET', `/v1/records/${batch.records[0].id}`)).body, kept)

    for (const url of ['/v1/entries', '/v1/export']) {
      const { body } = await app.send('GET', url)
      assert.equal(body.split(SECRET).length - 1, 2, `${url}: the two items that were not erased`)
      for (const salt of [record.salt, item.salt]) assert.ok(!body.includes(salt), url)
    }
    const lines = await app.entries()
    const [document] = lines[record.entry.seq].documents
    assert.deepEqual(document, {
      subject: record.id,
      digest: record.digest,
      salt: null,
      document: null,
      erasedBy: erasure.entry.seq,
    })
    assert.deepEqual(
      lines[batch.entry.seq].documents.map((one: { erasedBy: number }) => one.erasedBy),
      [null, erasure.entry.seq + 1, null],
    )
    await assertVerifies(app)
  }

  await t.test('from every reader as soon as the entry is written', assertHidden)

  await t.test('from a client that repeats the request that wrote them', async () => {
    const again = expectStatus(201, await app.send('POST', '/v1/records', { body, headers }))
    assert.equal(again.headers['idempotency-replayed'], 'true')
    assert.equal(again.body, (await app.send('GET', `/v1/records/${record.id}`)).body)
    const replayed = expectStatus(201, await postBatch(app, 3, { 'idempotency-key': 'the-batch' })).json()
    const salts = batch.records.map((one: { salt: string }) => one.salt).with(1, null)
    assert.deepEqual(
      replayed.records.map((one: { salt: string }) => one.salt),
      salts,
    )
  })

  await t.test('from a reader of the database, once the worker has run', async () => {
    await eraser.run()
    assert.deepEqual(
      eraser.logged
        .filter(({ ledger }) => ledger === app.ledger.ledger.id)
        .map(({ level, seq, documents }) => [level, seq, documents]),
      [['info', erasure.entry.seq, 2]],
    )
    const texts = (await stored()).map(({ text }) => text)
    assert.deepEqual(
      texts.map((text) => text.includes(SECRET)),
      [false, true, false, true],
    )
    assert.equal(texts[0], '')
    await assertHidden()
    const keys = await app.sql<{ text: string }>(
      `select k::text as text from tallystick.idempotency_keys k
       where ledger_id = $1 and salt is null and fingerprint is null`,
      [app.ledgerId],
    )
    assert.equal(keys.length, 2, 'a short request could be guessed from its fingerprint')
  })

  await t.test('and a later retry of that request gets idempotency_key_reused', async () => {
    const again = await app.send('POST', '/v1/records', { body, headers })
    assertProblem(again, 422, 'idempotency_key_reused')
    const batchAgain = await postBatch(app, 3, { 'idempotency-key': 'the-batch' })
    assertProblem(batchAgain, 422, 'idempotency_key_reused')
  })

  await t.test(
    'an auditor sees the erasure’s entry and the document’s digest, but not the document',
    async () => {
      const auditor = await addKey(app, { scopes: ['audit:read'] })
      const lines = await app.entries('', { key: auditor })
      assert.equal(lines[record.entry.seq].documents[0].erasedBy, erasure.entry.seq)
      assert.equal(lines[record.entry.seq].documents[0].digest, record.digest)
      assert.equal(lines[erasure.entry.seq].kind, 'payload-erased')
      assert.ok(!JSON.stringify(lines).includes(SECRET))
    },
  )
})
