import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { formatInvitation, parseInvitation } from '../../../src/outside/federation/invitation.ts'
import { openInvitation } from '../../../src/outside/federation/peerings.ts'
import { parseId } from '../../../src/proof/ids.ts'
import { makeMasterKey } from '../../../src/signing/master-key.ts'
import { makePeerMacs } from '../../../src/signing/peer-macs.ts'
import type { Test } from '../../helpers/app.ts'
import { type Organisation, startOrganisations } from '../../helpers/federation.ts'
import { makeChain, makeId, makeSigner } from '../../helpers/test-chain.ts'
import { until } from '../../helpers/wait.ts'
import { Mallory } from './mallory.ts'
import { refused, unchanged, verifyOwnExport } from './unchanged.ts'

async function openVictim(t: Test, environment: Record<string, string> = {}): Promise<Organisation> {
  const [victim] = await startOrganisations(t, 1, { environment })
  return victim!
}

test('only the holder of the invitation becomes the peer, once', async (t) => {
  const victim = await openVictim(t)
  const mallory = await Mallory.open(t, victim)
  const invitation = await mallory.invite()
  const introduce = (...[of, changes]: Parameters<Mallory['introduce']>) => mallory.introduce(of, changes)
  const guessed = { token: randomBytes(32).toString('base64url') }
  const other = await mallory.invite()

  await t.test('a guessed token, or one of another invitation, is refused with token_invalid', async () => {
    await refused(victim, () => introduce(invitation, guessed), 401, 'token_invalid')
    await refused(
      victim,
      () => introduce(invitation, { token: parseInvitation(other)!.token }),
      401,
      'token_invalid',
    )
    const nobodys = formatInvitation({ ...parseInvitation(invitation)!, peer: makeId('peer') })
    await refused(victim, () => introduce(nobodys), 401, 'token_invalid')
  })
  await t.test('an introduction signed or named for another, or too old, is refused', async () => {
    const thief = makeSigner()
    await refused(
      victim,
      () => introduce(invitation, { signer: { ...thief, kid: mallory.signer.kid } }),
      401,
      'signature_invalid',
    )
    await refused(victim, () => introduce(invitation, { from: makeId('led') }), 401, 'peer_unknown')
    const victims = mallory.identity({ ledger: victim.ledger, origin: `x.example/${victim.ledger}` })
    await refused(
      victim,
      () => introduce(invitation, { invited: victims, from: victim.ledger }),
      409,
      'peer_exists',
    )
    const kid = { ...mallory.identity().envelopeKey, kid: 'ab'.repeat(32) }
    await refused(
      victim,
      () => introduce(invitation, { invited: mallory.identity({ envelopeKey: kid }) }),
      401,
      'key_unknown',
    )
    const late = { nowMs: Date.now() - 61_500 }
    await refused(victim, () => introduce(invitation, late), 401, 'request_expired')
  })
  await t.test('a peer address that the deployment does not allow is refused with url_refused', async () => {
    for (const url of [
      'http://169.254.169.254/latest',
      'http://10.0.0.1',
      'http://[::1]:9999',
      'http://192.168.1.1:80',
      'http://2852039166',
      'https://user:secret@peer.example',
    ])
      await refused(
        victim,
        () => introduce(invitation, { invited: mallory.identity({ url }) }),
        422,
        'url_refused',
      )
  })
  await t.test('a malformed identity is refused before an entry is signed', async () => {
    const { ledger, url, envelopeKey } = mallory.identity()
    for (const changes of [
      { url: ` ${url}` },
      { url: 'ftp://peer.example' },
      { url: 'file:///etc/passwd' },
      { url: `${url}/\u00e9` },
      { url: `${url}/\n` },
      { url: `${url}/${'x'.repeat(2_041)}` },
      { origin: 'peer.example' },
      { origin: `peer example/${ledger}` },
      { origin: `peer+example/${ledger}` },
      { envelopeKey: { ...envelopeKey, alg: 'ES256' } },
      { envelopeKey: { ...envelopeKey, spki: `${envelopeKey.spki.slice(0, -2)}==` } },
    ]) {
      const { status, body } = await unchanged(victim, () =>
        introduce(invitation, { invited: mallory.identity(changes) }),
      )
      assert.ok(
        status === 401 || status === 422,
        `${JSON.stringify(changes)}: ${status} ${JSON.stringify(body)}`,
      )
    }
  })
  await t.test('of many introductions at once one wins; its repetition gets the same answer', async () => {
    const thieves = await Promise.all(Array.from({ length: 5 }, () => Mallory.open(t, victim)))
    const answers = await Promise.all([mallory, ...thieves].map((one) => one.introduce(invitation)))
    const taken = answers.filter(({ status }) => status === 200)
    assert.equal(taken.length, 1)
    for (const { status, body } of answers) {
      if (status !== 200) assert.deepEqual([status, body.code], [409, 'token_used'], JSON.stringify(body))
    }
    const winner = [mallory, ...thieves][answers.findIndex(({ status }) => status === 200)]!
    const again = await unchanged(victim, () => winner.introduce(invitation))
    assert.deepEqual(again, taken[0])
    await refused(
      victim,
      () => winner.introduce(invitation, { invited: winner.identity({ url: `${winner.url}/other` }) }),
      409,
      'token_used',
    )
    // The winner of the race now has a peering with the victim's ledger, so a second introduction is refused.
    await refused(victim, () => winner.introduce(other), 409, 'peer_exists')
  })
  await t.test('an invitation that has expired or was revoked is refused', async () => {
    const late = await Mallory.open(t, victim)
    const ended = await late.invite()
    const { peer, token } = parseInvitation(ended)!
    const peerId = parseId('peer', peer)
    const expiresAt = new Date(Date.now() - 1_000)
    const [{ inviter }] = (await victim.sql<{ inviter: string }>(
      'select inviter from tallystick.peers where peer_id = $1',
      [peerId],
    )) as [{ inviter: string }]
    const row = { peerId, expiresAt, inviter }
    const made = openInvitation(parseId('led', victim.ledger), row, Buffer.from(token, 'base64url'))
    await victim.sql('update tallystick.peers set expires_at = $2, token_hash = $3 where peer_id = $1', [
      peerId,
      expiresAt,
      makePeerMacs(makeMasterKey(victim.masterKey)).invitation.of(made),
    ])
    const answer = await unchanged(victim, () => late.introduce(ended))
    assert.deepEqual([answer.status, answer.body.code], [401, 'token_invalid'])
    assert.match(answer.body.detail, /the invitation expired at/)
    await victim.ask('POST', `/v1/peers/${peer}/revoke`, { body: {} })
    await refused(victim, () => late.introduce(ended), 409, 'token_used')
  })
  await verifyOwnExport(victim)
})

