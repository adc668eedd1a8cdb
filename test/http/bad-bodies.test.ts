import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { BODY_BYTES_MAX } from '../../src/load/limits.ts'
import { expectStatus, genericBody, OPERATOR_KEY, type SendOptions } from '../helpers/app.ts'
import { assertProblem } from '../helpers/assert-problem.ts'
import { sharedApp } from '../helpers/shared-app.ts'

const vectors = JSON.parse(readFileSync(new URL('../vectors/vectors.json', import.meta.url), 'utf8')) as {
  refusedJson: string[]
  acceptedJson: string[]
}

/** Codes with which the server refuses the invalid JSON texts of the test vectors. */
const REFUSED_CODES = ['lossy_json', 'bad_json'] as const
const isSyntax = (text: string) => {
  try {
    JSON.parse(text)
    return false
  } catch {
    return true
  }
}

const notarize = (payload: string) => `{"type":"generic/1","payload":${payload}}`
const nested = (depth: number) => `${'{"a":'.repeat(depth - 1)}{}${'}'.repeat(depth - 1)}`
const utf8 = (text: string) => Buffer.from(text)

type Case = { what: string; status: number; code: string; send: SendOptions; members?: object }

const text = (what: string, status: number, code: string, body: string | Buffer, headers = {}): Case => ({
  what,
  status,
  code,
  send: { text: body, headers },
})
const json = (what: string, code: string, body: unknown, members: object = {}): Case => ({
  what,
  status: 422,
  code,
  send: { body },
  members,
})

const BAD_TEXTS: Case[] = [
  ...vectors.refusedJson.map((t) =>
    text(`the vectors' ${t}`, 400, REFUSED_CODES[isSyntax(t) ? 1 : 0], notarize(t)),
  ),
  text('an empty body', 400, 'bad_json', ''),
  text('white space only', 400, 'bad_json', ' \n'),
  text('half a body', 400, 'bad_json', notarize('{"a":1').slice(0, -1)),
  text('text after the value', 400, 'bad_json', `${notarize('{}')} {}`),
  text('a comment', 400, 'bad_json', `${notarize('{}')}//x`),
  text('single quotes', 400, 'bad_json', notarize("{'a':1}")),
  text('a comma too many', 400, 'bad_json', notarize('{"a":1,}')),
  text('NaN', 400, 'bad_json', notarize('{"a":NaN}')),
  text('a raw control character in a string', 400, 'bad_json', notarize('{"a":"\n"}')),
  text('a byte order mark', 400, 'bad_json', `\ufeff${notarize('{}')}`),
  text('UTF-16', 400, 'bad_json', Buffer.from(notarize('{}'), 'utf16le')),
  text('Latin-1', 400, 'bad_encoding', Buffer.from(notarize('{"a":"ü"}'), 'latin1')),
  text(
    'overlong UTF-8',
    400,
    'bad_encoding',
    Buffer.concat([utf8('{"type":"'), Buffer.of(0xc0, 0xaf), utf8('"}')]),
  ),
  text(
    'UTF-8 of a surrogate',
    400,
    'bad_encoding',
    Buffer.concat([utf8('"'), Buffer.of(0xed, 0xa0, 0x80), utf8('"')]),
  ),
  text('a body cut within a character', 400, 'bad_encoding', utf8(notarize('{"a":"ü')).subarray(0, -2)),
  text(
    'a member twice at the top',
    400,
    'lossy_json',
    '{"type":"generic/1","type":"generic/1","payload":{}}',
  ),
  text('a member twice by another spelling', 400, 'lossy_json', notarize('{"a":1,"\\u0061":2}')),
  text('__proto__ twice', 400, 'lossy_json', notarize('{"__proto__":1,"__proto__":2}')),
  text('a lone low surrogate', 400, 'lossy_json', notarize('{"a":"\\udc00"}')),
  text('a lone surrogate in a member’s name', 400, 'lossy_json', notarize('{"\\ud800":1}')),
  text(
    'U+0000 in metadata',
    400,
    'lossy_json',
    '{"type":"generic/1","payload":{},"metadata":{"a":"\\u0000"}}',
  ),
  text('18 significant digits', 400, 'lossy_json', notarize('{"a":1.00000000000000001}')),
  text('33 levels', 400, 'json_too_deep', notarize(nested(32))),
  text('33 levels of lists', 400, 'json_too_deep', notarize(`{"a":${'['.repeat(31)}${']'.repeat(31)}}`)),
  text('half a million open brackets', 400, 'json_too_deep', '['.repeat(500_000)),
  text('200,000 levels', 400, 'json_too_deep', notarize(`{"a":${'['.repeat(2e5)}${']'.repeat(2e5)}}`)),
  text('another content type', 415, 'unsupported_media_type', notarize('{}'), {
    'content-type': 'text/plain',
  }),
  text('a form', 415, 'unsupported_media_type', 'a=1', {
    'content-type': 'application/x-www-form-urlencoded',
  }),
  text('a content type that is none', 415, 'unsupported_media_type', notarize('{}'), {
    'content-type': 'json',
  }),
  text('an empty content type', 415, 'unsupported_media_type', notarize('{}'), { 'content-type': '' }),
  text('a kindred content type', 415, 'unsupported_media_type', notarize('{}'), {
    'content-type': 'application/jsonp',
  }),
  text('a body that is compressed', 415, 'unsupported_media_type', gzipSync(notarize('{}')), {
    'content-encoding': 'gzip',
  }),
]

