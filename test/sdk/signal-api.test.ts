import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as verify from '../../sdk/verify/index.ts'
import * as webhooks from '../../sdk/webhooks/index.ts'
import { sharedGatedApp } from '../helpers/gated-app.ts'
import { raiseVerifiedSizes } from '../helpers/verified-sizes.ts'
import { makeEndpoint } from './webhook-sender.ts'

test('a receiver verifies webhook and signal of a verdict, and of its overturning', async () => {
  const app = await sharedGatedApp()
  const { keys } = (await app.send('GET', '/.well-known/tallystick-keys.json')).json()
  const { id: ledger } = (await app.send('GET', '/v1/ledger')).json()
  const { secret, publicKey, send } = makeEndpoint()
  const { id } = await app.reach('REJECTED')
  await app.take(id, 'overturn')
  await raiseVerifiedSizes(app)

  const { data: events } = (await app.send('GET', '/v1/events?events=signal.emitted')).json()
  const signals: verify.VerifiedSignal[] = []
  for (const { id, ...told } of events) {
    const { body, headers } = send(told, { id })
    const event = await webhooks.verify(body, headers, { secret, publicKey })
    assert.ok(event.type === 'signal.emitted' && event.id === id)
    signals.push(await verify.signal(event, { keys, ledger }))
  }
  assert.deepEqual(
    signals.map(({ decision, code, once, actor }) => [decision, code, once, actor]),
    [
      ['HOLD', 'rejected', `${id}/5`, app.agents.principal.id],
      ['RELEASE', 'overturned', `${id}/6`, app.agents.overturner.id],
    ],
  )
  assert.deepEqual(signals[0]!.failingRules, ['quantity'])
})