test('an invitation with a false inviter leads to no peering', async (t) => {
  const victim = await openVictim(t)
  const mallory = await Mallory.open(t, victim)
  const invitation = (changes: object = {}, peer = makeId('peer')) =>
    formatInvitation({
      peer,
      token: randomBytes(32).toString('base64url'),
      inviter: mallory.identity(changes) as never,
    })
  const accept = (text: string) =>
    victim.send('POST', '/v1/peers', { body: { name: 'Mallory', invitation: text } })

  await t.test('a private address, or a malformed key, is refused with 422', async () => {
    const key = mallory.identity().envelopeKey
    for (const [text, code] of [
      [invitation({ url: 'http://169.254.169.254' }), 'url_refused'],
      [invitation({ url: 'http://10.1.2.3' }), 'url_refused'],
      [invitation({ envelopeKey: { ...key, kid: 'ab'.repeat(32) } }), 'invalid_request'],
      [invitation({ envelopeKey: { ...key, spki: 'AAAA' } }), 'invalid_request'],
      [invitation({ ledger: victim.ledger }), 'invalid_request'],
      [invitation({ url: `${mallory.url}/\u00e9` }), 'invalid_request'],
      [invitation({ origin: 'elsewhere' }), 'invalid_request'],
      [invitation().slice(0, -3), 'invalid_request'],
      ['tlp_', 'invalid_request'],
      ['x'.repeat(8_000), 'invalid_request'],
    ] as const) {
      const { status, body } = await unchanged(victim, () => accept(text))
      assert.deepEqual([status, body.code], [422, code], JSON.stringify(body))
    }
  })
  await t.test('an answer other than the inviter’s signed half leaves the peering pending', async () => {
    const others = makeChain()
    const { body } = await accept(invitation())
    for (const lie of [
      () => ({ body: {} }),
      () => ({ body: { envelope: 7 } }),
      () => ({ body: 'garbage' }),
      () => ({ body: { envelope: others.lines[0]!.envelope } }),
      () => ({ body: { envelope: mallory.chain.lines[0]!.envelope } }),
      () => ({ status: 307, headers: { location: 'http://169.254.169.254/' }, body: {} }),
      () => ({ status: 500, body: { code: 'x\u0000y' } }),
    ] as const) {
      const before = mallory.heard.length
      mallory.lie = lie
      await unchanged(victim, async () => {
        await hurry(victim)
        await until(() => Promise.resolve(mallory.heard.length > before))
      })
      await until(async () => (await victim.ask('GET', `/v1/peers/${body.id}`)).drain.lastError !== null)
      assert.equal((await victim.ask('GET', `/v1/peers/${body.id}`)).state, 'pending')
    }
    await victim.ask('POST', `/v1/peers/${body.id}/revoke`, { body: {} })
  })
  await verifyOwnExport(victim)
})

function hurry(victim: Organisation) {
  return victim.sql('update tallystick.peer_cursors set resume_at = null')
}

test('without an allowance, a peer at a loopback address is refused with url_refused', async (t) => {
  const victim = await openVictim(t, { TALLYSTICK_OUTBOUND_ALLOW: '' })
  const mallory = await Mallory.open(t, victim)
  const invitation = await mallory.invite()
  await refused(victim, () => mallory.introduce(invitation), 422, 'url_refused')
  // A name of a private address is refused too. The server resolves the name at each request, so the refusal may come
  // only when the victim sends something.
  const named = mallory.identity({ url: `https://localhost:${new URL(mallory.url).port}` })
  const { status } = await mallory.introduce(invitation, { invited: named })
  if (status === 200) {
    await mallory.take([mallory.sayAdded()])
    await victim.ask('POST', '/v1/records', {
      body: { type: 'task/1', payload: {}, share: [{ peer: mallory.peer, documents: 'whole' }] },
    })
    await until(async () => (await victim.ask('GET', `/v1/peers/${mallory.peer}`)).drain.lastError !== null)
  }
  assert.equal(mallory.heard.length, 0)
})
