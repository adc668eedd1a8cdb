import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decode } from 'cborg'
import { utf8Encode } from '../../src/proof/bytes.ts'
import { verifyTransparentStatement } from '../../src/proof/receipt/transparent-statement.ts'
import { nativeProviders } from '../../src/signing/native.ts'
import { expectStatus, type Test } from '../helpers/app.ts'
import { makePublish } from '../helpers/checkpoints.ts'
import { addKey } from '../helpers/more-keys.ts'
import { shareApp } from '../helpers/shared-app.ts'
import { type Issuer, makeIssuer, setPolicy, signStatement } from '../helpers/signed-statements.ts'
import { assertVerifies } from '../helpers/verify-app.ts'

/** A separate application, because the test publishes checkpoints of all its ledgers. */
const publishedApp = shareApp()

const COSE = { 'content-type': 'application/cose' }

async function setUp(t: Test, issuers: readonly Issuer[] = [makeIssuer()]) {
  const app = await publishedApp()
  const publish = await makePublish(t, app)
  const { noteVerifierKey: noteKey } = (await app.send('GET', '/v1/ledger')).json()
  if (issuers.length > 0) await setPolicy(app, issuers)
  const register = (statement: Uint8Array, query = '?wait=0') =>
    app.send('POST', `/entries${query}`, { text: Buffer.from(statement), headers: COSE })
  const get = async (url: string) => new Uint8Array(expectStatus(200, await app.send('GET', url)).rawPayload)
  return { app, publish, register, get, noteKey, issuer: issuers[0]! }
}

function problemOf(response: { rawPayload: Buffer; headers: Record<string, unknown> }) {
  assert.equal(response.headers['content-type'], 'application/concise-problem-details+cbor')
  const problem = decode(response.rawPayload, { useMaps: true }) as Map<number | string, unknown>
  const ours = problem.get('https://tallystick.dev/errors') as Map<string, unknown>
  return { code: ours.get('code'), detail: problem.get(-2), title: problem.get(-1), status: problem.get(-4) }
}

test('registers a Signed Statement as its own entry, with a receipt of its inclusion', async (t) => {
  const { app, publish, register, get, noteKey, issuer } = await setUp(t)
  const statement = signStatement(issuer)
  const pending = expectStatus(303, await register(statement))
  assert.equal(pending.rawPayload.length, 0)
  const location = new URL(String(pending.headers['location'])).pathname
  assert.match(location, /^\/entries\/stm_/)
  expectStatus(202, await app.send('GET', location))
  await publish()
  const receipt = await get(location)
  const again = expectStatus(200, await register(statement, ''))
  assert.deepEqual(new Uint8Array(again.rawPayload), receipt)
  const file = await get(`${location}?statement=true`)
  const found = verifyTransparentStatement(file, { noteKey, issuerKey: issuer.key }, nativeProviders)
  assert.deepEqual(found.statement.bytes, statement)
  const [said] = (await app.send('GET', '/v1/statements')).json().data
  assert.equal(said.seq, found.seq)
  const [entry, registered] = await app.entries(`?after=${found.seq - 1}&limit=2`)
  assert.deepEqual([entry.kind, entry.leaf, entry.documents, entry.items], ['statement', said.leaf, [], null])
  assert.deepEqual(Buffer.from(entry.envelope, 'base64'), Buffer.from(statement))
  assert.equal(registered.kind, 'statement-registered')
  await assertVerifies(app)
})

test('the answer contains the receipt if a checkpoint arrives in time', async (t) => {
  const { app, publish, register, issuer } = await setUp(t)
  const registering = register(signStatement(issuer), '?wait=10')
  while ((await app.send('GET', '/v1/statements')).json().data.length === 0);
  await publish()
  const response = expectStatus(201, await registering)
  assert.equal(response.headers['content-type'], 'application/cose')
})

