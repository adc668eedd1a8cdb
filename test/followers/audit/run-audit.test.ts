import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { findAudit, requestAudit } from '../../../src/db/audit/audits.ts'
import { type AuditDeps, runAudit } from '../../../src/followers/audit/run-audit.ts'
import { publishCheckpoints } from '../../../src/followers/checkpoints/publish.ts'
import { parseId } from '../../../src/proof/ids.ts'
import { type AuditTest, openFaults, setUpAudit, undefended } from './set-up.ts'

const NEVER = new AbortController().signal

test('an audit verifies the whole ledger against the stored checkpoint', async (t) => {
  const audit = await setUpAudit(t)
  await publishCheckpoints(audit.publisher)
  await audit.app.notarize()
  const row = await auditOnce(audit)
  assert.equal(row.state, 'done')
  assert.equal(row.ok, true)
  assert.equal(row.entriesDone, 4)
  assert.equal(row.entriesTotal, 4)
  const { firstKid, ...report } = row.report!
  assert.match(firstKid!, /^[0-9a-f]{64}$/)
  assert.deepEqual(report, {
    entries: 4,
    records: 1,
    keys: 'self-asserted',
    checkpoint: 'given',
    covered: 3,
    failure: null,
    notices: [],
  })
  assert.deepEqual(audit.alarms, [])
})

test('an old change ends the audit as done and bad, and stops the ledger’s checkpoints', async (t) => {
  const audit = await setUpAudit(t)
  const { app } = audit
  for (let i = 0; i < 5; i++) await app.notarize()
  await publishCheckpoints(audit.publisher)
  await undefended(audit, `update tallystick.records set payload = '{"changed":true}' where first_seq = 4`)
  const row = await auditOnce(audit)
  assert.equal(row.state, 'done')
  assert.equal(row.ok, false)
  assert.equal(row.report!.failure!.seq, 4)
  const [fault] = await openFaults(audit)
  assert.equal(`${fault?.found_by} ${fault?.seq} ${fault?.code}`, `audit 4 ${row.report!.failure!.code}`)
  assert.equal(audit.alarms.length, 1)
  assert.equal(audit.alarms[0]!['ledger'], app.ledger.ledger.id)

  await undefended(
    audit,
    "update tallystick.checkpoints set published_at = published_at - interval '2 seconds'",
  )
  await app.notarize()
  await publishCheckpoints(audit.publisher)
  assert.match((await app.send('GET', '/v1/checkpoints/latest')).body, /\n8\n/)
})

test('a ledger that does not extend the stored checkpoint is bad even if it verifies alone', async (t) => {
  const audit = await setUpAudit(t)
  const { app } = audit
  await app.notarize()
  await publishCheckpoints(audit.publisher)
  await undefended(
    audit,
    `delete from tallystick.entries where seq = 3; delete from tallystick.records;
     delete from tallystick.checkpoints; delete from tallystick.tree_frontiers; delete from tallystick.tree_tiles;
     update tallystick.chain_heads set size = 3,
       chain = (select chain from tallystick.entries order by seq desc limit 1)`,
  )
  const row = await auditOnce(audit)
  assert.equal(row.ok, false)
  assert.match(row.report!.failure!.code, /^checkpoint_/)
  assert.equal((await openFaults(audit)).length, 1)
})

test('a bad audit of a ledger closed as restored opens no fault', async (t) => {
  const audit = await setUpAudit(t)
  await undefended(
    audit,
    `update tallystick.chain_heads set closed = 'restored'; update tallystick.agents set name = 'x'`,
  )
  assert.equal((await auditOnce(audit)).ok, false)
  assert.deepEqual(await openFaults(audit), [])
})

test('an audit whose worker was killed starts again from the beginning', async (t) => {
  const audit = await setUpAudit(t)
  const name = await request(audit)
  await audit.app.sql(
    "update tallystick.audits set state = 'running', job_id = $1, entries_done = 2, entries_total = 3, started_at = now()",
    [randomUUID()],
  )
  await runAudit(auditDeps(audit), name, { id: randomUUID(), signal: NEVER })
  const row = await findAudit(audit.pool, name.ledgerId, name.auditId)
  assert.equal(row!.ok, true)
  assert.equal(row!.entriesDone, 3)
})

test('an ended or unknown audit is not run again', async (t) => {
  const audit = await setUpAudit(t)
  const name = await request(audit)
  const job = { id: randomUUID(), signal: NEVER }
  await runAudit(auditDeps(audit), name, job)
  const before = await findAudit(audit.pool, name.ledgerId, name.auditId)
  await runAudit(auditDeps(audit), name, job)
  assert.deepEqual(await findAudit(audit.pool, name.ledgerId, name.auditId), before)
  await runAudit(auditDeps(audit), { ...name, auditId: name.ledgerId }, job)
})

test('a stopping worker returns its audit to the queue', async (t) => {
  const audit = await setUpAudit(t)
  const name = await request(audit)
  const stop = new AbortController()
  const running = runAudit({ ...auditDeps(audit), stopping: stop.signal }, name, {
    id: randomUUID(),
    signal: NEVER,
  })
  setTimeout(() => stop.abort(), 20)
  await running
  const row = await findAudit(audit.pool, name.ledgerId, name.auditId)
  assert.equal(row!.state, 'queued')
  assert.equal(row!.startedAt, null)
})

test('a database that refuses the login fails the audit’s job with its reason, and opens no fault', async (t) => {
  const audit = await setUpAudit(t)
  const name = await request(audit)
  const url = new URL(audit.app.database.workerUrl)
  url.password = 'wrong'
  const deps = { ...auditDeps(audit), database: url.href }
  await assert.rejects(runAudit(deps, name, { id: randomUUID(), signal: NEVER }), /refuses the login/)
  const failed = (await findAudit(audit.pool, name.ledgerId, name.auditId))!
  assert.equal(failed.state, 'running')
  assert.deepEqual(failed.error, { code: 'denied', reason: 'the database refused the worker’s login' })
  assert.deepEqual(await openFaults(audit), [])
  await runAudit(auditDeps(audit), name, { id: randomUUID(), signal: NEVER })
  const done = (await findAudit(audit.pool, name.ledgerId, name.auditId))!
  assert.deepEqual([done.state, done.error], ['done', null])
})

function auditDeps({ app, pool, publisher, follower }: AuditTest): AuditDeps {
  const { storedCheckpoints } = publisher
  return { pool, log: follower.log, database: app.database.workerUrl, storedCheckpoints, stopping: NEVER }
}

async function request({ app, pool }: AuditTest) {
  const ledgerId = parseId('led', app.ledger.ledger.id)
  const auditId = await requestAudit(pool, ledgerId, app.deps.entropy.uuidv7(Date.now()), null)
  return { ledgerId, auditId }
}

async function auditOnce(audit: AuditTest) {
  const name = await request(audit)
  await runAudit(auditDeps(audit), name, { id: randomUUID(), signal: NEVER })
  return (await findAudit(audit.pool, name.ledgerId, name.auditId))!
}
