import assert from 'node:assert/strict'
import { test } from 'node:test'
import canonicalize from 'canonicalize'
import { expectStatus, genericBody, type TestApp } from '../helpers/app.ts'
import { addAgent } from '../helpers/more-keys.ts'
import { digestOf, leafOf, linkOf, openEnvelope, type PublishedKey } from '../helpers/open-envelope.ts'
import { sharedApp } from '../helpers/shared-app.ts'

const SALT = 'XaGvK-1McJRNX-agVfElbQ'
const TRACEPARENT = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'
const MS_TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/

/** Members of a record, in the order of the answer. */
const RECORD_MEMBERS =
  'id ledger type state version nextEvents payload salt digest actor key onBehalfOf parent references occurredAt recordedAt entry batch metadata erasure gated'

test('POST /v1/records', async (t) => {
  const app = await sharedApp()

  await t.test('answers the whole record with its members in order', async () => {
    const response = await app.send('POST', '/v1/records', { body: genericBody() })
    assert.equal(response.statusCode, 201)
    assert.equal(response.headers['content-type'], 'application/json; charset=utf-8')
    const record = response.json()
    assert.equal(Object.keys(record).join(' '), RECORD_MEMBERS)
    assert.equal(Object.keys(record.entry).join(' '), 'seq kind leaf chain signedBy')
    assert.match(record.id, /^rec_[0-7][0-9a-hjkmnp-tv-z]{25}$/)
    assert.match(record.salt, /^[A-Za-z0-9_-]{22}$/)
    assert.match(record.recordedAt, MS_TIME)
    assert.ok(Math.abs(Date.parse(record.recordedAt) - Date.now()) < 5_000)
    assert.match(record.entry.leaf, /^[0-9a-f]{64}$/)
    assert.match(record.entry.chain, /^[0-9a-f]{64}$/)
    const { id, salt, recordedAt, entry, ...rest } = record
    assert.deepEqual(rest, {
      ledger: app.ledger.ledger.id,
      type: 'generic/1',
      state: 'RECORDED',
      version: 1,
      nextEvents: [],
      payload: genericBody().payload,
      digest: digestOf(salt, genericBody().payload),
      actor: app.ledger.agent.id,
      key: app.ledger.key.id,
      onBehalfOf: null,
      parent: null,
      references: null,
      occurredAt: null,
      batch: null,
      metadata: null,
      erasure: null,
      gated: null,
    })
  })

  await t.test('shows the same record byte for byte when read', async () => {
    const body = { ...genericBody(), metadata: { note: 'ü"\\\n' }, occurredAt: '2020-02-29T23:59:59.5Z' }
    const made = expectStatus(201, await app.send('POST', '/v1/records', { body }))
    const got = expectStatus(200, await app.send('GET', `/v1/records/${made.json().id}`))
    assert.equal(got.body, made.body)
    assert.equal(got.headers['content-type'], made.headers['content-type'])
  })

  await t.test('numbers entries without gaps and links each to the entry before', async () => {
    const first = await app.notarize()
    const second = await app.notarize()
    assert.equal(second.entry.seq, first.entry.seq + 1)
    assert.equal(second.entry.chain, linkOf(first.entry.chain, second.entry.leaf))
    assert.notEqual(second.salt, first.salt)
    assert.ok(second.id > first.id.slice(0, 12), 'ids are in order of time')
  })

  await t.test('signs the request’s members with a published key', async () => {
    const agent = await addAgent(app, 'a client of the gateway')
    const record = await app.notarize(
      {
        ...genericBody(),
        salt: SALT,
        metadata: { unsigned: true },
        occurredAt: '2026-11-19T08:30:00Z',
        onBehalfOf: agent,
      },
      { headers: { traceparent: TRACEPARENT } },
    )
    const [line] = await app.entries(`?after=${record.entry.seq - 1}&limit=1`)
    const { header, claims, statement } = openEnvelope(line.envelope, await publishedKeys(app))
    assert.deepEqual(statement, {
      _type: 'https://in-toto.io/Statement/v1',
      subject: [{ name: record.id, digest: { sha256: record.digest } }],
      predicateType: 'https://tallystick.dev/predicates/record-notarized/v1',
      predicate: {
        ledger: record.ledger,
        actor: record.actor,
        key: record.key,
        recordedAt: record.recordedAt,
        record: record.id,
        version: 1,
        type: 'generic/1',
        onBehalfOf: agent,
        occurredAt: '2026-11-19T08:30:00.000Z',
        traceparent: TRACEPARENT,
      },
    })
    assert.equal(header.get(1), -8)
    assert.equal(header.get(3), 'application/vnd.in-toto+json')
    assert.deepEqual([...header.keys()], [1, 3, 4, 15])
    assert.deepEqual(
      [...claims],
      [
        [1, app.ledger.ledger.issuer],
        [2, record.id],
        [6, Math.floor(Date.parse(record.recordedAt) / 1000)],
      ],
    )
    assert.equal(record.salt, SALT)
    assert.equal(record.onBehalfOf, agent)
    assert.equal(record.occurredAt, '2026-11-19T08:30:00.000Z')
    assert.deepEqual(record.metadata, { unsigned: true })
    assert.doesNotMatch(JSON.stringify(statement), /unsigned|price of copper/)
    assert.equal(record.digest, digestOf(SALT, record.payload))
    assert.equal(record.entry.leaf, leafOf(Buffer.from(line.envelope, 'base64')).toString('hex'))
    assert.equal(record.entry.chain, line.chain)
    const { documents } = line
    const { id: subject, digest, salt, payload: document } = record
    assert.deepEqual(documents, [{ subject, digest, salt, document, erasedBy: null }])
  })

  await t.test('normalizes occurredAt to milliseconds, however old', async () => {
    for (const [given, shown] of [
      ['2026-11-19T08:30:00Z', '2026-11-19T08:30:00.000Z'],
      ['2026-11-19T08:30:00.1Z', '2026-11-19T08:30:00.100Z'],
      ['2026-11-19T08:30:00.12Z', '2026-11-19T08:30:00.120Z'],
      ['1969-12-31T23:59:59.999Z', '1969-12-31T23:59:59.999Z'],
      ['1600-02-29T00:00:00Z', '1600-02-29T00:00:00.000Z'],
      ['0099-12-31T00:00:00Z', '0099-12-31T00:00:00.000Z'],
      ['9999-12-31T23:59:59.999Z', '9999-12-31T23:59:59.999Z'],
    ]) {
      const record = await app.notarize({ ...genericBody(), occurredAt: given })
      assert.equal(record.occurredAt, shown)
      const got = await app.send('GET', `/v1/records/${record.id}`)
      assert.deepEqual(got.json(), record)
    }
  })

  await t.test('ignores an invalid traceparent', async () => {
    for (const traceparent of [
      '',
      'x',
      `${TRACEPARENT}-more`,
      TRACEPARENT.toUpperCase(),
      `00-${'0'.repeat(32)}-00f067aa0ba902b7-01`,
    ]) {
      const record = await app.notarize(genericBody(), { headers: { traceparent } })
      const [line] = await app.entries(`?after=${record.entry.seq - 1}`)
      const { statement } = openEnvelope(line.envelope, await publishedKeys(app))
      assert.equal('traceparent' in statement.predicate, false, traceparent)
    }
  })

  await t.test('stores members called __proto__ and constructor as data', async () => {
    const text =
      '{"__proto__":{"admin":true},"constructor":{"prototype":{"x":1}},"hasOwnProperty":1,"toString":null}'
    const response = await app.send('POST', '/v1/records', {
      text: `{"type":"generic/1","payload":${text},"metadata":${text}}`,
    })
    const record = expectStatus(201, response).json()
    assert.deepEqual(Object.keys(record.payload).sort(), [
      '__proto__',
      'constructor',
      'hasOwnProperty',
      'toString',
    ])
    assert.equal(record.digest, digestOf(record.salt, JSON.parse(text)))
    assert.equal(canonicalize(record.metadata), canonicalize(JSON.parse(text)))
    assert.equal('admin' in {}, false)
  })

  await t.test('returns numbers and text unchanged', async () => {
    const payload =
      '{"a":1e21,"b":100.0,"c":-0.5,"d":5e-324,"e":9007199254740992,"f":"€😂\\u0007\\"\\\\/","":[],"g":{}}'
    const response = await app.send('POST', '/v1/records', {
      text: `{"type":"generic/1","payload":${payload}}`,
    })
    assert.deepEqual(expectStatus(201, response).json().payload, JSON.parse(payload))
  })

  await t.test('accepts a Unicode payload of exactly 64 KiB in canonical form', async () => {
    const record = await app.notarize(
      genericBody({ text: `${'ä'.repeat((65_536 - '{"text":""}'.length - 1) / 2)}a` }),
    )
    assert.equal(Buffer.byteLength(canonicalize(record.payload)!), 65_536)
  })
})

async function publishedKeys(app: TestApp): Promise<PublishedKey[]> {
  const response = await app.send('GET', '/.well-known/tallystick-keys.json', { key: null })
  return expectStatus(200, response).json().keys
}

test('GET /.well-known/tallystick-keys.json shows envelope keys only', async () => {
  const app = await sharedApp()
  const keys = await publishedKeys(app)
  assert.equal(keys.length, 1)
  const [key] = keys
  assert.deepEqual(Object.keys(key!), [
    'kid',
    'use',
    'alg',
    'spki',
    'activatedAt',
    'retiredAt',
    'compromisedAt',
  ])
  assert.equal(key!.use, 'envelope')
  assert.equal(key!.alg, 'EdDSA')
  assert.equal(key!.kid, Buffer.from((await app.deps.signers.load()).kid).toString('hex'))
})