const BAD_VALUES: Case[] = [
  { what: 'no body', status: 422, code: 'invalid_request', send: {} },
  json('null', 'invalid_request', null),
  json('a list', 'invalid_request', [genericBody()]),
  json('a string', 'invalid_request', 'generic/1'),
  json('a number', 'invalid_request', 1),
  json('an empty object', 'invalid_request', {}),
  json('no type', 'invalid_request', { payload: {} }),
  json('no payload', 'invalid_request', { type: 'generic/1' }),
  json('a type that is a number', 'invalid_request', { type: 1, payload: {} }, { path: '/type' }),
  json('a type without version', 'invalid_request', { type: 'generic', payload: {} }, { path: '/type' }),
  json('version 0', 'invalid_request', { type: 'generic/0', payload: {} }),
  json('version 01', 'invalid_request', { type: 'generic/01', payload: {} }),
  json('a type in capitals', 'invalid_request', { type: 'Generic/1', payload: {} }),
  json('a type with a line break after it', 'invalid_request', { type: 'generic/1\n', payload: {} }),
  json('a type with a long name', 'invalid_request', { type: `${'a'.repeat(64)}/1`, payload: {} }),
  json('an unknown type', 'unknown_type', { type: 'order/1', payload: {} }),
  json('an unknown version', 'unknown_type', { type: 'generic/2', payload: {} }),
  json('a type named like a member of Object', 'unknown_type', { type: 'constructor/1', payload: {} }),
  json('terms of a type that is not gated', 'not_gated', { type: 'generic/1', payload: {}, gate: 'auto' }),
  ...[null, [], 'x', 1, true].map((payload) =>
    json(
      `a payload of ${JSON.stringify(payload)}`,
      'invalid_request',
      { type: 'generic/1', payload },
      { path: '/payload' },
    ),
  ),
  ...[null, [], 'x'].map((metadata) =>
    json(
      `metadata of ${JSON.stringify(metadata)}`,
      'invalid_request',
      { ...genericBody(), metadata },
      { path: '/metadata' },
    ),
  ),
  json('an unknown field', 'invalid_request', { ...genericBody(), note: 'x' }),
  json('a field of gated types', 'invalid_request', { ...genericBody(), performer: 'agt_x' }),
  json('a field of the answer', 'invalid_request', {
    ...genericBody(),
    recordedAt: '2026-11-20T12:00:00.000Z',
  }),
  json('a field in other capitals', 'invalid_request', { ...genericBody(), Metadata: {} }),
  {
    what: 'an unknown field called __proto__',
    status: 422,
    code: 'invalid_request',
    send: { text: '{"type":"generic/1","payload":{},"__proto__":{"metadata":{}}}' },
  },
  json('a payload of 64 KiB and a byte', 'document_too_large', genericBody({ a: 'x'.repeat(65_537 - 8) })),
  json('metadata of 4 KiB and a byte', 'metadata_too_large', {
    ...genericBody(),
    metadata: { a: 'x'.repeat(4_097 - 8) },
  }),
  ...[
    ['', 'empty'],
    ['A'.repeat(21), 'of 21 characters'],
    ['A'.repeat(23), 'of 23 characters'],
    [`${'A'.repeat(22)}==`, 'with padding'],
    [`${'A'.repeat(21)}B`, 'with stray bits'],
    [`${'A'.repeat(20)}+A`, 'of the other base64'],
    ['00112233445566778899aabbccddeeff', 'in hex'],
    [`${'A'.repeat(22)}\n`, 'with a line break'],
    [1, 'that is a number'],
    [null, 'of null'],
  ].map(([salt, what]) =>
    json(`a salt ${what}`, 'invalid_request', { ...genericBody(), salt }, { path: '/salt' }),
  ),
  ...[
    '0000-01-01T00:00:00Z', // Year 0 exists in RFC 3339 but not in Postgres.
    '2026-02-29T00:00:00Z',
    '2026-04-31T00:00:00Z',
    '2026-13-01T00:00:00Z',
    '2026-00-10T00:00:00Z',
    '2026-01-00T00:00:00Z',
    '2026-11-19T24:00:00Z',
    '2026-11-19T23:60:00Z',
    '2016-12-31T23:59:60Z',
    '2026-11-19T08:30:00',
    '2026-11-19T08:30:00+00:00',
    '2026-11-19t08:30:00z',
    '2026-11-19 08:30:00Z',
    '2026-11-19T08:30:00.Z',
    '2026-11-19T08:30:00.1234Z',
    '2026-11-19T08:30Z',
    '2026-11-19',
    '+002026-11-19T08:30:00Z',
    '２026-11-19T08:30:00Z',
    '',
    1_700_000_000_000,
    null,
  ].map((occurredAt) =>
    json(
      `occurredAt ${JSON.stringify(occurredAt)}`,
      'invalid_request',
      { ...genericBody(), occurredAt },
      {
        path: '/occurredAt',
      },
    ),
  ),
  ...[
    ['agt_01jegv5gyme018000000000002', 'unknown_agent'],
    ['AGT_01JEGV5GYME018000000000002', 'invalid_request'],
    ['rec_01jegv5gyme018000000000002', 'invalid_request'],
    ['agt_81jegv5gyme018000000000002', 'invalid_request'],
    ['agt_01jegv5gyme01800000000000', 'invalid_request'],
    ['system', 'invalid_request'],
    [null, 'invalid_request'],
  ].map(([onBehalfOf, code]) => json(`onBehalfOf ${onBehalfOf}`, code!, { ...genericBody(), onBehalfOf })),
]

