import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { withClient } from '../../../src/db/connect/client.ts'
import { NONCE_BYTES } from '../../../src/outside/federation/http-signature.ts'
import { PEER_REQUEST_BYTES_MAX } from '../../../src/outside/federation/limits.ts'
import { makeChain, makeId, makeSigner } from '../../helpers/test-chain.ts'
import { appendingOf, type Forged, leafOf, Mallory, meetMallory, toSent } from './mallory.ts'
import { refused, unchanged, verifyOwnExport } from './unchanged.ts'

test('a request without a valid signature, sender, recipient or time is refused with its code', async (t) => {
  const mallory = await meetMallory(t)
  const { victim, signer } = mallory
  const line = mallory.record().last()
  const entries = (forged: Forged) => () => mallory.request('entries', { entries: [toSent(line)] }, forged)
  const refuses = (what: string, status: number, code: string, forged: Forged) =>
    t.test(what, () => refused(mallory.victim, entries(forged), status, code))
  const without = (...names: string[]): Forged => ({
    headers: (signed) => Object.fromEntries(Object.entries(signed).filter(([name]) => !names.includes(name))),
  })
  const replaced = (name: string, change: (value: string) => string): Forged => ({
    headers: (signed) => ({ ...signed, [name]: change(signed[name]!) }),
  })
  const other = (await victim.ask('POST', '/v1/ledgers', { key: operatorKey, body: OTHER })).ledger.id

  await refuses('without a header', 401, 'peer_unknown', { headers: () => ({}) })
  await refuses('unsigned', 401, 'signature_malformed', without('signature', 'signature-input'))
  await refuses('without a digest', 401, 'signature_malformed', without('content-digest'))
  await refuses('signed by a key of nobody', 401, 'key_unknown', { signer: makeSigner() })
  await refuses('signed by another key in its name', 401, 'signature_invalid', {
    signer: { ...signer, sign: makeSigner().sign },
  })
  await refuses('with a bit of the signature turned', 401, 'signature_invalid', {
    headers: (signed) => ({ ...signed, signature: turned(signed['signature']!) }),
  })
  await refuses('signed for another server', 401, 'signature_invalid', {
    publicUrl: 'https://other.example',
  })
  await refuses('signed for another address', 401, 'signature_invalid', {
    signedPath: '/v1/federation/summary',
  })
  for (const [what, ms] of [
    ['behind', -61_500],
    ['ahead', 61_500],
  ] as const)
    await refuses(`of a clock that is ${what}`, 401, 'request_expired', { nowMs: Date.now() + ms })
  await refuses('with the clock put right after it was signed', 401, 'signature_invalid', {
    nowMs: Date.now() - 70_000,
    ...replaced('signature-input', (text) =>
      text.replace(/created=\d+/, `created=${Math.floor(Date.now() / 1000)}`),
    ),
  })
  await refuses('in the name of another ledger', 401, 'peer_unknown', { from: makeId('led') })
  await refuses('to another ledger of the server', 401, 'peer_unknown', { to: other })
  await refuses('of a peering that is none', 401, 'peer_unknown', { peering: makeId('peer') })
  await refuses('with another recipient than was signed', 401, 'peer_unknown', {
    ...replaced('tallystick-to', () => other),
  })
  await refuses('with a header twice', 401, 'peer_unknown', {
    ...replaced('tallystick-from', (value) => `${value}, ${value}`),
  })
  await refuses('with two signatures', 401, 'signature_malformed', {
    ...replaced('signature', (value) => `${value}, ${value.replace('tallystick', 'other')}`),
  })
  await refuses('with its body changed, of the same length', 401, 'content_digest_mismatch', {
    body: JSON.stringify({ entries: [toSent(line)] }).replace('"seq":', '"seq" '),
  })
  await refuses('with its body and the digest changed', 401, 'signature_invalid', {
    ...replaced('content-digest', () => `sha-256=:${Buffer.alloc(32, 1).toString('base64')}:`),
  })
  await verifyOwnExport(victim)
  await mallory.take([line])
})

const operatorKey = `tlo_${'e'.repeat(40)}`
const OTHER = { name: 'another tenant', agent: 'administrator' }

function turned(signature: string): string {
  const bytes = Buffer.from(signature.slice('tallystick=:'.length, -1), 'base64')
  bytes[40]! ^= 1
  return `tallystick=:${bytes.toString('base64')}:`
}

