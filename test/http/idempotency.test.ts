import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { RECORD_THREAD_BYTES_MIN } from '../../src/http/limits.ts'
import { fingerprint } from '../../src/records/write/idempotency.ts'
import { makeEntropy } from '../../src/signing/entropy.ts'
import { expectStatus, genericBody, OPERATOR_KEY } from '../helpers/app.ts'
import { assertProblem } from '../helpers/assert-problem.ts'
import { addAgent, addKey } from '../helpers/more-keys.ts'
import { addressOf, sharedApp } from '../helpers/shared-app.ts'

const REQUEST_HEADERS = { 'content-type': 'application/json' }

test('the fingerprint of a request depends on its method, path and body', () => {
  const request = { method: 'POST', path: '/v1/records', body: { a: 1 } }
  const hashOf = (changed: object) => {
    const row = fingerprint(makeEntropy(), 'key', { ...request, ...changed })
    return Buffer.from(row!.requestHash).toString('hex')
  }
  const hashes = [{}, { method: 'DELETE' }, { path: '/v1/records/batch' }, { body: { a: 2 } }].map(hashOf)
  assert.equal(new Set(hashes).size, 4)
  assert.equal(hashOf({}), hashes[0])
})

test('an Idempotency-Key', async (t) => {
  const app = await sharedApp()
  const post = (key: string, options: { body?: object; text?: string; apiKey?: string; url?: string } = {}) =>
    app.send('POST', options.url ?? '/v1/records', {
      ...(options.text === undefined ? { body: options.body ?? genericBody() } : { text: options.text }),
      ...(options.apiKey !== undefined && { key: options.apiKey }),
      headers: { 'idempotency-key': key },
    })

  await t.test('replays the first answer byte for byte', async () => {
    const key = randomUUID()
    const body = { ...genericBody(), metadata: { a: 1 }, occurredAt: '2026-11-19T08:30:00Z' }
    const first = expectStatus(201, await post(key, { body }))
    assert.equal(first.headers['idempotency-replayed'], undefined)
    const before = await app.written()
    for (let i = 0; i < 3; i++) {
      const again = expectStatus(201, await post(key, { body }))
      assert.equal(again.body, first.body)
      assert.equal(again.headers['idempotency-replayed'], 'true')
      assert.equal(again.headers['content-type'], first.headers['content-type'])
    }
    assert.deepEqual(await app.written(), before)
  })

  await t.test('recognizes its request however the address is spelled', async () => {
    const { hostname, port } = new URL(await addressOf(app))
    const made = await app.notarize()
    const spellings = (path: string) => [
      path,
      `http://ledger.example${path}`,
      path.replace('/r', '/%72'),
      path.replace('_', '%5F'),
    ]
    const send = async (method: string, path: string, key: string, body: object) => {
      const headers = {
        ...REQUEST_HEADERS,
        authorization: `Bearer ${app.ledger.key.key}`,
        'content-length': JSON.stringify(body).length,
        'idempotency-key': key,
      }
      const sent = request({ hostname, port, method, path, headers }).end(JSON.stringify(body))
      const [answer] = (await once(sent, 'response')) as [IncomingMessage]
      return {
        status: answer.statusCode,
        replayed: answer.headers['idempotency-replayed'],
        text: await text(answer),
      }
    }
    const large = genericBody({ text: 'x'.repeat(RECORD_THREAD_BYTES_MIN) })
    for (const [method, path, body] of [
      ['POST', '/v1/records', genericBody()],
      ['POST', '/v1/records', large],
      ['POST', '/v1/records/batch', { records: [genericBody()] }],
      ['DELETE', `/v1/records/${made.id}/payload`, { code: 'requested' }],
    ] as const) {
      const key = randomUUID()
      const [first, ...others] = spellings(path)
      const { status, text } = await send(method, first!, key, body)
      assert.ok([200, 201, 202].includes(status!), text)
      for (const other of others)
        assert.deepEqual(await send(method, other, key, body), { status, replayed: 'true', text }, other)
    }
    const other = await app.notarize()
    const key = randomUUID()
    await send('DELETE', `/v1/records/${other.id}/payload`, key, { code: 'requested' })
    const reused = await send('DELETE', `/v1/records/${made.id}/payload`, key, { code: 'requested' })
    assert.equal(reused.status, 422, 'another record is another request')
  })

  await t.test('refuses another body with 422 idempotency_key_reused, whichever member differs', async () => {
    const key = randomUUID()
    const body = { ...genericBody(), metadata: { a: 1 } }
    expectStatus(201, await post(key, { body }))
    const before = await app.written()
    for (const other of [
      genericBody(),
      { ...body, metadata: { a: 2 } },
      { ...body, payload: { ...body.payload, n: 1 } },
      { ...body, occurredAt: '2026-11-19T08:30:00Z' },
      { ...body, salt: 'A'.repeat(22) },
    ]) {
      const refused = await post(key, { body: other })
      assert.equal(refused.statusCode, 422)
      assert.equal(refused.json().code, 'idempotency_key_reused')
      assert.equal(refused.json().retryable, false)
    }
    assert.deepEqual(await app.written(), before)
  })

  await t.test('recognizes the same JSON in another spelling', async () => {
    const key = randomUUID()
    const texts = [
      '{"type":"generic/1","payload":{"a":1,"b":"ä","c":100}}',
      ' { "payload" : {"c":1e2,"b":"\\u00e4","a":1.0},\n"type":"generic\\/1"}',
    ]
    const first = expectStatus(201, await post(key, { text: texts[0]! }))
    const second = expectStatus(201, await post(key, { text: texts[1]! }))
    assert.equal(second.body, first.body)
  })

  await t.test('belongs to one agent and is valid with any of its keys', async () => {
    const key = randomUUID()
    const other = await addAgent(app, 'other agent')
    const scopes = ['records:write'] as const
    const first = expectStatus(201, await post(key)).json()
    const sameAgent = expectStatus(201, await post(key, { apiKey: await addKey(app, { scopes }) })).json()
    const otherAgent = expectStatus(
      201,
      await post(key, { apiKey: await addKey(app, { scopes, agent: other }) }),
    ).json()
    assert.equal(sameAgent.id, first.id)
    assert.notEqual(otherAgent.id, first.id)
    assert.equal(otherAgent.actor, other)
  })

  await t.test('belongs to one ledger: another ledger’s request makes a new record', async () => {
    const key = randomUUID()
    const elsewhere = await app.newLedger()
    const first = expectStatus(201, await post(key)).json()
    const second = expectStatus(201, await post(key, { apiKey: elsewhere.key.key }))
    assert.equal(second.headers['idempotency-replayed'], undefined)
    assert.notEqual(second.json().id, first.id)
  })

  await t.test('belongs to one path: another path gets 422 idempotency_key_reused', async () => {
    const key = randomUUID()
    expectStatus(201, await post(key))
    const refused = await post(key, { url: '/v1/records/batch', body: { records: [genericBody()] } })
    assert.equal(refused.statusCode, 422)
    assert.equal(refused.json().code, 'idempotency_key_reused')
  })

  await t.test('makes one entry and 20 equal answers of 20 simultaneous requests', async () => {
    const key = randomUUID()
    const [before] = await app.sql<{ n: number }>(
      'select count(*)::int as n from tallystick.entries where ledger_id = $1',
      [app.ledgerId],
    )
    const answers = await Promise.all(Array.from({ length: 20 }, () => post(key)))
    const [after] = await app.sql<{ n: number }>(
      'select count(*)::int as n from tallystick.entries where ledger_id = $1',
      [app.ledgerId],
    )
    assert.equal(after!.n, before!.n + 1)
    assert.deepEqual(new Set(answers.map((a) => a.statusCode)), new Set([201]))
    assert.equal(new Set(answers.map((a) => a.body)).size, 1)
    assert.equal(answers.filter((a) => a.headers['idempotency-replayed'] === 'true').length, 19)
  })

  await t.test(
    'lets one of several simultaneous different requests succeed, the others get idempotency_key_reused',
    async () => {
      const key = randomUUID()
      const answers = await Promise.all(
        Array.from({ length: 8 }, (_, i) => post(key, { body: genericBody({ i }) })),
      )
      const codes = answers.map((a) => (a.statusCode === 201 ? 'created' : a.json().code)).sort()
      assert.deepEqual(codes, ['created', ...Array(7).fill('idempotency_key_reused')])
    },
  )

  await t.test('must have 1 to 255 visible ASCII characters', async () => {
    const before = await app.written()
    for (const key of ['', ' ', 'a b', 'a\tb', 'ü', 'x'.repeat(256)]) {
      const refused = await post(key)
      assert.equal(refused.statusCode, 400, key)
      assert.equal(refused.json().code, 'invalid_idempotency_key')
    }
    assert.deepEqual(await app.written(), before)
    for (const key of ['!', '~', '"quoted"', 'x'.repeat(255)]) expectStatus(201, await post(key))
  })

  await t.test('is case-sensitive and compared up to the last character', async () => {
    const key = 'x'.repeat(254)
    const ids = []
    for (const text of [`${key}a`, `${key}b`, `${key}B`])
      ids.push(expectStatus(201, await post(text)).json().id)
    assert.equal(new Set(ids).size, 3)
  })

  await t.test('can be used again after a refusal', async () => {
    const key = randomUUID()
    for (const body of [
      { type: 'order/1', payload: {} },
      { type: 'generic/1', payload: {}, gate: 'auto' },
      { type: 'generic/1' },
    ]) {
      assert.equal((await post(key, { body })).statusCode, 422)
    }
    assert.equal((await post(key, { apiKey: 'tly_wrong' })).statusCode, 401)
    const made = expectStatus(201, await post(key))
    assert.equal(made.headers['idempotency-replayed'], undefined)
  })

  await t.test('is not stored as text, and the request’s hash is salted', async () => {
    const key = `visible-${randomUUID()}`
    expectStatus(201, await post(key))
    expectStatus(201, await post(`${key}-2`))
    const rows = await app.sql<{ row: string; fingerprint: string }>(
      `select i::text as row, encode(fingerprint, 'hex') as fingerprint from tallystick.idempotency_keys i
         where ledger_id = $1`,
      [app.ledgerId],
    )
    assert.ok(
      rows.every(({ row }) => !row.includes('visible') && !row.includes(Buffer.from(key).toString('hex'))),
    )
    assert.equal(new Set(rows.map((row) => row.fingerprint)).size, rows.length)
  })
})

test('POST /v1/ledgers refuses an Idempotency-Key with 400 invalid_idempotency_key', async () => {
  const app = await sharedApp()
  const before = await app.written()
  const answer = await app.send('POST', '/v1/ledgers', {
    key: OPERATOR_KEY,
    body: { name: 'twice' },
    headers: { 'idempotency-key': 'once' },
  })
  assertProblem(answer, 400, 'invalid_idempotency_key')
  assert.deepEqual(await app.written(), before)
})
