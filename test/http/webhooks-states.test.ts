import assert from 'node:assert/strict'
import { test } from 'node:test'
import { expectStatus } from '../helpers/app.ts'
import { sharedApp } from '../helpers/shared-app.ts'
import { makeWebhook } from '../helpers/webhooks.ts'

test('pausing sets state and reason; pausing or resuming twice changes nothing', async () => {
  const app = await sharedApp()
  const { id } = await makeWebhook(app)
  const move = async (step: string) =>
    expectStatus(200, await app.send('POST', `/v1/webhooks/${id}/${step}`, { body: {} })).json()
  const paused = await move('pause')
  assert.deepEqual([paused.state, paused.reason], ['paused', 'requested'])
  assert.ok(Date.parse(paused.stateAt) >= Date.parse(paused.createdAt))
  assert.deepEqual(await move('pause'), paused)
  const resumed = await move('resume')
  assert.deepEqual([resumed.state, resumed.reason], ['active', null])
  assert.deepEqual(await move('resume'), resumed)
  for (const [state, reason] of [
    ['paused', 'failing'],
    ['disabled', 'gone'],
  ]) {
    await app.sql('update tallystick.webhooks set state = $1, reason = $2 where ledger_id = $3', [
      state,
      reason,
      app.ledgerId,
    ])
    const shown = await move('pause')
    assert.deepEqual([shown.state, shown.reason], [state, reason])
    assert.deepEqual((await move('resume')).state, 'active')
  }
})

test('resuming resets failures, and continues at the old position or from now', async () => {
  const app = await sharedApp()
  const { id } = await makeWebhook(app)
  await app.notarize()
  await app.notarize()
  const fail = () =>
    app.sql(
      `update tallystick.webhook_cursors set failures = 9, failing_since = now(), resume_at = now(),
         job_id = gen_random_uuid(), leased_until = now(), last_failure_at = now() where ledger_id = $1`,
      [app.ledgerId],
    )
  const resume = async (body: object) =>
    expectStatus(200, await app.send('POST', `/v1/webhooks/${id}/resume`, { body })).json().standing
  for (const [body, at] of [
    [{}, 3],
    [{ from: 'here' }, 3],
    [{ from: 'now' }, 5],
  ] as const) {
    await fail()
    const { lastFailureAt, ...standing } = await resume(body)
    assert.notEqual(lastFailureAt, null)
    assert.deepEqual(standing, {
      ...{ nextSeq: at, behind: 5 - at, failures: 0, failingSince: null, resumeAt: null },
      ...{ lastSuccessAt: null, recovery: null, pending: 0, held: 0, dead: 0 },
    })
    const [cursor] = await app.sql(
      'select job_id, leased_until from tallystick.webhook_cursors where ledger_id = $1',
      [app.ledgerId],
    )
    assert.deepEqual(cursor, { job_id: null, leased_until: null })
  }
})

test('resuming from now skips checkpoints too', async () => {
  const app = await sharedApp()
  const { id } = await makeWebhook(app)
  await app.sql(
    `insert into tallystick.checkpoints (ledger_id, size, root, chain, note)
     select ledger_id, size, chain, chain, format(E'%s\\n%s\\n%s\\n', origin, size, encode(chain, 'base64'))
     from tallystick.chain_heads join tallystick.ledgers using (ledger_id) where ledger_id = $1`,
    [app.ledgerId],
  )
  const sizes = () =>
    app.sql('select checkpoint_size from tallystick.webhook_cursors where ledger_id = $1', [app.ledgerId])
  await app.send('POST', `/v1/webhooks/${id}/resume`, { body: {} })
  assert.deepEqual(await sizes(), [{ checkpoint_size: '0' }])
  await app.send('POST', `/v1/webhooks/${id}/resume`, { body: { from: 'now' } })
  assert.deepEqual(await sizes(), [{ checkpoint_size: '3' }])
})
