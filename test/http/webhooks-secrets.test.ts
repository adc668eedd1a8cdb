import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Webhook } from 'standardwebhooks'
import { openWebhookSecret, signatureHeader } from '../../src/outside/webhooks/secrets.ts'
import { parseId, type Uuid } from '../../src/proof/ids.ts'
import { makeMasterKey } from '../../src/signing/master-key.ts'
import { expectStatus, type TestApp } from '../helpers/app.ts'
import { assertProblem } from '../helpers/assert-problem.ts'
import { TEST_MASTER_KEY } from '../helpers/database.ts'
import { sharedApp } from '../helpers/shared-app.ts'
import { makeWebhook } from '../helpers/webhooks.ts'

const DAY_MS = 86_400_000
const EVENT = 'evt_01jegv5gyme05800000000000a'

test('the worker unseals the server’s secret with the master key, and the receiver accepts its signature', async () => {
  const app = await sharedApp()
  const { id, secret } = await makeWebhook(app)
  const [signer] = await openSealed(app, id)
  const timestamp = Math.floor(Date.now() / 1_000)
  const body = '{"type":"webhook.test"}'
  new Webhook(secret).verify(body, {
    'webhook-id': EVENT,
    'webhook-timestamp': `${timestamp}`,
    'webhook-signature': signatureHeader([signer!], EVENT, timestamp, body),
  })
})

test('a rotated secret stays valid for a day, or for the given overlap', async () => {
  const app = await sharedApp()
  const { id, secret, secrets } = await makeWebhook(app)
  const response = await rotate(app, id)
  const { secret: second, publicKey, ...rotated } = expectStatus(200, response).json()
  assert.equal(response.headers['cache-control'], 'no-store')
  assert.match(second, /^whsec_/)
  assert.notEqual(second, secret)
  assert.equal(rotated.secrets.length, 2)
  assert.equal(rotated.secrets[0].expiresAt, null)
  assert.equal(rotated.secrets[0].publicKey, publicKey)
  assert.equal(rotated.secrets[1].publicKey, secrets[0].publicKey)
  assertNear(rotated.secrets[1].expiresAt, Date.now() + DAY_MS)
  assert.deepEqual(expectStatus(200, await app.send('GET', `/v1/webhooks/${id}`)).json(), rotated)
})

test('another rotation can shorten the life of an old secret, but never extend it', async () => {
  const app = await sharedApp()
  const inDays = async (overlaps: number[]) => {
    const { id } = await makeWebhook(app, { url: `https://example.com/${overlaps}` })
    for (const overlap of overlaps) expectStatus(200, await rotate(app, id, overlap * 86_400))
    const { secrets } = expectStatus(200, await app.send('GET', `/v1/webhooks/${id}`)).json()
    return secrets.map(({ expiresAt }: { expiresAt: string | null }) =>
      expiresAt === null ? null : Math.round((Date.parse(expiresAt) - Date.now()) / DAY_MS),
    )
  }
  assert.deepEqual(await inDays([5, 2]), [null, 2, 2])
  assert.deepEqual(await inDays([2, 5]), [null, 5, 2])
})

test('an endpoint has three secrets at most; an overlap of 0 ends those before at once', async () => {
  const app = await sharedApp()
  const { id } = await makeWebhook(app)
  await rotate(app, id)
  await rotate(app, id, 7 * 86_400)
  const refused = assertProblem(await rotate(app, id), 409, 'state_conflict')
  assert.match(refused['detail'] as string, /3 secrets/)
  const { secrets, secret } = expectStatus(200, await rotate(app, id, 0)).json()
  assert.deepEqual(
    secrets.map(({ expiresAt }: { expiresAt: unknown }) => expiresAt),
    [null],
  )
  assert.match(secret, /^whsec_/)
  assert.equal((await openSealed(app, id)).length, 1)
})

test('an expired secret is not shown or counted, and the next rotation removes it', async () => {
  const app = await sharedApp()
  const { id } = await makeWebhook(app)
  await rotate(app, id)
  const { secrets } = expectStatus(200, await rotate(app, id)).json()
  await app.sql(
    'update tallystick.webhook_secrets set expires_at = now() where ledger_id = $1 and expires_at is not null',
    [app.ledgerId],
  )
  const shown = expectStatus(200, await app.send('GET', `/v1/webhooks/${id}`)).json().secrets
  assert.deepEqual(shown, secrets.slice(0, 1))
  expectStatus(200, await rotate(app, id))
  assert.equal((await openSealed(app, id)).length, 2)
})