test('a bad body', async (t) => {
  const app = await sharedApp()
  const before = await app.written()

  for (const { what, status, code, send, members = {} } of [...BAD_TEXTS, ...BAD_VALUES]) {
    await t.test(`with ${what} is refused: ${status} ${code}`, async () => {
      const problem = assertProblem(await app.send('POST', '/v1/records', send), status, code)
      assert.equal(problem['retryable'], false)
      for (const [name, value] of Object.entries(members)) assert.equal(problem[name], value)
      assert.deepEqual(await app.written(), before)
    })
  }

  await t.test('is also refused by the batch route and the operator’s route', async () => {
    const { OPERATOR_KEY } = await import('../helpers/app.ts')
    for (const [url, key] of [
      ['/v1/records/batch', app.ledger.key.key],
      ['/v1/ledgers', OPERATOR_KEY],
    ] as const) {
      for (const { status, code, send } of BAD_TEXTS) {
        // The operator's route has a smaller body limit, 64 KiB.
        const isTooLarge = url === '/v1/ledgers' && (send.text?.length ?? 0) > BODY_BYTES_MAX
        const expected = isTooLarge ? ([413, 'body_too_large'] as const) : ([status, code] as const)
        assertProblem(await app.send('POST', url, { ...send, key }), ...expected)
      }
      for (const body of [
        null,
        [],
        'x',
        {},
        { records: 1 },
        { records: {} },
        { records: [1] },
        { name: 1 },
      ]) {
        assertProblem(await app.send('POST', url, { body, key }), 422, 'invalid_request')
      }
      assertProblem(await app.send('POST', url, { key }), 422, 'invalid_request')
    }
    for (const name of ['', 'a\u0007b', 'x'.repeat(201), null, 1, {}]) {
      const body = { name }
      assertProblem(
        await app.send('POST', '/v1/ledgers', { body, key: OPERATOR_KEY }),
        422,
        'invalid_request',
      )
    }
    assert.deepEqual(await app.written(), before)
  })
})