test('statements are listed by issuer and subject, page by page', async (t) => {
  const issuers = [makeIssuer(), makeIssuer('https://scan.example', 'ES256')]
  const { app, register } = await setUp(t, issuers)
  for (const issuer of issuers)
    for (const subject of ['a', 'b']) {
      expectStatus(303, await register(signStatement(issuer, { subject })))
      expectStatus(
        303,
        await register(signStatement(issuer, { subject, payload: utf8Encode(`${subject}2`) })),
      )
    }
  const list = async (query: string) => (await app.send('GET', `/v1/statements${query}`)).json()
  const first = await list('?subject=a&limit=3')
  assert.equal(first.data.length, 3)
  const rest = await list(`?subject=a&limit=3&cursor=${first.nextCursor}`)
  assert.deepEqual([rest.data.length, rest.nextCursor], [1, null])
  const both = await list('?subject=b&issuer=https://scan.example')
  assert.deepEqual(
    both.data.map(({ issuer, subject }: { issuer: string; subject: string }) => [issuer, subject]),
    [
      ['https://scan.example', 'b'],
      ['https://scan.example', 'b'],
    ],
  )
  expectStatus(422, await app.send('GET', `/v1/statements?subject=b&cursor=${first.nextCursor}`))
  assert.deepEqual((await app.send('GET', `/v1/statements/${both.data[0].id}`)).json(), both.data[0])
  await assertVerifies(app)
})

test('registers and finds a subject of 1,024 bytes, and refuses a longer subject with 400', async (t) => {
  const { app, issuer, register } = await setUp(t)
  for (const subject of ['s'.repeat(1_024), '漢'.repeat(341), '🜁'.repeat(256)]) {
    expectStatus(303, await register(signStatement(issuer, { subject })))
    const found = await app.send('GET', `/v1/statements?subject=${encodeURIComponent(subject)}`)
    expectStatus(200, found)
    assert.deepEqual(
      found.json().data.map((each: { subject: string }) => each.subject),
      [subject],
    )
    expectStatus(400, await register(signStatement(issuer, { subject: `${subject}ss` })))
    expectStatus(422, await app.send('GET', `/v1/statements?subject=${encodeURIComponent(`${subject}ss`)}`))
  }
})

test('registers a hash envelope with the content type of its preimage', async (t) => {
  const { app, register, issuer } = await setUp(t)
  await setPolicy(app, [issuer], { contentTypes: ['application/spdx+json'] })
  const header = new Map<unknown, unknown>([
    [3, undefined],
    [258, -16],
    [259, 'application/spdx+json'],
    [260, 'https://build.example/sbom.json'],
  ])
  expectStatus(303, await register(signStatement(issuer, { header, payload: new Uint8Array(32) })))
  const short = await register(signStatement(issuer, { header, payload: new Uint8Array(31) }))
  assert.equal(problemOf(expectStatus(400, short)).code, 'statement_invalid')
})

test('refuses a statement without a policy with 409, and a statement outside the policy', async (t) => {
  const { app, register } = await setUp(t, [])
  const issuer = makeIssuer()
  const none = problemOf(expectStatus(409, await register(signStatement(issuer))))
  assert.equal(none.code, 'no_registration_policy')
  expectStatus(404, await app.send('GET', '/v1/registration-policy'))
  await setPolicy(app, [issuer], { contentTypes: ['application/json'] })
  const before = await app.written()
  const other = { ...makeIssuer(), kid: issuer.kid }
  const refused: [Uint8Array, string][] = [
    [signStatement(makeIssuer('https://nobody.example')), 'policy_refused'],
    [signStatement({ ...issuer, kid: utf8Encode('k2') }), 'key_unknown'],
    [signStatement(other), 'signature_invalid'],
    [signStatement({ ...makeIssuer(undefined, 'ES256'), kid: issuer.kid }), 'algorithm_mismatch'],
    [signStatement(issuer, { contentType: 'text/plain' }), 'policy_refused'],
  ]
  for (const [statement, reason] of refused) {
    const problem = problemOf(expectStatus(400, await register(statement)))
    assert.equal(problem.code, 'statement_rejected')
    assert.match(String(problem.detail), new RegExp(`^${reason}: `))
  }
  assert.deepEqual(await app.written(), before)
  await assertVerifies(app)
})

test('a policy is an entry, and the newest policy decides', async (t) => {
  const { app, register, issuer } = await setUp(t)
  expectStatus(303, await register(signStatement(issuer)))
  const next = makeIssuer()
  const policy = await setPolicy(app, [next])
  assert.deepEqual((await app.send('GET', '/v1/registration-policy')).json(), policy)
  expectStatus(400, await register(signStatement(issuer, { subject: 'later' })))
  // The old policy's statement is already registered, so a repeated request with it is still accepted.
  expectStatus(303, await register(signStatement(issuer)))
  expectStatus(303, await register(signStatement(next)))
  await assertVerifies(app)
})

test('refuses statements of an unknown issuer with 400, and in a ledger without a policy with 409', async (t) => {
  const { app, register } = await setUp(t)
  const other = await app.newLedger()
  const statement = Buffer.from(signStatement(makeIssuer()))
  const response = await app.send('POST', '/entries?wait=0', {
    key: other.key.key,
    text: statement,
    headers: COSE,
  })
  assert.equal(problemOf(expectStatus(409, response)).code, 'no_registration_policy')
  expectStatus(400, await register(statement))
})

