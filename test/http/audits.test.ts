import assert from 'node:assert/strict'
import { test } from 'node:test'
import { expectStatus, type TestApp } from '../helpers/app.ts'
import { addKey } from '../helpers/more-keys.ts'
import { sharedApp } from '../helpers/shared-app.ts'

test('a requested audit is queued until the worker runs it', async () => {
  const app = await sharedApp()
  const audit = expectStatus(202, await ask(app)).json()
  assert.match(audit.id, /^aud_/)
  const { id, requestedAt, ...rest } = audit
  assert.ok(Math.abs(Date.parse(requestedAt) - Date.now()) < 5_000)
  assert.deepEqual(rest, {
    requestedBy: app.ledger.agent.id,
    state: 'queued',
    progress: { entriesDone: 0, entriesTotal: null },
    startedAt: null,
    finishedAt: null,
    ok: null,
    report: null,
    error: null,
  })
  assert.deepEqual(expectStatus(200, await app.send('GET', `/v1/audits/${id}`)).json(), audit)
})

test('a request during an open audit gets that audit; a later request gets a new one', async () => {
  const app = await sharedApp()
  const first = (await ask(app)).json()
  assert.deepEqual(expectStatus(202, await ask(app)).json(), first)
  await finish(app, { ok: false, failure: { seq: 3, code: 'signature_invalid', reason: 'changed' } })
  const shown = expectStatus(200, await app.send('GET', `/v1/audits/${first.id}`)).json()
  assert.equal(shown.state, 'done')
  assert.equal(shown.ok, false)
  assert.deepEqual(shown.report.failure, { seq: 3, code: 'signature_invalid', reason: 'changed' })
  assert.notEqual((await ask(app)).json().id, first.id)
})

test('a failed audit shows its error', async () => {
  const app = await sharedApp()
  const { id } = (await ask(app)).json()
  const error = { code: 'internal', reason: 'the worker failed (EACCES)' }
  await app.sql(
    "update tallystick.audits set state = 'failed', finished_at = now(), error = $1 where ledger_id = $2 and state = 'queued'",
    [error, app.ledgerId],
  )
  const shown = expectStatus(200, await app.send('GET', `/v1/audits/${id}`)).json()
  assert.deepEqual([shown.state, shown.ok, shown.error], ['failed', null, error])
})

test('audits are listed newest first, page by page, each once', async () => {
  const app = await sharedApp()
  const ids: string[] = []
  for (let i = 0; i < 5; i++) {
    ids.unshift((await ask(app)).json().id)
    await finish(app, { ok: true, failure: null })
  }
  const seen: string[] = []
  let query = '?limit=2'
  for (;;) {
    const page = expectStatus(200, await app.send('GET', `/v1/audits${query}`)).json()
    seen.push(...page.data.map((audit: { id: string }) => audit.id))
    if (page.nextCursor === null) break
    query = `?limit=2&cursor=${page.nextCursor}`
  }
  assert.deepEqual(seen, ids)
})

test('a key sees only its own ledger’s audits', async () => {
  const app = await sharedApp()
  const other = await app.newLedger()
  const { id } = (await ask(app)).json()
  expectStatus(404, await app.send('GET', `/v1/audits/${id}`, { key: other.key.key }))
  const page = expectStatus(200, await app.send('GET', '/v1/audits', { key: other.key.key }))
  assert.deepEqual(page.json(), { data: [], nextCursor: null })
})

test('requesting and reading audits needs the scope audit:read', async () => {
  const app = await sharedApp()
  const key = await addKey(app, { scopes: ['records:read', 'records:write'] })
  expectStatus(403, await app.send('POST', '/v1/audits', { key, body: {} }))
  expectStatus(403, await app.send('GET', '/v1/audits', { key }))
  const auditor = await addKey(app, { scopes: ['audit:read'] })
  expectStatus(202, await app.send('POST', '/v1/audits', { key: auditor, body: {} }))
})

test('refuses unknown ids with 404, and unknown cursors, members and an Idempotency-Key', async () => {
  const app = await sharedApp()
  expectStatus(404, await app.send('GET', '/v1/audits/aud_1'))
  expectStatus(404, await app.send('GET', `/v1/audits/${app.ledger.ledger.id}`))
  expectStatus(422, await app.send('GET', '/v1/audits?cursor=x'))
  expectStatus(422, await app.send('GET', '/v1/audits?limit=201'))
  expectStatus(422, await app.send('POST', '/v1/audits', { body: { ledger: app.ledger.ledger.id } }))
  const headers = { 'idempotency-key': 'one' }
  expectStatus(400, await app.send('POST', '/v1/audits', { body: {}, headers }))
})

function ask(app: TestApp) {
  return app.send('POST', '/v1/audits', { body: {} })
}

async function finish(app: TestApp, found: { ok: boolean; failure: object | null }): Promise<void> {
  const report = {
    entries: 3,
    records: 0,
    keys: 'self-asserted',
    firstKid: 'a'.repeat(64),
    checkpoint: 'own',
    covered: 3,
    failure: found.failure,
    notices: [],
  }
  await app.sql(
    `update tallystick.audits set state = 'done', finished_at = now(), started_at = now(), entries_done = 3,
       entries_total = 3, ok = $1, report = $2 where ledger_id = $3 and state = 'queued'`,
    [found.ok, report, app.ledgerId],
  )
}