test('another tenant of the peer’s server, with the same key, cannot act as the peer', async (t) => {
  const mallory = await meetMallory(t)
  const { victim, signer, peer } = mallory
  const tenant = makeChain({ signer })
  const own = mallory.record().last()
  const sent = (line: Parameters<typeof toSent>[0]) => ({ entries: [toSent(line)] })
  const notarized = tenant.notarize()
  // Another tenant of Mallory's server also has a peering with the victim. The same key signs the requests of both
  // tenants.
  const second = await Mallory.open(t, victim, tenant)
  await second.join(await second.invite())
  await second.greet()
  const foreign = second.record().last()

  await refused(
    mallory.victim,
    () => mallory.request('entries', sent(own), { from: tenant.ledger }),
    401,
    'peer_unknown',
  )
  await refused(
    mallory.victim,
    () => second.request('entries', sent(own), { peering: peer }),
    401,
    'peer_unknown',
  )
  for (const line of [foreign, notarized]) {
    const [outcome] = await unchanged(victim, () => mallory.outcomes([line]))
    assert.deepEqual([outcome.outcome, outcome.code], ['refused', 'ledger_foreign'])
  }
  // The request is signed for the other tenant's peering. An attacker changes two headers, so that the request names
  // Mallory's peering and ledger.
  const taken = (signed: Record<string, string>) => ({
    ...signed,
    'tallystick-peering': peer,
    'tallystick-from': mallory.chain.ledger,
  })
  await refused(
    mallory.victim,
    () => second.request('entries', sent(own), { headers: taken }),
    401,
    'signature_invalid',
  )
  await mallory.take([own])
  await second.take([foreign])
  await verifyOwnExport(victim)
})

test('a request is taken once, on whichever server it arrives', async (t) => {
  const mallory = await meetMallory(t)
  const { victim } = mallory
  const second = await victim.startAnotherApi(t)
  const line = mallory.record().last()
  const body = { entries: [toSent(line)] }
  const nonce = randomBytes(NONCE_BYTES)
  const send = (server?: string) => mallory.request('entries', body, { nonce, ...(server && { server }) })

  const answers = await Promise.all([victim.url, second, victim.url, second].map(send))
  assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 409, 409, 409])
  for (const server of [victim.url, second])
    await refused(mallory.victim, () => send(server), 409, 'request_replayed')
  const again = await unchanged(victim, () => mallory.outcomes([line]))
  const [first] = answers.find(({ status }) => status === 200)!.body.outcomes
  assert.deepEqual(again, [first], 'the same receipt')
  // The nonce of a refused request is not used up, so an eavesdropper cannot spoil the request.
  const other = randomBytes(NONCE_BYTES)
  const changed = JSON.stringify({ entries: [] })
  await refused(
    mallory.victim,
    () => mallory.request('entries', body, { nonce: other, body: changed }),
    401,
    'content_digest_mismatch',
  )
  assert.equal((await mallory.request('entries', body, { nonce: other })).status, 200)
})

test('a suspended peering answers 503 peer_suspended, and a revoked one 403 peer_revoked', async (t) => {
  const mallory = await meetMallory(t)
  const { victim, peer } = mallory
  const line = mallory.record().last()
  const send = () => mallory.request('entries', { entries: [toSent(line)] })
  await victim.ask('POST', `/v1/peers/${peer}/suspend`, { body: {} })
  await refused(mallory.victim, send, 503, 'peer_suspended')
  await refused(mallory.victim, () => mallory.request('summary', {}), 503, 'peer_suspended')
  await victim.ask('POST', `/v1/peers/${peer}/resume`, { body: {} })
  assert.equal((await send()).status, 200)
  await victim.ask('POST', `/v1/peers/${peer}/revoke`, { body: {} })
  await refused(mallory.victim, send, 403, 'peer_revoked')
  await refused(mallory.victim, () => mallory.request('summary', {}), 403, 'peer_revoked')
  const { line: rotation } = mallory.rotate()
  await refused(
    mallory.victim,
    () => mallory.request('rotations', { rotations: [toSent(rotation)] }),
    403,
    'peer_revoked',
  )
  for (const change of ['suspend', 'resume', 'revoke'])
    assert.equal((await victim.send('POST', `/v1/peers/${peer}/${change}`, { body: {} })).status, 409)
  await verifyOwnExport(victim)
})

