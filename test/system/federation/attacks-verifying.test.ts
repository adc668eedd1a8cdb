import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { request as httpRequest } from 'node:http'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { NONCE_BYTES, signRequest } from '../../../src/outside/federation/http-signature.ts'
import type { Signer } from '../../../src/proof/crypto.ts'
import { makeId, makeSigner, type TestLine } from '../../helpers/test-chain.ts'
import {
  appendingOf,
  lookAtVictims,
  type Mallory,
  meetMallory,
  offering,
  toSent,
  type VictimsRecord,
} from './mallory.ts'
import { unchanged, verifyOwnExport } from './unchanged.ts'

/*
 * Tests entries that a peer signs with its real key, and that would make the victim's own export invalid. The inbox
 * must refuse every entry that a verifier refuses, even if the peering changes between a request's headers and its
 * body.
 */

function sayRevoked(mallory: Mallory, changes: object = {}): TestLine {
  const { chain } = mallory
  return chain.append({
    kind: 'peer-revoked',
    subjects: [{ ...mallory.about(), ...changes }],
    predicate: { ...chain.acting(), code: 'test' },
  })
}

async function createShared({ victim, peer, chain }: Mallory): Promise<VictimsRecord> {
  const { id } = await victim.ask('POST', '/v1/records', {
    body: {
      type: 'task/1',
      payload: {},
      performer: `${chain.ledger}/${chain.agent}`,
      share: [{ peer, documents: 'whole' }],
    },
  })
  return lookAtVictims(victim, id)
}

/** Sends the headers of a request. Returns a function that sends the body. */
async function beginRequest(
  mallory: Mallory,
  what: string,
  body: object,
  signer: Signer = mallory.signer,
): Promise<() => Promise<{ readonly status: number; readonly body: { readonly code?: string } }>> {
  const path = `/v1/federation/${what}`
  const text = JSON.stringify(body)
  const { victim, peer, chain } = mallory
  const signed = signRequest(
    {
      method: 'POST',
      targetUri: victim.publicUrl + path,
      body: text,
      peering: peer,
      from: chain.ledger,
      to: victim.ledger,
    },
    signer,
    { nowMs: Date.now(), nonce: randomBytes(NONCE_BYTES) },
  )
  const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text), ...signed }
  const asked = httpRequest(victim.url + path, { method: 'POST', headers })
  asked.write(text.slice(0, 1))
  await sleep(300)
  return async () => {
    asked.end(text.slice(1))
    const [response] = await once(asked, 'response')
    const chunks: Buffer[] = []
    for await (const chunk of response) chunks.push(chunk)
    return { status: response.statusCode, body: JSON.parse(Buffer.concat(chunks).toString('utf8')) }
  }
}

test('a revocation of another peering, with the handshake of this one, is refused', async (t) => {
  const mallory = await meetMallory(t)
  const line = sayRevoked(mallory, { name: makeId('peer') })
  const [outcome] = await unchanged(mallory.victim, () => mallory.outcomes([line]))
  assert.deepEqual([outcome.outcome, outcome.code], ['refused', 'handshake_mismatch'])
  await verifyOwnExport(mallory.victim)
})

test('an offer that names another payload than the record’s is refused with invalid_request', async (t) => {
  const mallory = await meetMallory(t)
  const { victim } = mallory
  const record = await createShared(mallory)
  const line = offering(mallory, { ...record, digest: 'ab'.repeat(32) }, 'record-activated')
  const [{ envelope }] = await mallory.outcomes([line])
  const { kind, predicate } = appendingOf({ envelope, documents: [] })
  assert.deepEqual([kind, predicate['code']], ['offer-refused', 'invalid_request'])
  assert.deepEqual(await lookAtVictims(victim, record.id), record)
  await verifyOwnExport(victim)
})

test('a peer’s record may have the id of a completion here', async (t) => {
  const mallory = await meetMallory(t)
  const { victim } = mallory
  const { id } = await createShared(mallory)
  await mallory.take([offering(mallory, await lookAtVictims(victim, id), 'record-activated')])
  const line = offering(mallory, await lookAtVictims(victim, id), 'completion-submitted')
  await mallory.take([line])
  const completion = appendingOf(line).predicate['completion'] as string
  const named = mallory.record({}, { record: `rec_${completion.slice(4)}` })
  await mallory.take([named.last(), named.activate()])
  await verifyOwnExport(victim)
})

test('an entry of an old key is refused, also if the rotation came during the request', async (t) => {
  const mallory = await meetMallory(t)
  const { victim } = mallory
  const created = mallory.record().last()
  const { line, old } = mallory.rotate()
  const late = { ...toSent(created), seq: line.seq + 10 }
  const finish = await beginRequest(mallory, 'entries', { entries: [late] }, old)
  const { status } = await mallory.request('rotations', {
    rotations: [{ seq: line.seq, envelope: line.envelope }],
  })
  assert.equal(status, 200)
  const answered = await unchanged(victim, finish)
  assert.deepEqual([answered.status, answered.body.code], [401, 'key_not_current'])
  await verifyOwnExport(victim)
})

test('of two conflicting rotations of a peer’s key one is followed', async (t) => {
  const mallory = await meetMallory(t)
  const { victim, chain } = mallory
  const old = mallory.signer
  const first = chain.rotateServerKey()
  const [one] = [mallory.signer]
  chain.forget()
  const thief = makeSigner()
  const second = chain.rotateServerKey(thief, old)
  const both = await Promise.all([
    mallory.request(
      'rotations',
      { rotations: [{ seq: first.seq, envelope: first.envelope }] },
      { signer: one },
    ),
    mallory.request(
      'rotations',
      { rotations: [{ seq: first.seq + 10, envelope: second.envelope }] },
      { signer: thief },
    ),
  ])
  assert.deepEqual(both.map(({ status }) => status).sort(), [200, 401], JSON.stringify(both))
  await verifyOwnExport(victim)
})

test('a rotation back to an earlier key is refused, also within one request', async (t) => {
  const mallory = await meetMallory(t)
  const [one, two] = [makeSigner(), makeSigner()]
  const lines = [one, two, one].map((next) => mallory.chain.rotateServerKey(next))
  const rotations = lines.map(({ seq, envelope }) => ({ seq, envelope }))
  const { status, body } = await unchanged(mallory.victim, () =>
    mallory.request('rotations', { rotations }, { signer: one }),
  )
  assert.deepEqual([status, body.code], [401, 'key_not_current'])
})

test('a suspended peering refuses its revocation, also if suspended during the request', async (t) => {
  const mallory = await meetMallory(t)
  const { victim, peer } = mallory
  const finish = await beginRequest(mallory, 'entries', { entries: [toSent(sayRevoked(mallory))] })
  await victim.ask('POST', `/v1/peers/${peer}/suspend`, { body: {} })
  const answered = await unchanged(victim, finish)
  assert.deepEqual([answered.status, answered.body.code], [503, 'peer_suspended'])
  await verifyOwnExport(victim)
})