test('a body at a limit', async (t) => {
  const app = await sharedApp()
  for (const accepted of vectors.acceptedJson) {
    await t.test(`is accepted: the vectors' ${accepted}`, async () => {
      const response = expectStatus(201, await app.send('POST', '/v1/records', { text: notarize(accepted) }))
      assert.deepEqual(response.json().payload, JSON.parse(accepted.replace('-0', '0')))
    })
  }

  await t.test('is accepted: 32 levels, a payload of 64 KiB, metadata of 4 KiB', async () => {
    expectStatus(201, await app.send('POST', '/v1/records', { text: notarize(nested(31)) }))
    await app.notarize({
      ...genericBody({ a: 'x'.repeat(65_536 - 8) }),
      metadata: { a: 'x'.repeat(4_096 - 8) },
    })
  })

  await t.test('is accepted: limits apply to the canonical form, without white space', async () => {
    const loose = `{"a":${' '.repeat(100_000)}1}`
    expectStatus(201, await app.send('POST', '/v1/records', { text: notarize(loose) }))
  })

  await t.test('is accepted up to exactly 512 KiB for one record and 4 MiB for a batch', async () => {
    const body = notarize('{}')
    const padded = body + ' '.repeat(512 * 1024 - body.length)
    expectStatus(201, await app.send('POST', '/v1/records', { text: padded }))
    const larger = assertProblem(
      await app.send('POST', '/v1/records', { text: `${padded} ` }),
      413,
      'body_too_large',
    )
    assert.equal(larger['detail'], 'the body must have at most 524288 bytes here')
    const batch = `{"records":[${body}]}`
    const paddedBatch = batch + ' '.repeat(4 * 1024 * 1024 - batch.length)
    expectStatus(201, await app.send('POST', '/v1/records/batch', { text: paddedBatch }))
    assertProblem(
      await app.send('POST', '/v1/records/batch', { text: `${paddedBatch} ` }),
      413,
      'body_too_large',
    )
  })

  await t.test('is accepted: a content type with a charset', async () => {
    for (const type of [
      'application/json; charset=utf-8',
      'application/json;charset=UTF-8',
      'Application/JSON',
    ]) {
      const headers = { 'content-type': type }
      expectStatus(201, await app.send('POST', '/v1/records', { body: genericBody(), headers }))
    }
  })
})

test('a body may be missing only where no member is required, with or without a content type', async () => {
  const app = await sharedApp()
  const key = expectStatus(
    201,
    await app.send('POST', '/v1/keys', { body: { name: 'k', scopes: ['records:write'] } }),
  ).json()
  expectStatus(200, await app.send('POST', `/v1/keys/${key.id}/rotate`, {}))
  expectStatus(200, await app.send('POST', `/v1/keys/${key.id}/rotate`, { text: '' }))
  assertProblem(await app.send('POST', `/v1/keys/${key.id}/rotate`, { text: 'null' }), 422, 'invalid_request')
  expectStatus(200, await app.send('POST', `/v1/keys/${key.id}/revoke`, {}))
  const freeze = { method: 'POST', url: `/v1/ledgers/${app.ledger.ledger.id}/freeze` } as const
  expectStatus(200, await app.send(freeze.method, freeze.url, { key: OPERATOR_KEY }))
  assertProblem(await app.send('POST', '/v1/keys', {}), 422, 'invalid_request')
  assertProblem(await app.send('POST', '/v1/keys', { text: '' }), 400, 'bad_json')
})

test('a refusal lists the allowed scopes, and shows the format of times', async () => {
  const app = await sharedApp()
  const scope = await app.send('POST', '/v1/keys', { body: { name: 'k', scopes: ['record:write'] } })
  const { detail } = assertProblem(scope, 422, 'invalid_request')
  assert.match(detail as string, /^\/scopes\/0 must be one of agents:act, .*records:write/)
  const time = assertProblem(
    await app.send('GET', '/v1/records?recordedAfter=2026-11-20'),
    422,
    'invalid_request',
  )
  assert.equal(
    time['detail'],
    '/recordedAfter must be a time such as 2026-11-20T12:00:00Z (RFC 3339, UTC, at most milliseconds)',
  )
})

test('a refusal names the wrong media type, or the value of a wrong type', async () => {
  const app = await sharedApp()
  const detailOf = async (status: number, sent: Parameters<typeof app.send>[2]) =>
    JSON.parse(expectStatus(status, await app.send('POST', '/v1/records', sent)).payload).detail
  const plain = { text: notarize('{}'), headers: { 'content-type': 'text/plain' } }
  assert.equal(await detailOf(415, plain), 'the Content-Type is "text/plain": it must be application/json')
  const zipped = { text: notarize('{}'), headers: { 'content-encoding': 'br' } }
  assert.equal(await detailOf(415, zipped), 'the Content-Encoding is "br": the body must not be compressed')
  assert.equal(
    await detailOf(422, { body: { type: 'generic/1', payload: 'x' } }),
    '/payload must be an object',
  )
})
