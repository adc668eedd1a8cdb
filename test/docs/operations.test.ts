import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { buildTestApp } from '../helpers/app.ts'
import { makeWebhook } from '../helpers/webhooks.ts'
import { PROJECT_DIR } from '../start/installation.ts'

test('what the operator is given to paste into psql shows who writes most, and which endpoints fail, and how', async (t) => {
  const app = await buildTestApp(t)
  const [failing, paused, well] = await Promise.all(
    ['failing', 'paused', 'well'].map((name) => makeWebhook(app, { url: `https://example.com/${name}` })),
  )
  await app.notarize()
  await app.send('POST', `/v1/webhooks/${paused.id}/pause`, { body: {} })
  await app.sql(`update tallystick.webhook_cursors c
    set next_seq = 4, failures = case when w.url like '%failing' then 3 else 0 end
    from tallystick.webhooks w where w.webhook_id = c.webhook_id`)
  for (const { id } of [failing, well]) await app.send('POST', `/v1/webhooks/${id}/test`, { body: {} })
  const attempt = { at: new Date().toISOString(), durationMs: 7, status: null, error: 'dns_failed' }
  await app.sql(
    `update tallystick.webhook_deliveries d set attempt_log = $1 from tallystick.webhooks w
     where w.webhook_id = d.webhook_id and w.url like '%failing'`,
    [JSON.stringify([attempt, { ...attempt, status: 503, error: null }, attempt])],
  )

  const page = readFileSync(join(PROJECT_DIR, 'docs/operations.md'), 'utf8')
  const [busiest, endpoints, attempts, ...others] = [...page.matchAll(/^ *```sql\n([\s\S]*?)^ *```/gm)].map(
    ([, sql]) => sql!,
  )
  assert.deepEqual(others, [])
  const [most] = await app.sql(busiest!)
  assert.equal(most!['name'], 'tests')
  assert.ok(Number(most!['entries_per_second']) > 0)
  const found = await app.sql(endpoints!)
  assert.deepEqual(
    found.map(({ url, state, reason, behind, failures }) => [url, state, reason, behind, failures]),
    [
      ['https://example.com/failing', 'active', null, '0', 3],
      ['https://example.com/paused', 'paused', 'requested', '0', 0],
    ],
  )
  const answers = await app.sql(attempts!)
  assert.deepEqual(
    answers.map(({ answer, attempts }) => [answer, attempts]),
    [
      ['dns_failed', '2'],
      ['503', '1'],
    ],
  )
})
