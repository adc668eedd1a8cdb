import assert from 'node:assert/strict'
import { test } from 'node:test'
import { temporaryDir } from '../../helpers/postgres.ts'
import { formatLoad } from './kill.ts'
import { formatWebhookKills, killWebhookWorkers } from './kill-webhook-workers.ts'

test('after kills of workers each endpoint gets each event, in order, with a stable id', async () => {
  const outcome = await killWebhookWorkers(temporaryDir(), {
    kills: 2,
    clients: 2,
    ledgers: 2,
    endpointsPerLedger: 2,
    loadMs: { min: 300, max: 900 },
    hurry: true,
  })
  console.log(`kill -9 of workers that deliver: ${formatWebhookKills(outcome)}; ${formatLoad()}`)
  const { events, lost, disordered, unstable, ghosts } = outcome
  assert.ok(events > 0)
  assert.deepEqual({ lost, disordered, unstable, ghosts }, { lost: 0, disordered: 0, unstable: 0, ghosts: 0 })
})