test('many rotations at once leave three secrets at most', async () => {
  const app = await sharedApp()
  const { id } = await makeWebhook(app)
  const answers = await Promise.all(Array.from({ length: 8 }, () => rotate(app, id)))
  assert.deepEqual(answers.map(({ statusCode }) => statusCode).sort(), [200, 200, ...Array(6).fill(409)])
  const told = answers.flatMap((answer) => (answer.statusCode === 200 ? answer.json().publicKey : []))
  const shown = expectStatus(200, await app.send('GET', `/v1/webhooks/${id}`)).json().secrets
  assert.deepEqual(shown.slice(0, 2).map(publicKeyOf).sort(), told.sort())
  assert.equal((await openSealed(app, id)).length, 3)
})

test('a rotation changes xmin of the webhook’s row', async () => {
  const app = await sharedApp()
  const { id } = await makeWebhook(app)
  const version = async () =>
    (
      await app.sql('select xmin::text as version from tallystick.webhooks where ledger_id = $1', [
        app.ledgerId,
      ])
    )[0]!['version']
  const before = await version()
  await rotate(app, id)
  assert.notEqual(await version(), before)
})

test('refuses an overlap that is malformed, or longer than a week', async () => {
  const app = await sharedApp()
  const { id } = await makeWebhook(app)
  for (const overlapSeconds of [-1, 0.5, 7 * 86_400 + 1, '60', null]) {
    const response = await app.send('POST', `/v1/webhooks/${id}/rotate-secret`, { body: { overlapSeconds } })
    assertProblem(response, 422, 'invalid_request')
  }
})

test('only creating and rotating return a secret, and no log line has a secret', async () => {
  const app = await sharedApp()
  const { id, secret } = await makeWebhook(app)
  const { secret: second } = expectStatus(200, await rotate(app, id)).json()
  const { id: event } = expectStatus(202, await app.send('POST', `/v1/webhooks/${id}/test`)).json()
  const answers = [
    await app.send('GET', '/v1/webhooks'),
    await app.send('GET', `/v1/webhooks/${id}`),
    await app.send('PATCH', `/v1/webhooks/${id}`, { body: { description: 'x' } }),
    await app.send('POST', `/v1/webhooks/${id}/pause`),
    await app.send('POST', `/v1/webhooks/${id}/resume`),
    await app.send('POST', `/v1/webhooks/${id}/recover`, { body: { since: '2026-11-20T12:00:00Z' } }),
    await app.send('GET', `/v1/webhooks/${id}/deliveries`),
    await app.send('GET', `/v1/webhooks/${id}/deliveries/${event}`),
    await app.send('POST', '/v1/webhooks', { body: { url: `ftp://${secret}/`, events: ['*'] } }),
    await app.send('POST', `/v1/webhooks/${id}/rotate-secret`, { body: { overlapSeconds: secret } }),
    await app.send('DELETE', `/v1/webhooks/${id}`),
  ]
  const sealed = [secret, second].map((one) => one.slice('whsec_'.length))
  for (const text of [...answers.map(({ body }) => body), app.logs()]) {
    assert.doesNotMatch(text, /whsec_/)
    for (const one of sealed) assert.ok(!text.includes(one) && !text.includes(toHex(one)))
  }
})

function rotate(app: TestApp, id: string, overlapSeconds?: number) {
  const body = overlapSeconds === undefined ? {} : { overlapSeconds }
  return app.send('POST', `/v1/webhooks/${id}/rotate-secret`, { body })
}

async function openSealed(app: TestApp, id: string) {
  const of = { ledgerId: app.ledgerId, webhookId: parseId('whk', id) }
  const rows = await app.sql<{ secret_id: Uuid; sealed: Buffer }>(
    'select secret_id, sealed from tallystick.webhook_secrets where ledger_id = $1 order by secret_id desc',
    [app.ledgerId],
  )
  const masterKey = makeMasterKey(TEST_MASTER_KEY)
  return rows.map(({ secret_id, sealed }) =>
    openWebhookSecret(masterKey, { ...of, secretId: secret_id, sealed }),
  )
}

function publicKeyOf({ publicKey }: { publicKey: string }): string {
  return publicKey
}

function assertNear(time: string, ms: number): void {
  assert.ok(Math.abs(Date.parse(time) - ms) < 5_000, `${time} is not near ${new Date(ms).toISOString()}`)
}

function toHex(base64: string): string {
  return Buffer.from(base64, 'base64').toString('hex')
}
