import assert from 'node:assert/strict'
import { createPublicKey, randomBytes, verify } from 'node:crypto'
import { test } from 'node:test'
import { Webhook } from 'standardwebhooks'
import {
  formatWebhookPublicKey,
  makeWebhookSecret,
  openWebhookSecret,
  signatureHeader,
} from '../../../src/outside/webhooks/secrets.ts'
import { makeEntropy } from '../../../src/signing/entropy.ts'
import { makeMasterKey } from '../../../src/signing/master-key.ts'
import { randomId } from '../../helpers/test-ledger.ts'

const masterKey = makeMasterKey(randomBytes(32))
const ID = 'evt_01jegv5gyme05800000000000a'
const BODY = '{"type":"record.recorded","timestamp":"2026-11-20T12:00:00.000Z","data":{"ü":"💶"}}'
const now = () => Math.floor(Date.now() / 1_000)

function makeSecret() {
  const of = { ledgerId: randomId(), webhookId: randomId() }
  const made = makeWebhookSecret(masterKey, Date.now(), makeEntropy(), of)
  return { of, made, signer: openWebhookSecret(masterKey, { ...of, ...made }) }
}

test('a signature verifies in the library of Standard Webhooks, and with the public key', () => {
  const { made, signer } = makeSecret()
  assert.match(made.secret, /^whsec_[A-Za-z0-9+/]{43}=$/)
  assert.match(formatWebhookPublicKey(made.publicKey), /^whpk_[A-Za-z0-9+/]{43}=$/)
  for (const body of [BODY, Buffer.from(BODY)]) {
    const timestamp = now()
    const header = signatureHeader([signer], ID, timestamp, body)
    assert.deepEqual(new Webhook(made.secret).verify(BODY, headersOf(header, timestamp)), JSON.parse(BODY))
    assert.ok(isSignedBy(made.publicKey, header, timestamp, BODY))
  }
})

test('refuses a body, id, time or secret with any changed bit', () => {
  const { made, signer } = makeSecret()
  const timestamp = now()
  const header = signatureHeader([signer], ID, timestamp, BODY)
  const receiver = new Webhook(made.secret)
  const refuses = (header: string, body: string, changes: Record<string, string> = {}) =>
    assert.throws(() => receiver.verify(body, { ...headersOf(header, timestamp), ...changes }))
  for (let bit = 0; bit < 8; bit++) {
    const changed = Buffer.from(BODY)
    changed[20]! ^= 1 << bit
    const text = changed.toString()
    refuses(header, text)
    assert.ok(!isSignedBy(made.publicKey, header, timestamp, text))
  }
  refuses(header, BODY, { 'webhook-id': ID.replace(/a$/, 'b') })
  refuses(header, BODY, { 'webhook-timestamp': `${timestamp + 1}` })
  assert.ok(!isSignedBy(made.publicKey, header, timestamp + 1, BODY))
  const other = makeSecret()
  refuses(signatureHeader([other.signer], ID, timestamp, BODY), BODY)
  assert.ok(!isSignedBy(other.made.publicKey, header, timestamp, BODY))
})

test('during a rotation the header has both signatures, newest first, and either secret verifies', () => {
  const [newest, before] = [makeSecret(), makeSecret()]
  const timestamp = now()
  const header = signatureHeader([newest.signer, before.signer], ID, timestamp, BODY)
  assert.deepEqual(
    header.split(' ').map((one) => one.split(',')[0]),
    ['v1', 'v1a', 'v1', 'v1a'],
  )
  assert.ok(header.startsWith(signatureHeader([newest.signer], ID, timestamp, BODY)))
  for (const { made } of [newest, before]) {
    new Webhook(made.secret).verify(BODY, headersOf(header, timestamp))
    assert.ok(isSignedBy(made.publicKey, header, timestamp, BODY))
  }
})

test('a sealed secret cannot be opened for another endpoint, ledger or secret id', () => {
  const { of, made } = makeSecret()
  const other = randomId()
  const changed = Buffer.from(made.sealed)
  changed[30]! ^= 1
  for (const moved of [{ ledgerId: other }, { webhookId: other }, { secretId: other }, { sealed: changed }]) {
    assert.throws(() => openWebhookSecret(masterKey, { ...of, ...made, ...moved }), /cannot be opened/)
  }
  assert.throws(
    () => openWebhookSecret(makeMasterKey(randomBytes(32)), { ...of, ...made }),
    /cannot be opened/,
  )
})

test('secrets differ, and their sealed bytes contain neither secret nor public key', () => {
  const [one, two] = [makeSecret().made, makeSecret().made]
  assert.notEqual(one.secret, two.secret)
  assert.notDeepEqual(one.publicKey, two.publicKey)
  const key = Buffer.from(one.secret.slice('whsec_'.length), 'base64')
  assert.equal(one.sealed.length, 92)
  assert.ok(!one.sealed.includes(key) && !one.sealed.includes(Buffer.from(one.publicKey)))
})

function headersOf(header: string, timestamp: number): Record<string, string> {
  return { 'webhook-id': ID, 'webhook-timestamp': `${timestamp}`, 'webhook-signature': header }
}

/** Verifies as a receiver does that has only node:crypto. */
function isSignedBy(publicKey: Uint8Array, header: string, timestamp: number, body: string): boolean {
  const x = Buffer.from(publicKey).toString('base64url')
  const key = createPublicKey({ format: 'jwk', key: { kty: 'OKP', crv: 'Ed25519', x } })
  const message = Buffer.from(`${ID}.${timestamp}.${body}`)
  return header
    .split(' ')
    .filter((one) => one.startsWith('v1a,'))
    .some((one) => verify(null, message, key, Buffer.from(one.slice(4), 'base64')))
}
