import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  ConflictError,
  ConnectionError,
  NotFoundError,
  SecretLostError,
  UnexpectedAnswerError,
} from '../../sdk/errors.ts'
import { WEBHOOK_REDELIVERED_MAX } from '../../src/db/limits.ts'
import { sendJson, startHostile } from './hostile-server.ts'
import { sharedSdk } from './set-up.ts'

const URL = 'https://example.com/hooks'

test('webhooks, over the server’s own routes', async (t) => {
  const sdk = await sharedSdk()
  const { webhooks } = sdk.client()

  await t.test(
    'a create whose answer was lost throws SecretLostError with the webhook to rotate',
    async () => {
      let attempts = 0
      const losingFetch: typeof fetch = async (input, init) => {
        const response = await fetch(input, init)
        if (++attempts > 1) return response
        throw new TypeError('the answer was lost')
      }
      const client = sdk.client({ fetch: losingFetch })
      const error = await client.webhooks.create({ url: URL, events: ['*'] }).catch((thrown) => thrown)
      assert.ok(error instanceof SecretLostError, `${error}`)
      assert.match(error.message, /What to do: rotate whk_\w+, to get a new secret$/)
      const [only, ...others] = await webhooks.list().toArray(5)
      assert.deepEqual([error.id, others], [only!.id, []])
      const { secret, secrets } = await webhooks.rotateSecret(error.id, { overlapSeconds: 0 })
      assert.match(secret, /^whsec_/)
      assert.equal(secrets.length, 1)
    },
  )

  await t.test(
    'a create of a duplicate is refused with state_conflict and the id of the other webhook',
    async () => {
      const [twin] = await webhooks.list().toArray(1)
      await assert.rejects(webhooks.create({ url: URL, events: ['*'] }), (error) => {
        assert.ok(error instanceof ConflictError, `${error}`)
        assert.deepEqual([error.code, error.problem.webhook], ['state_conflict', twin!.id])
        return true
      })
    },
  )

  await t.test('delete returns undefined, and a deleted webhook throws NotFoundError', async () => {
    const { id } = await webhooks.create({ url: `${URL}/2`, events: ['signal.emitted'] })
    assert.equal(await webhooks.delete(id), undefined)
    await assert.rejects(webhooks.get(id), NotFoundError)
    await assert.rejects(webhooks.delete(id), NotFoundError)
  })

  await t.test('redeliverDead redelivers all dead deliveries, in several requests', async () => {
    const { id } = await webhooks.create({ url: `${URL}/3`, events: ['webhook.paused'] })
    const dead = WEBHOOK_REDELIVERED_MAX * 2 + 5
    await sdk.app.sql(`insert into tallystick.webhook_deliveries
        (ledger_id, webhook_id, event_id, event, notice, state, tries, attempts, attempt_log, finished_at)
      select w.ledger_id, w.webhook_id, ('00000000-0000-7000-8000-' || lpad(to_hex(i), 12, '0'))::uuid, 'webhook.paused', '{}',
        'dead', 8, 8, '[]', now()
      from tallystick.webhooks w, generate_series(1, ${dead}) i
      where w.ledger_id = '${sdk.app.ledgerId}' and w.url = '${URL}/3'`)
    assert.equal((await webhooks.deliveries(id, { state: 'dead' }).toArray(5_000)).length, dead)
    assert.equal(await webhooks.redeliverDead(id, { since: '2026-01-01T00:00:00Z' }), 0)
    assert.equal(await webhooks.redeliverDead(id), dead)
    assert.equal(await webhooks.redeliverDead(id), 0)
    const [first] = await webhooks.deliveries(id, { state: 'pending', limit: 1 }).toArray(1)
    const { attempts, attemptLog } = await webhooks.delivery(id, first!.id)
    assert.deepEqual([attempts, attemptLog], [8, []])
  })
})

test('calls that would have a second effect are not repeated after a lost answer', async (t) => {
  const server = await startHostile(t, (response) => response.destroy())
  const { webhooks } = server.client()
  const calls = [
    () => webhooks.delete('whk_1'),
    () => webhooks.rotateSecret('whk_1'),
    () => webhooks.test('whk_1'),
    () => webhooks.redeliver('whk_1', 'evt_1'),
    () => webhooks.recover('whk_1', { since: '2026-11-22T00:00:00Z' }),
  ]
  for (const [done, call] of calls.entries()) {
    await assert.rejects(call(), (error) => {
      assert.ok(error instanceof ConnectionError, `${error}`)
      assert.match(error.message, /check before you repeat it$/)
      return true
    })
    assert.equal(server.requests.length, done + 1)
  }
  await assert.rejects(webhooks.pause('whk_1'), ConnectionError)
  assert.ok(server.requests.length > calls.length + 1, 'pausing twice is the same as once')
})

test('an endless redelivery, or a delete that answers 200, throws UnexpectedAnswerError', async (t) => {
  const server = await startHostile(t, (response) => sendJson(response, { redelivered: 0, more: true }))
  const { webhooks } = server.client()
  await assert.rejects(webhooks.redeliverDead('whk_1'), UnexpectedAnswerError)
  await assert.rejects(webhooks.delete('whk_1'), /answered 200, not 204/)
  assert.equal(server.requests.length, 2)
})