test('concurrent requests register a statement once, and all get its location', async (t) => {
  const { app, register, issuer } = await setUp(t)
  const statement = signStatement(issuer)
  const all = await Promise.all(Array.from({ length: 12 }, () => register(statement)))
  assert.equal(new Set(all.map((one) => expectStatus(303, one).headers['location'])).size, 1)
  const kinds = (await app.entries()).map(({ kind }) => kind)
  assert.equal(kinds.filter((kind) => kind === 'statement').length, 1)
  await assertVerifies(app)
})

test('registering a statement again with its receipt in the header returns the same location', async (t) => {
  const { publish, register, get, issuer } = await setUp(t)
  const location = new URL(String((await register(signStatement(issuer))).headers['location'])).pathname
  await publish()
  const file = await get(`${location}?statement=true`)
  assert.equal(new URL(String((await register(file)).headers['location'])).pathname, location)
})

test('refuses keys without the scope and other bodies, with a problem in CBOR', async (t) => {
  const { app, register, issuer } = await setUp(t)
  const key = await addKey(app, { scopes: ['records:write'] })
  const text = Buffer.from(signStatement(issuer))
  const response = await app.send('POST', '/entries', { key, text, headers: COSE })
  assert.equal(problemOf(expectStatus(403, response)).code, 'forbidden')
  assert.equal(
    problemOf(expectStatus(401, await app.send('POST', '/entries', { key: null, text, headers: COSE }))).code,
    'unauthenticated',
  )
  assert.equal(
    problemOf(expectStatus(415, await app.send('POST', '/entries', { body: {} }))).code,
    'unsupported_media_type',
  )
  assert.equal(problemOf(expectStatus(404, await app.send('GET', '/entries/stm_1'))).code, 'not_found')
  assert.equal(problemOf(expectStatus(413, await register(new Uint8Array(32_769)))).code, 'body_too_large')
  expectStatus(415, await app.send('POST', '/v1/records', { text, headers: COSE }))
})

test('refuses unsupported methods with 405 and a problem in CBOR, and answers HEAD', async (t) => {
  const { app, register, issuer } = await setUp(t)
  const location = new URL(String((await register(signStatement(issuer))).headers['location'])).pathname
  for (const url of ['/entries', location, '/.well-known/scitt-keys', '/.well-known/scitt-keys/AA']) {
    const refused = expectStatus(405, await app.send('DELETE', url))
    assert.equal(problemOf(refused).code, 'method_not_allowed')
    assert.match(String(refused.headers['allow']), url === '/entries' ? /POST/ : /GET, HEAD/)
    const headers = { accept: 'application/json' }
    assert.equal(
      expectStatus(405, await app.send('DELETE', url, { headers })).json().code,
      'method_not_allowed',
    )
  }
  assert.equal(
    expectStatus(405, await app.send('DELETE', '/v1/statements')).json().code,
    'method_not_allowed',
  )
  expectStatus(202, await app.send('HEAD', location))
  expectStatus(200, await app.send('HEAD', '/.well-known/scitt-keys'))
})

test('accepts application/scitt-statement+cose, and refuses other media types with 415', async (t) => {
  const { app, issuer } = await setUp(t)
  const text = Buffer.from(signStatement(issuer))
  const send = (type: string) =>
    app.send('POST', '/entries?wait=0', { text, headers: { 'content-type': type } })
  expectStatus(303, await send('application/scitt-statement+cose'))
  for (const other of ['application/scitt-receipt+cose', 'application/cbor'])
    assert.equal(problemOf(expectStatus(415, await send(other))).code, 'unsupported_media_type')
})

test('serves the receipts’ key as a COSE Key Set', async (t) => {
  const { app, get } = await setUp(t, [])
  const [key] = decode(await get('/.well-known/scitt-keys'), { useMaps: true }) as Map<number, Uint8Array>[]
  assert.deepEqual([key!.get(1), key!.get(3), key!.get(-1)], [1, -8, 6])
  const kid = Buffer.from(key!.get(2)!).toString('base64url')
  assert.deepEqual(decode(await get(`/.well-known/scitt-keys/${kid}`), { useMaps: true }), key)
  assert.equal(
    problemOf(expectStatus(404, await app.send('GET', '/.well-known/scitt-keys/AA'))).code,
    'not_found',
  )
})
