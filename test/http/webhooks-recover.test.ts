import assert from 'node:assert/strict'
import { test } from 'node:test'
import { expectStatus, type TestApp } from '../helpers/app.ts'
import { assertProblem } from '../helpers/assert-problem.ts'
import { sharedApp } from '../helpers/shared-app.ts'
import { makeWebhook, standing, timeOf } from '../helpers/webhooks.ts'

test('a recovery covers the entries of the given time range', async () => {
  const app = await sharedApp()
  const { id } = await makeWebhook(app)
  for (let i = 0; i < 6; i++) await app.notarize()
  await setClock(app)
  await moveCursor(app, 'next_seq = 8')
  const { recovery, ...rest } = (await recover(app, id, { since: timeOf(5), until: timeOf(7) })).standing
  assert.deepEqual(recovery, { nextSeq: 5, endSeq: 7, delivered: false })
  assert.equal(rest.nextSeq, 8)
  assert.deepEqual((await standing(app, id)).recovery, recovery)
  await endRecovery(app)
  // The new recovery ends at the webhook's current position, because later events are delivered anyway.
  assert.deepEqual((await recover(app, id, { since: timeOf(5), delivered: true })).standing.recovery, {
    ...{ nextSeq: 5, endSeq: 8, delivered: true },
  })
  await endRecovery(app)
  assert.deepEqual((await recover(app, id, { since: timeOf(4), until: timeOf(1_000) })).standing.recovery, {
    ...{ nextSeq: 4, endSeq: 8, delivered: false },
  })
  await endRecovery(app)
  for (const nothing of [
    { since: timeOf(8) },
    { since: timeOf(1_000) },
    { since: timeOf(5), until: timeOf(5) },
    { since: timeOf(7), until: timeOf(5) },
  ]) {
    assert.equal((await recover(app, id, nothing)).standing.recovery, null)
  }
})

test('a second recovery within the running one returns it; others get 409 state_conflict', async () => {
  const app = await sharedApp()
  const { id } = await makeWebhook(app)
  for (let i = 0; i < 6; i++) await app.notarize()
  await setClock(app)
  await moveCursor(app, 'next_seq = 8')
  const body = { since: timeOf(4), until: timeOf(7) }
  const running = (await recover(app, id, body)).standing.recovery
  assert.deepEqual(running, { nextSeq: 4, endSeq: 7, delivered: false })
  await moveCursor(app, 'next_seq = 9')
  for (const part of [
    body,
    { ...body, until: timeOf(6) },
    { ...body, since: timeOf(5) },
    { since: timeOf(4) },
  ]) {
    assert.deepEqual((await recover(app, id, part)).standing.recovery, running)
  }
  const refuses = async (other: object) => {
    const response = await app.send('POST', `/v1/webhooks/${id}/recover`, { body: other })
    assert.equal(assertProblem(response, 409, 'state_conflict')['retryable'], true)
  }
  await refuses({ ...body, delivered: true })
  await refuses({ ...body, until: timeOf(8) })
  await refuses({ ...body, since: timeOf(3) })
  await refuses({ since: timeOf(3) })
  await moveCursor(app, 'recover_seq = 6')
  await refuses(body)
  assert.deepEqual((await standing(app, id)).recovery, { nextSeq: 6, endSeq: 7, delivered: false })
})

test('starting a recovery changes xmin of the webhook’s row', async () => {
  const app = await sharedApp()
  const { id } = await makeWebhook(app)
  const version = async () =>
    (
      await app.sql('select xmin::text as version from tallystick.webhooks where ledger_id = $1', [
        app.ledgerId,
      ])
    )[0]!['version']
  const before = await version()
  await recover(app, id, { since: timeOf(0) })
  assert.notEqual(await version(), before)
})

test('refuses impossible times and unknown members with 422 invalid_request', async () => {
  const app = await sharedApp()
  const { id } = await makeWebhook(app)
  for (const body of [
    {},
    { since: '2026-02-30T00:00:00Z' },
    { since: 'yesterday' },
    { since: timeOf(1), until: '2026-02-30T00:00:00Z' },
    { since: timeOf(1), delivered: 1 },
    { since: timeOf(1), events: ['record.created'] },
  ]) {
    const response = await app.send('POST', `/v1/webhooks/${id}/recover`, { body })
    assertProblem(response, 422, 'invalid_request')
  }
  assert.notEqual((await recover(app, id, { since: '0001-01-01T00:00:00Z' })).standing.recovery, null)
})

/** Sets the time of entry n to minute n. */
async function setClock(app: TestApp): Promise<void> {
  await app.sql(`
    set local session_replication_role = replica;
    update tallystick.entries set recorded_at = timestamptz '2026-01-01T00:00:00Z' + seq * interval '1 minute'
    where ledger_id = '${app.ledgerId}'`)
}

async function moveCursor(app: TestApp, change: string): Promise<void> {
  await app.sql(`update tallystick.webhook_cursors set ${change} where ledger_id = $1`, [app.ledgerId])
}

async function endRecovery(app: TestApp): Promise<void> {
  await moveCursor(app, 'recover_seq = null, recover_end = null')
}

async function recover(app: TestApp, id: string, body: object) {
  return expectStatus(202, await app.send('POST', `/v1/webhooks/${id}/recover`, { body })).json()
}
