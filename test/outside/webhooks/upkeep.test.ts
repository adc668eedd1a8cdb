import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { deleteOldDeliveries } from '../../../src/db/events/webhook-upkeep.ts'
import { makeWebhookUpkeep } from '../../../src/outside/webhooks/upkeep.ts'
import { parseId } from '../../../src/proof/ids.ts'
import { expectStatus, type TestApp } from '../../helpers/app.ts'
import { openTestPool } from '../../helpers/connect.ts'
import { lendApp } from '../../helpers/lent-app.ts'
import { makeWebhook } from '../../helpers/webhooks.ts'

async function setUp(t: TestContext) {
  const app = await lendApp(t)
  const pool = openTestPool(app.database.workerUrl, { max: 2 })
  t.after(() => pool.end())
  const { id } = await makeWebhook(app)
  return { app, pool, id, upkeep: makeWebhookUpkeep({ pool }) }
}

/**
 * Inserts deliveries of events that are `eventDays` old. They finished `finishedDays` ago, by default when the event
 * happened.
 */
async function addDeliveries(
  app: TestApp,
  webhook: string,
  deliveries: readonly [state: string, eventDays: number, finishedDays?: number][],
): Promise<void> {
  for (const [i, [state, eventDays, finishedDays = eventDays]] of deliveries.entries()) {
    const isOpen = state === 'pending' || state === 'held'
    await app.sql(
      `insert into tallystick.webhook_deliveries
         (ledger_id, webhook_id, event_id, event, seq, state, tries, attempts, attempt_log, due_at, finished_at)
       select $1, $2, encode(substr(int8send((extract(epoch from now() - make_interval(days => $3)) * 1000)::int8), 3)
           || '\\x7000800000000000' || int2send($4), 'hex')::uuid,
         'record.recorded', $4, $5, 1, 1, '[]', case when $5 = 'pending' then now() end,
         case when $6 then null else now() - make_interval(days => $7) end`,
      [
        parseId('led', app.ledger.ledger.id),
        parseId('whk', webhook),
        eventDays,
        i,
        state,
        isOpen,
        finishedDays,
      ],
    )
  }
}

async function kept(app: TestApp): Promise<string[]> {
  const rows = await app.sql<{ kept: string }>(
    `select state || ' ' || seq as kept from tallystick.webhook_deliveries order by seq`,
  )
  return rows.map((row) => row.kept)
}

test('keeps delivered deliveries for 7 days, dead ones for 30 days, open ones for ever', async (t) => {
  const { app, id, upkeep } = await setUp(t)
  await addDeliveries(app, id, [
    ['delivered', 6],
    ['delivered', 8],
    ['dead', 29],
    ['dead', 31],
    ['pending', 400],
    ['held', 400],
    // The event is old, but it was redelivered recently.
    ['delivered', 400, 1],
  ])
  await upkeep()
  assert.deepEqual(await kept(app), ['delivered 0', 'dead 2', 'pending 4', 'held 5', 'delivered 6'])
})

test('keeps only the newest delivered deliveries, up to a limit', async (t) => {
  const { app, pool, id } = await setUp(t)
  await addDeliveries(app, id, [
    ['delivered', 5],
    ['dead', 4],
    ['delivered', 3],
    ['delivered', 2],
    ['delivered', 1],
  ])
  const name = {
    ledgerId: parseId('led', app.ledger.ledger.id),
    webhookId: parseId('whk', id),
  }
  const removed = await deleteOldDeliveries(
    pool,
    name,
    { deliveredDays: 7, deadDays: 30, deliveredMax: 2 },
    10,
  )
  assert.equal(removed, 2)
  assert.deepEqual(await kept(app), ['dead 1', 'delivered 3', 'delivered 4'])
})

test('deletes at most the given number of deliveries per call, for any reason', async (t) => {
  const { app, pool, id } = await setUp(t)
  await addDeliveries(app, id, [
    ['dead', 32],
    ['dead', 31],
    ['delivered', 4],
    ['delivered', 3],
    ['delivered', 2],
    ['delivered', 1],
  ])
  const name = { ledgerId: parseId('led', app.ledger.ledger.id), webhookId: parseId('whk', id) }
  const remove = () => deleteOldDeliveries(pool, name, { deliveredDays: 7, deadDays: 30, deliveredMax: 1 }, 3)
  assert.deepEqual([await remove(), await remove(), await remove()], [3, 2, 0])
  assert.deepEqual(await kept(app), ['delivered 5'])
})

test('removes a deleted endpoint with its deliveries after a delay, and no other endpoint', async (t) => {
  const { app, id, upkeep } = await setUp(t)
  const other = await makeWebhook(app, { url: 'https://other.example/hook' })
  await addDeliveries(app, id, [
    ['delivered', 1],
    ['pending', 1],
  ])
  await addDeliveries(app, other.id, [['dead', 1]])
  expectStatus(204, await app.send('DELETE', `/v1/webhooks/${id}`))
  await upkeep()
  assert.equal((await kept(app)).length, 3, 'a lane may still deliver to it')
  await app.sql(
    `update tallystick.webhooks set state_at = state_at - interval '1 minute' where state = 'deleted'`,
  )
  await upkeep()
  assert.deepEqual(await kept(app), ['dead 0'])
  for (const table of ['webhooks', 'webhook_cursors', 'webhook_secrets']) {
    assert.equal((await app.sql(`select from tallystick.${table}`)).length, 1, table)
  }
})
