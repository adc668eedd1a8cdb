import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { withClient } from '../../../src/db/connect/client.ts'
import { OPERATIONS } from '../../../src/run/operate.ts'
import { buildTestApp, type TestApp } from '../../helpers/app.ts'
import { until } from '../../helpers/wait.ts'
import { makeWebhook } from '../../helpers/webhooks.ts'
import { RUNBOOKS_DIR } from './alerts-file.ts'

test('the runbooks’ psql queries find busy ledgers, blocking sessions, failing endpoints and peers', async (t) => {
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

  const queries = new Map(globSync('*.md', { cwd: RUNBOOKS_DIR }).map((page) => [page, sqlOf(page)] as const))
  const [busiest] = queries.get('requests.md')!
  const [most] = await app.sql(busiest!)
  assert.equal(most!['name'], 'tests')
  assert.ok(Number(most!['entries_per_second']) > 0)
  const [endpoints, attempts] = queries.get('webhooks.md')!
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
  await assertFailingPeer(app, queries.get('peers.md')![0]!)
  await assertWaiting(app, queries.get('database.md')![0]!)
  await assertArchivedAnew(app, queries.get('documents.md')![0]!)
  assert.equal([...queries.values()].flat().length, 6)
})

/**
 * Asserts that the query makes the worker archive each ledger again. Only a ledger with content that is nowhere but in
 * its archive keeps that archive.
 */
async function assertArchivedAnew(app: TestApp, query: string): Promise<void> {
  await app.sql('insert into tallystick.archives (ledger_id) select ledger_id from tallystick.chain_heads')
  await withClient(app.database.ownerUrl, (owner) => owner.query(query))
  assert.deepEqual(await app.sql('select ledger_id from tallystick.archives'), [])
  await app.sql('insert into tallystick.archives (ledger_id) select ledger_id from tallystick.chain_heads')
  await app.sql(`insert into tallystick.archive_pieces (ledger_id, from_seq, end_seq, lines_digest, lines_bytes, state)
    select ledger_id, 0, 1, sha256(''), 1, 'left' from tallystick.archives`)
  await withClient(app.database.ownerUrl, (owner) => owner.query(query))
  assert.equal((await app.sql('select ledger_id from tallystick.archives')).length, 1)
}

/**
 * Asserts that the query shows the accepted peer. A peer that is only invited cannot fail, because it has no cursor
 * yet.
 */
async function assertFailingPeer(app: TestApp, query: string): Promise<void> {
  const { id } = (await app.send('POST', '/v1/peers', { body: { name: 'Harbour' } })).json()
  assert.deepEqual(await app.sql(query), [])
  await app.sql(`update tallystick.peers set state = 'pending', role = 'invited', remote_ledger_id = gen_random_uuid(),
    remote_url = 'https://harbour.example'`)
  await app.sql(`insert into tallystick.peer_cursors (ledger_id, peer_id, next_seq, known_kid, failures, failing_since, last_error)
    select ledger_id, peer_id, 0, sha256(''), 3, now(), 'dns_failed: no such name' from tallystick.peers`)
  const found = await app.sql(query)
  assert.match(id, /^peer_/)
  assert.deepEqual(
    found.map(({ name, remote_url, state, failures, last_error }) => [
      name,
      remote_url,
      state,
      failures,
      last_error,
    ]),
    [['Harbour', 'https://harbour.example', 'pending', 3, 'dns_failed: no such name']],
  )
}

/** Asserts that the query shows a transaction that waits for a lock of another transaction. */
async function assertWaiting({ database, sql }: TestApp, query: string): Promise<void> {
  const lock = 'select pg_advisory_xact_lock(4711)'
  await withClient(database.ownerUrl, async (holder) => {
    await holder.query('begin')
    await holder.query(lock)
    const { rows } = await holder.query<{ pid: number }>('select pg_backend_pid() as pid')
    const waiting = withClient(database.ownerUrl, (waiter) => waiter.query(lock))
    await until(async () =>
      (await sql<{ blocked_by: number[] }>(query)).some(({ blocked_by }) =>
        blocked_by.includes(rows[0]!.pid),
      ),
    )
    await holder.query('commit')
    await waiting
  })
}

test('the runbooks name every operate command, and no other', () => {
  const named = globSync('*.md', { cwd: RUNBOOKS_DIR }).flatMap((page) =>
    [...readPage(page).matchAll(/^ *operate ([a-z-]+)|`operate ([a-z-]+)/gm)].map(
      ([, one, other]) => one ?? other!,
    ),
  )
  assert.deepEqual([...new Set(named)].sort(), Object.keys(OPERATIONS).sort())
})

function sqlOf(page: string): string[] {
  return [...readPage(page).matchAll(/^ *```sql\n([\s\S]*?)^ *```/gm)].map(([, sql]) => sql!)
}

function readPage(page: string): string {
  return readFileSync(join(RUNBOOKS_DIR, page), 'utf8')
}
