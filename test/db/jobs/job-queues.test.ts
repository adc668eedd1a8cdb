import assert from 'node:assert/strict'
import { test } from 'node:test'
import type pg from 'pg'
import { getRollbackPlans } from 'pg-boss'
import {
  installJobQueues,
  listDeadLetters,
  openJobs,
  redriveDeadLetters,
} from '../../../src/db/jobs/job-queues.ts'
import { QUEUES } from '../../../src/db/jobs/queues.ts'
import { openLog } from '../../../src/observe/log.ts'
import { openQueues } from '../../../worker/work-queues.ts'
import { connect, openTestPool, testDatabase } from '../../helpers/connect.ts'
import { createTestDatabase } from '../../helpers/database.ts'

test('the queues match the code, also if an earlier version created them', async (t) => {
  const { ownerUrl } = await createTestDatabase(t)
  const owner = await connect(t, ownerUrl)
  const before = await readQueues(owner)
  assert.deepEqual(
    before.map((row) => row.name),
    [...Object.keys(QUEUES), 'dead-letters'].sort(),
  )
  assert.equal(before[0]!.retryLimit, QUEUES.audit.retryLimit)
  assert.equal(before[0]!.deadLetter, 'dead-letters')
  await owner.query(
    "update tallystick_jobs.queue set retry_limit = 99, dead_letter = null where name = 'audit'",
  )
  await installJobQueues(owner, 'tallystick_worker')
  assert.deepEqual(await readQueues(owner), before)
})

test('concurrent installs succeed, and complete an interrupted one', async (t) => {
  const { ownerUrl } = await createTestDatabase(t)
  const owners = await Promise.all([1, 2, 3].map(() => connect(t, ownerUrl)))
  await owners[0]!.query('drop schema tallystick_jobs cascade')
  await Promise.all(owners.map((owner) => installJobQueues(owner, 'tallystick_worker')))
  await owners[0]!.query("delete from tallystick_jobs.queue where name = 'audit-schedule'")
  await owners[0]!.query('revoke all on schema tallystick_jobs from tallystick_worker')
  await installJobQueues(owners[1]!, 'tallystick_worker')
  assert.equal((await readQueues(owners[2]!)).length, Object.keys(QUEUES).length + 1)
  const { rows } = await owners[2]!.query(
    "select has_schema_privilege('tallystick_worker', 'tallystick_jobs', 'usage') as worker",
  )
  assert.equal(rows[0].worker, true)
})

test('migrate upgrades an older pg-boss schema; before that, a worker refuses with advice', async (t) => {
  const { ownerUrl, workerUrl } = await createTestDatabase(t)
  const owner = await connect(t, ownerUrl)
  const { rows } = await owner.query<{ version: number }>('select version from tallystick_jobs.version')
  await owner.query(getRollbackPlans('tallystick_jobs', rows[0]!.version))
  // Backdates the last index build, because the template's indexes were just built.
  await owner.query("update tallystick_jobs.version set bam_on = now() - interval '1 day'")
  const log = openLog('silent')
  await assert.rejects(
    openQueues(testDatabase(workerUrl), log),
    /requires migrations: run `npm run op -- migrate` first/,
  )
  await installJobQueues(owner, 'tallystick_worker')
  await (await openQueues(testDatabase(workerUrl), log)).close()
  const left = await owner.query("select command from tallystick_jobs.bam where status <> 'completed'")
  assert.deepEqual(left.rows, [])
})

test('a worker refuses a database without queues: run migrate first', async (t) => {
  const { ownerUrl, workerUrl } = await createTestDatabase(t)
  const owner = await connect(t, ownerUrl)
  await owner.query('drop schema tallystick_jobs cascade')
  await assert.rejects(
    openQueues(testDatabase(workerUrl), openLog('silent')),
    /pg-boss is not installed: run `npm run op -- migrate` first/,
  )
})

test('the worker’s login is enough for all that pg-boss does', async (t) => {
  const { workerUrl, superuserUrl } = await createTestDatabase(t)
  const pool = openTestPool(workerUrl, { max: 2 })
  const boss = openJobs(pool, { schedule: true, supervise: true })
  const troubles: unknown[] = []
  boss.on('error', (error) => troubles.push(error.message))
  boss.on('warning', (warning) => troubles.push(warning))
  try {
    await boss.start()
    await boss.schedule('audit-schedule', '* * * * *', {}, { tz: 'UTC' })
    await boss.send('audit', { one: 1 })
    const [job] = await boss.fetch('audit')
    await boss.touch('audit', job!.id)
    await boss.complete('audit', job!.id)
    // Simulates the next day, on which everything is due.
    const superuser = await connect(t, superuserUrl)
    await superuser.query('update tallystick_jobs.queue set monitor_on = null, maintain_on = null')
    await superuser.query(
      "update tallystick_jobs.job set completed_on = now() - interval '2 days' where state = 'completed'",
    )
    await boss.supervise()
    assert.deepEqual(await boss.findJobs('audit'), [])
    assert.deepEqual(troubles, [])
  } finally {
    await boss.stop({ graceful: false })
    await pool.end()
  }
})

test('pg-boss works through our column names: a job fails, dies and is put back', async (t) => {
  const { workerUrl, ownerUrl } = await createTestDatabase(t)
  const pool = openTestPool(workerUrl, { max: 2 })
  const boss = openJobs(pool, { schedule: false, supervise: false })
  try {
    await boss.start()
    const id = await boss.send('audit', { one: 1 }, { retryLimit: 1, retryDelay: 0, retryBackoff: false })
    const [job] = await boss.fetch('audit', { includeMetadata: true })
    const { retryLimit, retryCount, expireInSeconds, deadLetter, startedOn } = job!
    assert.deepEqual([job!.id, job!.data, retryLimit, retryCount], [id, { one: 1 }, 1, 0])
    assert.deepEqual([expireInSeconds, deadLetter], [QUEUES.audit.expireInSeconds, 'dead-letters'])
    assert.ok(startedOn instanceof Date)
    await boss.fail('audit', id!, { message: 'once' })

    const [again] = await boss.fetch('audit', { includeMetadata: true })
    assert.deepEqual([again!.id, again!.retryCount], [id, 1])
    await boss.fail('audit', id!, { message: 'twice' })
    assert.deepEqual(await boss.fetch('audit'), [])
    const owner = await connect(t, ownerUrl)
    const [dead, ...others] = await listDeadLetters(owner, 10)
    assert.deepEqual(others, [])
    assert.deepEqual([dead!.queue, dead!.payload, dead!.error], ['audit', { one: 1 }, 'twice'])

    assert.equal(await redriveDeadLetters(owner, [dead!.id]), 1)
    const [back] = await boss.fetch('audit', { includeMetadata: true })
    assert.deepEqual([back!.data, back!.retryCount], [{ one: 1 }, 0])
    await boss.complete('audit', back!.id)
    assert.equal((await boss.findJobs('audit', { id: back!.id }))[0]!.state, 'completed')
  } finally {
    await boss.stop({ graceful: false })
    await pool.end()
  }
})

async function readQueues(owner: pg.Client) {
  const { rows } = await owner.query<{ name: string; retryLimit: number; deadLetter: string | null }>(
    `select name, policy, retry_limit, retry_delay, retry_backoff, retry_delay_max, expire_seconds, retention_seconds,
       deletion_seconds, dead_letter, heartbeat_seconds
     from tallystick_jobs.queue where name not like '\\_\\_%' order by name`,
  )
  return rows
}