test('a costly or ambiguous body is refused before it is processed', async (t) => {
  const mallory = await meetMallory(t)
  const { victim } = mallory
  const line = toSent(mallory.record().last())
  const text = JSON.stringify({ entries: [line] })
  const deep = (levels: number) => `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`
  const withDocument = (document: string) =>
    text.replace('"document":{"quantity":100}', `"document":${document}`)
  for (const [what, body, status, code] of [
    ['too long', `${text.slice(0, -1)},"x":"${'x'.repeat(PEER_REQUEST_BYTES_MAX)}"}`, 413, 'body_too_large'],
    ['no JSON', `${text.slice(0, -1)}`, 400, 'bad_json'],
    ['with a member twice', text.replace('{', '{"entries":[],'), 400, 'lossy_json'],
    ['with half a surrogate', withDocument('{"a":"\\ud800"}'), 400, 'lossy_json'],
    ['too deep', withDocument(deep(200)), 400, 'json_too_deep'],
    ['so deep that a stack ends', withDocument(deep(100_000)), 400, 'json_too_deep'],
    ['of no entries', '{"entries":[]}', 422, 'invalid_request'],
    ['of too many entries', JSON.stringify({ entries: Array(501).fill(line) }), 422, 'invalid_request'],
    ['of a number', '7', 422, 'invalid_request'],
    ['with a seq below 0', text.replace(/"seq":\d+/, '"seq":-1'), 422, 'invalid_request'],
    ['with a seq beyond all numbers', text.replace(/"seq":\d+/, '"seq":9007199254740993'), 400, 'lossy_json'],
    [
      'with a member that is none',
      text.replace('{"seq"', '{"__proto__":{"seq":1},"seq"'),
      422,
      'invalid_request',
    ],
    [
      'with 65 types',
      JSON.stringify({ entries: [line], types: Array(65).fill({ name: 'x', version: 1 }) }),
      422,
      'invalid_request',
    ],
  ] as const) {
    await t.test(what, () => refused(mallory.victim, () => mallory.request('entries', body), status, code))
  }
  await t.test('with 500 random envelopes', async () => {
    const bad = Array.from({ length: 500 }, (_, i) => ({
      ...line,
      seq: i,
      envelope: randomBytes(300).toString('base64'),
    }))
    const outcomes = await unchanged(victim, () => mallory.outcomes(bad))
    assert.equal(outcomes.length, 500)
    for (const { outcome, leaf } of outcomes) assert.deepEqual([outcome, leaf], ['refused', null])
  })
  assert.equal((await mallory.outcomes([line]))[0].leaf, leafOf(line.envelope))
  await verifyOwnExport(victim)
})

test('after a rotation the old key signs no request, but its earlier entries are taken', async (t) => {
  const mallory = await meetMallory(t)
  const { victim } = mallory
  const before = mallory.record()
  const [created, late] = [before.last(), before.activate()]
  const { line: rotation, old } = mallory.rotate()
  const rotations = { rotations: [{ seq: rotation.seq, envelope: rotation.envelope }] }
  const entries = { entries: [toSent(created)] }
  await refused(mallory.victim, () => mallory.request('entries', entries), 401, 'key_unknown')
  await refused(
    mallory.victim,
    () => mallory.request('rotations', rotations, { signer: old }),
    401,
    'key_unknown',
  )
  const thief = makeSigner()
  await refused(
    mallory.victim,
    () => mallory.request('rotations', rotations, { signer: thief }),
    401,
    'key_unknown',
  )

  const { status, body } = await mallory.request('rotations', rotations)
  assert.deepEqual([status, body.envelopes.length], [200, 1])
  // The same request is sent again, as if the answer had been lost.
  const again = await unchanged(victim, () => mallory.request('rotations', rotations))
  assert.deepEqual([again.status, again.body], [200, { envelopes: [] }])
  await refused(
    mallory.victim,
    () => mallory.request('entries', entries, { signer: old }),
    401,
    'key_not_current',
  )
  await refused(mallory.victim, () => mallory.request('summary', {}, { signer: old }), 401, 'key_not_current')
  await mallory.take([created, late])

  const stolen = before.submit({}, null)
  mallory.chain.forget()
  const forged = mallory.chain.append({ ...appendingOf(stolen), signer: old })
  const [outcome] = await unchanged(victim, () => mallory.outcomes([forged]))
  assert.deepEqual([outcome.outcome, outcome.code], ['refused', 'key_not_current'])
  // The old key cannot introduce another new key.
  const branch = mallory.chain.rotateServerKey(thief, old)
  await refused(
    mallory.victim,
    () =>
      mallory.request(
        'rotations',
        { rotations: [{ seq: branch.seq, envelope: branch.envelope }] },
        { signer: thief },
      ),
    401,
    'key_not_current',
  )
  await verifyOwnExport(victim)
})

test('a request that waited during a rotation is refused if the old key signed it', async (t) => {
  const mallory = await meetMallory(t)
  const { victim } = mallory
  const gated = mallory.record()
  await mallory.take([gated.last()])
  const { line: rotation, old } = mallory.rotate()
  const stolen = mallory.chain.append({ ...appendingOf(gated.activate()), signer: old })
  const [rotated, taken] = await withClient(victim.database.superuserUrl, async (client) => {
    await client.query('begin')
    await client.query('select from tallystick.peer_inboxes for update')
    const rotations = [{ seq: rotation.seq, envelope: rotation.envelope }]
    const first = mallory.request('rotations', { rotations })
    await sleep(300)
    const second = mallory.request('entries', { entries: [toSent(stolen)] }, { signer: old })
    await sleep(300)
    await client.query('commit')
    return Promise.all([first, second])
  })
  assert.equal(rotated.status, 200)
  assert.deepEqual([taken.status, taken.body.code], [401, 'key_not_current'])
  await verifyOwnExport(victim)
})
