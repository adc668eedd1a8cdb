import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type pg from 'pg'
import { appendEntries } from '../../../src/db/chain/append-entries.ts'
import { redeliverDead } from '../../../src/db/events/webhook-deliveries.ts'
import { createWebhook, findWebhook } from '../../../src/db/events/webhooks.ts'
import { formatId, parseId } from '../../../src/proof/ids.ts'
import { buildTestApp, type TestApp } from '../../helpers/app.ts'
import { connect, openTestPool } from '../../helpers/connect.ts'
import { createTestDatabase, type TestDatabase } from '../../helpers/database.ts'
import { createTestLedger, makeEntry, outcomesOf, randomId } from '../../helpers/test-ledger.ts'
import { until } from '../../helpers/wait.ts'
import { makeWebhook, URL } from '../../helpers/webhooks.ts'

test('a server’s login reads webhooks, but not their secrets', async (t) => {
  const app = await buildTestApp(t)
  const { id } = await makeWebhook(app)
  const api = await connect(t, app.database.apiUrl)
  for (const table of ['webhooks', 'webhook_cursors', 'webhook_deliveries']) {
    await api.query(`select * from tallystick.${table}`)
  }
  const columns = 'ledger_id, webhook_id, secret_id, public_key, expires_at'
  const { rows } = await api.query(`select ${columns} from tallystick.webhook_secrets`)
  assert.equal(rows[0].webhookId, parseId('whk', id))
  for (const attempt of [
    'select sealed from tallystick.webhook_secrets',
    'select * from tallystick.webhook_secrets',
    'select s from tallystick.webhook_secrets s',
    'select length(sealed) from tallystick.webhook_secrets',
    'select webhook_id from tallystick.webhook_secrets order by sealed',
    'delete from tallystick.webhook_secrets returning sealed',
  ]) {
    await assert.rejects(api.query(attempt), { code: '42501' }, attempt)
  }
})

test('an entry that is being appended while a webhook is created is delivered', async (t) => {
  const database = await createTestDatabase(t)
  const [api, appending] = [await connect(t, database.apiUrl), await connect(t, database.apiUrl)]
  const ledger = await createTestLedger(api)
  const pool = openPool(t, database)
  await appending.query('begin')
  assert.deepEqual(outcomesOf(await appendEntries(appending, [makeEntry(ledger)])), ['appended'])
  const webhookId = await createWebhook(pool, ledger.id, SETTINGS, SECRET)
  await appending.query('commit')
  const webhook = await findWebhook(pool, ledger.id, webhookId!)
  assert.deepEqual([webhook?.nextSeq, webhook?.behind], [3, 1])
})

test('of concurrent requests that create the same webhook, the second waits for the first', async (t) => {
  const app = await buildTestApp(t)
  const first = await connect(t, app.database.apiUrl)
  await first.query('begin')
  await first.query(`select tallystick.create_webhook($1, $2, $3, $2, $2, $4, $4, 100)`, [
    parseId('led', app.ledger.ledger.id),
    SETTINGS.webhookId,
    JSON.stringify(SETTINGS),
    SECRET.publicKey,
  ])
  const second = app.send('POST', '/v1/webhooks', { body: { url: URL, events: ['*'] } })
  await until(() => isWaiting(app))
  await first.query('commit')
  assert.equal((await second).json().webhook, formatId('whk', SETTINGS.webhookId))
})

test('resume waits for a concurrent writer, and never moves the endpoint’s cursor back', async (t) => {
  const app = await buildTestApp(t)
  const { id } = await makeWebhook(app)
  const worker = await connect(t, app.database.workerUrl)
  await worker.query('begin')
  await worker.query('update tallystick.webhook_cursors set next_seq = 20')
  const resumed = app.send('POST', `/v1/webhooks/${id}/resume`, { body: { from: 'now' } })
  await until(() => isWaiting(app))
  await worker.query('commit')
  assert.equal((await resumed).json().standing.nextSeq, 20)
})

test('a recovery requested while the worker ends the previous one starts', async (t) => {
  const app = await buildTestApp(t)
  const { id } = await makeWebhook(app)
  const worker = await connect(t, app.database.workerUrl)
  await worker.query('update tallystick.webhook_cursors set recover_seq = 2, recover_end = 3')
  await worker.query('begin')
  await worker.query('update tallystick.webhook_cursors set recover_seq = null, recover_end = null')
  const body = { since: '2026-01-01T00:00:00Z', delivered: true }
  const recovered = app.send('POST', `/v1/webhooks/${id}/recover`, { body })
  await until(() => isWaiting(app))
  await worker.query('commit')
  assert.deepEqual((await recovered).json().standing.recovery, { nextSeq: 0, endSeq: 3, delivered: true })
})

test('an endpoint that its worker stops at the same moment is active once it is resumed', async (t) => {
  const app = await buildTestApp(t)
  const { id } = await makeWebhook(app)
  const worker = await connect(t, app.database.workerUrl)
  await worker.query('begin')
  await worker.query("update tallystick.webhooks set state = 'paused', reason = 'failing', state_at = now()")
  const resumed = app.send('POST', `/v1/webhooks/${id}/resume`)
  await until(() => isWaiting(app))
  await worker.query('commit')
  const { state, reason } = (await resumed).json()
  assert.deepEqual([state, reason], ['active', null])
})

test('a deleted webhook is no endpoint any more, and its id is not used again', async (t) => {
  const app = await buildTestApp(t)
  const { id } = await makeWebhook(app)
  await app.send('DELETE', `/v1/webhooks/${id}`)
  const [ledgerId, webhookId] = [parseId('led', app.ledger.ledger.id), parseId('whk', id)]
  const pool = openPool(t, app.database)
  assert.equal(await findWebhook(pool, ledgerId, webhookId), null)
  assert.equal(await redeliverDead(pool, ledgerId, webhookId, 0), null)
  const again = createWebhook(pool, ledgerId, { ...SETTINGS, webhookId }, SECRET)
  await assert.rejects(again, { constraint: 'webhooks_pkey' })
})

const SETTINGS = {
  webhookId: randomId(),
  createdBy: randomId(),
  url: URL,
  description: null,
  events: ['*'],
  types: [],
  include: [],
}
const SECRET = { secretId: randomId(), sealed: Buffer.alloc(92), publicKey: Buffer.alloc(32) }

function openPool(t: TestContext, { apiUrl }: TestDatabase): pg.Pool {
  const pool = openTestPool(apiUrl, { max: 1 })
  t.after(() => pool.end())
  return pool
}

async function isWaiting(app: TestApp): Promise<boolean> {
  const waiting = await app.sql(
    "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
  )
  return waiting.length > 0
}
