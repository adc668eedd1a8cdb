import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import type { PgBoss } from 'pg-boss'
import { failLostAudits } from '../../../src/db/audit/audit-work.ts'
import { listAudits, requestAudit } from '../../../src/db/audit/audits.ts'
import { openJobs } from '../../../src/db/jobs/job-queues.ts'
import { enqueueAudits } from '../../../src/followers/audit/enqueue-audits.ts'
import { scheduleAudits } from '../../../src/followers/audit/schedule-audits.ts'
import { parseId } from '../../../src/proof/ids.ts'
import { connect } from '../../helpers/connect.ts'
import { createTestLedger } from '../../helpers/test-ledger.ts'
import { type AuditTest, setUpAudit } from './set-up.ts'

test('a ledger has one open audit; requests meanwhile return that audit', async (t) => {
  const audit = await setUpAudit(t)
  const ids = await Promise.all(Array.from({ length: 8 }, () => request(audit)))
  assert.equal(new Set(ids).size, 1)
  await end(audit)
  assert.notEqual(await request(audit), ids[0])
  assert.equal((await audits(audit)).length, 2)
})

test('a ledger stores a hundred ended audits besides its open audit', async (t) => {
  const audit = await setUpAudit(t)
  for (let i = 0; i < 105; i++) {
    await request(audit)
    await end(audit)
  }
  const newest = await request(audit)
  const rows = await audits(audit)
  assert.equal(rows.length, 101)
  // The newest job may be at any position, because ids of the same millisecond have a random order.
  assert.ok(rows.some((row) => row.id === newest))
})

test('several workers make one job for an audit; the job names the audit', async (t) => {
  const { audit, boss } = await setUpJobs(t)
  const id = await request(audit)
  const deps = { pool: audit.pool, boss, log: audit.follower.log }
  await Promise.all([enqueueAudits(deps), enqueueAudits(deps), enqueueAudits(deps)])
  const jobs = await boss.findJobs<{ ledger: string; audit: string }>('audit')
  assert.equal(jobs.length, 1)
  assert.equal(jobs[0]!.data.ledger, audit.app.ledger.ledger.id)
  assert.equal(parseId('aud', jobs[0]!.data.audit), id)
  assert.equal((await audits(audit))[0]!.job_id, jobs[0]!.id)
})

test('an audit of a ledger that is being moved gets no job until the move ends', async (t) => {
  const { audit, boss } = await setUpJobs(t)
  await request(audit)
  const deps = { pool: audit.pool, boss, log: audit.follower.log }
  await audit.app.sql("update tallystick.chain_heads set closed = 'moving'")
  for (let round = 0; round < 2; round++) await enqueueAudits(deps)
  assert.deepEqual(await boss.findJobs('audit'), [])
  await audit.app.sql('update tallystick.chain_heads set closed = null')
  await enqueueAudits(deps)
  assert.equal((await boss.findJobs('audit')).length, 1)
})

test('an audit whose job was given up fails with worker_lost; a new audit can be requested', async (t) => {
  const { audit, boss } = await setUpJobs(t)
  await request(audit)
  const deps = { pool: audit.pool, boss, log: audit.follower.log }
  await enqueueAudits(deps)
  for (let attempt = 0; attempt <= 5; attempt++) {
    await audit.app.sql("update tallystick_jobs.job set start_after = now() where name = 'audit'")
    const [job] = await boss.fetch('audit')
    assert.ok(job, `attempt ${attempt}`)
    await enqueueAudits(deps)
    assert.equal((await audits(audit))[0]!.state, 'queued')
    await boss.fail('audit', job.id, { why: 'a test' })
  }
  assert.deepEqual(await boss.fetch('audit'), [])
  await enqueueAudits(deps)
  const { ledgerId } = audit.app
  const [failed] = await listAudits(audit.pool, ledgerId, { after: null, limit: 1 })
  assert.deepEqual([failed!.state, failed!.error?.code], ['failed', 'worker_lost'])
  assert.equal(audit.alarms.length, 1)
  const dead = await boss.findJobs<object>('dead-letters')
  assert.equal(dead.length, 1)
  assert.equal(dead[0]!.sourceName, 'audit')
  await request(audit)
  assert.equal((await audits(audit)).length, 2)
})

