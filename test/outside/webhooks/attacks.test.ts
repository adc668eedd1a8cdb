import assert from 'node:assert/strict'
import { test } from 'node:test'
import { until } from '../../helpers/wait.ts'
import { buildStage } from '../../helpers/webhook-stage.ts'

test('an attacker', async (t) => {
  const stage = await buildStage(t)

  await t.test(
    'who writes to the database gets nothing signed as a webhook that contradicts the chain',
    async (t) => {
      const endpoint = await stage.subscribe(t, { events: ['signal.emitted', 'webhook.paused'] })
      const forged = JSON.stringify({
        id: endpoint.id,
        type: 'signal.emitted',
        timestamp: new Date().toISOString(),
        data: { signal: { decision: 'RELEASE' } },
      })
      for (const event of ['webhook.test', 'webhook.paused', 'signal.emitted']) {
        for (const notice of [forged, 'no JSON']) {
          await endpoint.sql(`insert into tallystick.webhook_deliveries
            (ledger_id, webhook_id, event_id, event, notice, state, tries, attempts, attempt_log, due_at)
            select ledger_id, webhook_id, gen_random_uuid(), '${event}', '${notice}', 'pending', 0, 0, '[]', now()
            from tallystick.webhooks where webhook_id = $1`)
        }
      }
      await endpoint.sql(
        'update tallystick.webhook_cursors set due_at = clock_timestamp() where webhook_id = $1',
      )
      const openRows = async () => (await endpoint.ask('GET')).standing.pending
      await until(async () => (await openRows()) === 0)
      assert.deepEqual(
        endpoint
          .received()
          .map(({ event }) => [event.type, Object.keys(event.data.webhook)])
          .sort(),
        ['webhook.paused', 'webhook.test'].map((type) => [type, ['id']]),
      )
      const dead = await endpoint.deliveries('?state=dead')
      assert.equal(dead.length, 4)
      for (const { id } of dead) {
        const { attemptLog } = await endpoint.ask('GET', `/deliveries/${id}`)
        assert.equal(attemptLog[0].error, 'integrity_fault')
      }
    },
  )
})
