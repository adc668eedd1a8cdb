import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Webhook } from 'standardwebhooks'
import * as webhooks from '../../sdk/webhooks/index.ts'
import {
  formatWebhookPublicKey,
  makeWebhookSecret,
  openWebhookSecret,
  signatureHeader,
} from '../../src/outside/webhooks/secrets.ts'
import { makeEntropy } from '../../src/signing/entropy.ts'
import { makeMasterKey } from '../../src/signing/master-key.ts'
import { makeEndpoint, type Sent } from './webhook-sender.ts'

/*
 * Compares the SDK with the reference library of Standard Webhooks and with the specification. The library supports
 * only signatures by the secret.
 */

const endpoint = makeEndpoint()
const { secret, publicKey, v1, v1a } = endpoint
const reference = new Webhook(secret)

const events = fc.record({
  type: fc.stringMatching(/^[a-z]{1,12}\.[a-z]{1,12}$/),
  timestamp: fc.date({ noInvalidDate: true }).map((date) => date.toISOString()),
  data: fc.object({ maxDepth: 3 }).map((value) => JSON.parse(JSON.stringify(value)) as object),
})
const ids = fc.stringMatching(/^(evt|msg)_[0-9a-zA-Z]{1,40}$/)

test('events that the reference library signs verify', async () => {
  await fc.assert(
    fc.asyncProperty(events, ids, async (event, id) => {
      const at = new Date()
      const body = JSON.stringify(event)
      const headers = {
        'webhook-id': id,
        'webhook-timestamp': `${Math.floor(at.getTime() / 1000)}`,
        'webhook-signature': reference.sign(id, at, body),
      }
      const { sentAt, ...found } = await webhooks.verify(body, headers, { secret, now: at })
      assert.deepEqual(found, { id, ...(JSON.parse(body) as object) })
      assert.equal(sentAt.getTime(), Math.floor(at.getTime() / 1000) * 1000)
    }),
  )
})

test('events signed by the letter of the specification verify with both libraries', async () => {
  await fc.assert(
    fc.asyncProperty(events, ids, async (event, id) => {
      const { body, headers } = endpoint.send(event, { id })
      assert.deepEqual(reference.verify(body, headers), JSON.parse(body))
      assert.equal((await webhooks.verify(body, headers, { secret, publicKey })).type, event.type)
    }),
  )
})

test('events that this server signs verify under each secret of a rotation and under all', async () => {
  const masterKey = makeMasterKey(new Uint8Array(32).fill(7))
  const entropy = makeEntropy()
  const [ledgerId, webhookId] = [entropy.uuidv7(Date.now()), entropy.uuidv7(Date.now())]
  const of = { ledgerId, webhookId }
  const made = [1, 2].map(() => makeWebhookSecret(masterKey, Date.now(), entropy, of))
  const signers = made.map((secret) => openWebhookSecret(masterKey, { ...of, ...secret }))
  const secrets = made.map(({ secret }) => secret)
  const publicKeys = made.map((one) => formatWebhookPublicKey(one.publicKey))
  const body = JSON.stringify({ ...EVENT, data: { text: 'Grüße' } })
  const seconds = Math.floor(Date.now() / 1000)
  const headers = {
    'webhook-id': 'evt_1',
    'webhook-timestamp': `${seconds}`,
    'webhook-signature': signatureHeader(signers, 'evt_1', seconds, body),
  }
  for (const i of [0, 1])
    assert.ok(await webhooks.verify(body, headers, { secret: secrets[i], publicKey: publicKeys[i] }))
  assert.ok(await webhooks.verify(body, headers, { secret: secrets, publicKey: publicKeys }))
  const strange = { secret: endpoint.secret, publicKey: publicKeys }
  await assert.rejects(webhooks.verify(body, headers, strange), webhooks.WebhookVerificationError)
})

const NOW = new Date('2026-11-20T12:00:10.900Z')
const EVENT = {
  type: 'webhook.test',
  timestamp: '2026-11-20T12:00:00.000Z',
  data: { webhook: { id: 'whk_1' } },
}
/** The tolerance is so large that the time is accepted with any bit changed. */
const toleranceSeconds = 1e12

for (const [name, by, keys] of [
  ['the secret', [v1], { secret }],
  ['the public key', [v1a], { publicKey }],
  ['both', [v1, v1a], { secret, publicKey }],
] as const) {
  test(`a webhook with any one bit changed is refused, under ${name}`, async () => {
    const sent = endpoint.send(EVENT, { id: 'evt_0123456789', at: NOW, by: [...by] })
    const options = { ...keys, now: NOW, toleranceSeconds }
    const places = placesOf(sent)
    assert.ok(await webhooks.verify(sent.body, sent.headers, options))
    for (const place of places) {
      const { body, headers } = place.flipped
      await assert.rejects(
        webhooks.verify(body, headers, options),
        webhooks.WebhookVerificationError,
        `${place.name}, bit ${place.bit}`,
      )
    }
    assert.ok(places.length > 1200)
  })
}

type Place = { name: string; bit: number; flipped: { body: Uint8Array; headers: Record<string, string> } }

/** Returns one change for each bit of everything that was sent. Headers are Latin-1. */
function placesOf({ body, headers }: Sent): Place[] {
  const bytes = Buffer.from(body)
  return [
    ...bitsOf(bytes).map(({ bit, flipped }) => ({ name: 'body', bit, flipped: { body: flipped, headers } })),
    ...Object.entries(headers).flatMap(([name, value]) =>
      bitsOf(Buffer.from(value, 'latin1')).map(({ bit, flipped }) => {
        const changed = { ...headers, [name]: flipped.toString('latin1') }
        return { name, bit, flipped: { body: bytes, headers: changed } }
      }),
    ),
  ]
}

function bitsOf(bytes: Buffer): { bit: number; flipped: Buffer }[] {
  return Array.from({ length: bytes.length * 8 }, (_, bit) => {
    const flipped = Buffer.from(bytes)
    flipped[bit >> 3]! ^= 1 << (bit & 7)
    return { bit, flipped }
  })
}