test('an audit without a job stays queued and is not failed as lost', async (t) => {
  const audit = await setUpAudit(t)
  await request(audit)
  assert.deepEqual(await failLostAudits(audit.pool), [])
  assert.equal((await audits(audit))[0]!.state, 'queued')
})

test('the job of a killed worker goes to another worker', async (t) => {
  const { audit, boss } = await setUpJobs(t)
  await request(audit)
  await enqueueAudits({ pool: audit.pool, boss, log: audit.follower.log })
  const [job] = await boss.fetch('audit')
  await audit.app.sql("update tallystick_jobs.job set heartbeat_on = now() - interval '31 seconds'")
  await audit.app.sql('update tallystick_jobs.queue set monitor_on = null, maintain_on = null')
  await boss.supervise('audit')
  await audit.app.sql("update tallystick_jobs.job set start_after = now() where name = 'audit'")
  const [again] = await boss.fetch('audit')
  assert.equal(again?.id, job!.id)
  assert.equal(again?.retryCount, 1)
})

test('a ledger is audited daily only if it has grown or its last audit was bad', async (t) => {
  const audit = await setUpAudit(t)
  await audit.app.newLedger()
  const schedule = () => scheduleAudits({ pool: audit.pool, entropy: audit.app.deps.entropy, now: Date.now })
  assert.equal(await schedule(), 2, 'never audited')
  assert.equal(await schedule(), 0, 'open')
  await end(audit, { ok: true, entries: 3 })
  assert.equal(await schedule(), 0, 'today')
  await age(audit, '25 hours')
  assert.equal(await schedule(), 0, 'good, and not grown')
  await audit.app.notarize()
  assert.equal(await schedule(), 1, 'grown')
  await end(audit, { ok: false, entries: 3 })
  await age(audit, '25 hours')
  assert.equal(await schedule(), 1, 'bad')
  await end(audit, { ok: true, entries: 4 })
})

test('daily audits of many ledgers are spread over the day', async (t) => {
  const audit = await setUpAudit(t)
  const api = await connect(t, audit.app.database.apiUrl)
  for (let i = 0; i < 59; i++) await createTestLedger(api)
  const schedule = () => scheduleAudits({ pool: audit.pool, entropy: audit.app.deps.entropy, now: Date.now })
  assert.equal(await schedule(), 60)
  await end(audit, { ok: true, entries: 2 })
  await age(audit, '12 hours')
  const due = await schedule()
  assert.ok(due > 15 && due < 45, `${due} of 60 ledgers are due after half a day`)
})

async function setUpJobs(t: Parameters<typeof setUpAudit>[0]): Promise<{ audit: AuditTest; boss: PgBoss }> {
  const audit = await setUpAudit(t)
  const boss = openJobs(audit.pool, { schedule: false, supervise: false })
  boss.on('error', (error) => assert.fail(error))
  await boss.start()
  t.after(() => boss.stop({ graceful: false }))
  return { audit, boss }
}

async function request({ app }: AuditTest): Promise<string> {
  const ledgerId = parseId('led', app.ledger.ledger.id)
  const id = await requestAudit(app.deps.readPool, ledgerId, app.deps.entropy.uuidv7(Date.now()), null)
  return id
}

async function audits({ app }: AuditTest) {
  return app.sql<{ id: string; state: string; job_id: string | null }>(
    'select audit_id as id, state, job_id from tallystick.audits order by audit_id',
  )
}

async function end({ app }: AuditTest, found: { ok: boolean; entries: number } = { ok: true, entries: 3 }) {
  await app.sql(
    `update tallystick.audits set state = 'done', finished_at = now(), ok = $1, report = $2, job_id = $3
     where state in ('queued', 'running')`,
    [found.ok, { entries: found.entries }, randomUUID()],
  )
}

async function age({ app }: AuditTest, by: string): Promise<void> {
  await app.sql('update tallystick.audits set requested_at = requested_at - $1::interval', [by])
}
