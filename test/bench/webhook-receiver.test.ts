import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { startWebhookReceiver } from '../../bench/webhook-receiver.ts'
import { makeWebhookSecret, openWebhookSecret, signatureHeader } from '../../src/outside/webhooks/secrets.ts'
import { makeEntropy } from '../../src/signing/entropy.ts'
import { makeMasterKey } from '../../src/signing/master-key.ts'
import { randomId } from '../helpers/test-ledger.ts'

const masterKey = makeMasterKey(randomBytes(32))

function makeSecret() {
  const of = { ledgerId: randomId(), webhookId: randomId() }
  const made = makeWebhookSecret(masterKey, Date.now(), makeEntropy(), of)
  return { secret: made.secret, signer: openWebhookSecret(masterKey, { ...of, ...made }) }
}

function deliver(
  port: number,
  endpoint: number,
  seq: number,
  signer: ReturnType<typeof openWebhookSecret>,
  ageMs = 0,
) {
  const timestamp = new Date(Date.now() - ageMs).toISOString()
  const body = `{"type":"record.recorded","timestamp":"${timestamp}","data":{"entry":{"seq":${seq},"kind":"x"}}}`
  const seconds = Math.floor(Date.now() / 1_000)
  const headers = {
    'webhook-id': `evt_${seq}`,
    'webhook-timestamp': String(seconds),
    'webhook-signature': signatureHeader([signer], `evt_${seq}`, seconds, body),
  }
  return fetch(`http://127.0.0.1:${port}/${endpoint}`, { method: 'POST', headers, body })
}

test('the receiver counts each event of an endpoint once, and reports its delay', async (t) => {
  const receiver = await startWebhookReceiver()
  t.after(() => receiver.stop())
  const [first, second] = [makeSecret(), makeSecret()]
  assert.equal(await receiver.add([{ secret: first.secret, answerMs: 0 }]), 0)
  assert.equal(await receiver.add([{ secret: second.secret, answerMs: 100 }]), 1)
  await deliver(receiver.port, 0, 1, first.signer)
  await receiver.begin()
  for (const seq of [1, 2])
    assert.equal((await deliver(receiver.port, 0, seq, first.signer, 5_000)).status, 204)
  const startedAt = performance.now()
  await deliver(receiver.port, 1, 1, second.signer)
  assert.ok(performance.now() - startedAt > 90, 'it thinks before it answers')
  const { requests, events, windows, signaturesBad } = await receiver.read([[0], [1], [0, 1]])
  assert.deepEqual([requests, events, signaturesBad], [4, 3, 0])
  assert.deepEqual(
    windows.map((window) => window.requests),
    [2, 1, 3],
  )
  assert.ok(windows[0]!.lag.p50 / 1e6 >= 5_000 && windows[1]!.lag.p50 / 1e6 < 5_000)
})

test('the receiver detects a signature by another secret', async (t) => {
  const receiver = await startWebhookReceiver()
  t.after(() => receiver.stop())
  await receiver.add([{ secret: makeSecret().secret, answerMs: 0 }])
  await deliver(receiver.port, 0, 1, makeSecret().signer)
  const { signaturesChecked, signaturesBad } = await receiver.read([])
  assert.deepEqual([signaturesChecked, signaturesBad], [1, 1])
})

test('the receiver can be controlled by PUT requests', async (t) => {
  const receiver = await startWebhookReceiver()
  t.after(() => receiver.stop())
  const { secret, signer } = makeSecret()
  const command = async (body: object) => {
    const answer = await fetch(`http://127.0.0.1:${receiver.port}`, {
      method: 'PUT',
      body: JSON.stringify(body),
    })
    assert.equal(answer.status, 200)
    return answer.json()
  }
  assert.equal(await command({ kind: 'add', endpoints: [{ secret, answerMs: 0 }] }), 0)
  await deliver(receiver.port, 0, 1, signer, 70_000)
  await command({ kind: 'begin' })
  await deliver(receiver.port, 0, 1, signer, 5_000)
  await deliver(receiver.port, 0, 2, signer)
  const lags = (await command({ kind: 'lags' })) as number[]
  assert.equal(lags.length, 2, 'of the window')
  assert.ok(lags[0]! >= 5_000 && lags[0]! < 70_000 && lags[1]! < 5_000, `${lags} ms`)
  assert.deepEqual(await command({ kind: 'read', windows: [[0]] }), await receiver.read([[0]]))
})
