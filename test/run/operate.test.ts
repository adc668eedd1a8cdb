import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { requestAudit } from '../../src/db/audit/audits.ts'
import { openJobs } from '../../src/db/jobs/job-queues.ts'
import { insertFault } from '../../src/db/ledgers/ledger-faults.ts'
import { migrate } from '../../src/db/schema/migrate.ts'
import { enqueueAudits } from '../../src/followers/audit/enqueue-audits.ts'
import { parseId } from '../../src/proof/ids.ts'
import { makeMasterKey } from '../../src/signing/master-key.ts'
import { database } from '../../src/verify/database.ts'
import { verifyLedger } from '../../src/verify/verify-ledger.ts'
import { openFaults, setUpAudit, undefended } from '../followers/audit/set-up.ts'
import { OPERATOR_KEY } from '../helpers/app.ts'
import { TEST_MASTER_KEY, TEST_PASSWORDS } from '../helpers/database.ts'
import { buildGatedApp } from '../helpers/gated-app.ts'
import { runCommand } from '../helpers/run-script.ts'

test('faults lists the faults, and clear-fault clears one with a note', async (t) => {
  const audit = await setUpAudit(t)
  const { app, pool } = audit
  const { ownerUrl } = app.database
  assert.equal((await operate(ownerUrl, 'faults')).stdout, 'no ledger has a fault\n')
  const ledger = app.ledger.ledger.id
  const fault = { foundBy: 'audit', seq: 7, code: 'chain_broken', reason: 'a "reason"' } as const
  await insertFault(pool, parseId('led', ledger), fault)
  assert.equal(
    (await operate(ownerUrl, 'faults')).stdout.replace(/ \S+Z /, ' TIME '),
    `${ledger} TIME by=audit seq=7 code=chain_broken reason=${JSON.stringify(fault.reason)}\n`,
  )
  const shown = await app.send('GET', `/v1/ledgers/${ledger}`, { key: OPERATOR_KEY })
  const { seq, code } = shown.json().fault
  assert.deepEqual([seq, code], [7, 'chain_broken'])
  assert.match((await operate(ownerUrl, 'clear-fault', ledger)).stderr, /--note[\s\S]*usage:/)
  assert.equal((await openFaults(audit)).length, 1)
  assert.match(
    (await operate(ownerUrl, 'clear-fault', ledger, '--note', 'restored')).stdout,
    /continues from its verified size: checkpoints, verdicts, settlements/,
  )
  assert.deepEqual(await openFaults(audit), [])
  const mended = await app.send('GET', `/v1/ledgers/${ledger}`, { key: OPERATOR_KEY })
  assert.equal(mended.json().fault, null)
  const again = await operate(ownerUrl, 'clear-fault', ledger, '--note', 'restored')
  assert.match(again.stderr, /has no fault/)
  assert.equal(again.code, 1)
})

test('mend-head adds entries written while triggers were off, and refuses forged ones', async (t) => {
  const audit = await setUpAudit(t)
  const { app } = audit
  const { ownerUrl } = app.database
  const ledger = app.ledger.ledger.id
  const record = { type: 'generic/1', payload: { n: 1 } }
  const write = async () => (await app.send('POST', '/v1/records', { body: record })).statusCode
  for (let i = 0; i < 3; i++) assert.equal(await write(), 201)
  const verify = () => verifyLedger(database(ownerUrl, ledger), { threads: 0, lateTail: 'noticed' })
  assert.match((await operate(ownerUrl, 'mend-head', ledger)).stderr, /there is nothing to mend/)
  // Sets the ledger's head back to four entries, as if a trigger had not fired for the next append (finding S1).
  const setHeadBack = `update tallystick.chain_heads h set size = 4,
    chain = (select e.chain from tallystick.entries e where e.ledger_id = h.ledger_id and e.seq = 3)`
  await undefended(audit, setHeadBack)
  assert.notEqual(await write(), 201)
  const report = await verify()
  assert.match(
    JSON.stringify(report.failure),
    /chain_heads.size is 4, but there are 6 entries; .*not forged.*operate mend-head/,
  )
  const mended = await operate(ownerUrl, 'mend-head', ledger)
  assert.match(mended.stdout, /^INTEGRITY_OK [\s\S]* has 6 entries, 2 more than its head knew\n$/m)
  assert.equal(await write(), 201)
  assert.equal((await verify()).ok, true)

  await undefended(
    audit,
    `${setHeadBack}; update tallystick.records set actor_id = gen_random_uuid() where first_seq = 5`,
  )
  const refused = await operate(ownerUrl, 'mend-head', ledger)
  assert.deepEqual([refused.code, refused.stdout.includes('records.actor_id')], [1, true])
  assert.match(refused.stderr, /nothing was changed/)
  const [head] = await app.sql<{ size: string }>('select size::text from tallystick.chain_heads')
  assert.equal(head!.size, '4')
})

test('dead-letters lists dead letters, and redrive puts them back into their queues', async (t) => {
  const { app, pool, follower } = await setUpAudit(t)
  const { ownerUrl } = app.database
  assert.equal((await operate(ownerUrl, 'dead-letters')).stdout, 'no job was given up\n')
  const boss = openJobs(pool, { schedule: false, supervise: false })
  await boss.start()
  try {
    await requestAudit(pool, parseId('led', app.ledger.ledger.id), app.deps.entropy.uuidv7(Date.now()), null)
    await enqueueAudits({ pool, boss, log: follower.log })
    await app.sql("update tallystick_jobs.job set retry_limit = 0 where name = 'audit'")
    const [job] = await boss.fetch('audit')
    await boss.fail('audit', job!.id, new Error('it was not to be'))
    const { stdout } = await operate(ownerUrl, 'dead-letters')
    assert.match(
      stdout,
      /^\S{36} \S+Z queue=audit {"audit":"aud_\w+","ledger":"led_\w+"} error="it was not to be"\n$/,
    )
    const id = stdout.slice(0, 36)
    assert.match((await operate(ownerUrl, 'redrive', 'x')).stderr, /x is not the id of a job[\s\S]*usage:/)
    assert.equal((await operate(ownerUrl, 'redrive', id)).stdout, 'put 1 job back\n')
    assert.equal((await operate(ownerUrl, 'redrive')).stdout, 'put 0 jobs back\n')
    const [again] = await boss.fetch<{ ledger: string }>('audit')
    assert.equal(again!.data.ledger, app.ledger.ledger.id)
  } finally {
    await boss.stop({ graceful: false })
  }
})

test('waiting shows the waiting work and its age while no worker runs', async (t) => {
  const app = await buildGatedApp(t)
  const waiting = async () => (await operate(app.database.ownerUrl, 'waiting')).stdout
  assert.equal(await waiting(), 'completions=0 oldest=0s overdue=0\n')
  await app.reach('SUBMITTED')
  await app.create({ deadline: new Date(Date.now() + 1_000).toISOString() })
  await sleep(1_100)
  assert.match(await waiting(), /^completions=1 oldest=[1-9]\d*s overdue=1\n$/)
})

test('migrate and mend-head restore waiting work that disabled triggers did not write', async (t) => {
  const app = await buildGatedApp(t)
  const { ownerUrl } = app.database
  await app.reach('SUBMITTED')
  await app.create({ deadline: new Date(Date.now() + 1_000).toISOString() })
  await sleep(1_100)
  const waiting = async () => (await operate(ownerUrl, 'waiting')).stdout.replace(/oldest=\d+s/, 'oldest')
  const all = 'completions=1 oldest overdue=1\n'
  // Deletes the rows that triggers write. While triggers are off, steps do not write these rows.
  const forget = 'delete from tallystick.waiting_completions; delete from tallystick.open_deadlines'
  assert.equal(await waiting(), all)

  await app.sql(`alter table tallystick.gated_records disable trigger user; ${forget}`)
  assert.equal(await waiting(), 'completions=0 oldest overdue=0\n')
  const told: string[] = []
  await migrate({
    ownerUrl,
    masterKey: makeMasterKey(TEST_MASTER_KEY),
    passwords: TEST_PASSWORDS,
    notify: (line) => told.push(line),
  })
  assert.equal(await waiting(), all)
  assert.match(told.join(), /^triggers that were off are on again \([1-9]\): audit each ledger/)

  await app.sql(forget)
  const mended = await operate(ownerUrl, 'mend-head', app.ledger.ledger.id)
  assert.match(
    mended.stdout,
    /INTEGRITY_OK[\s\S]* 0 more than its head knew\nwaiting work of the worker: 2 rows were added or removed\n$/,
  )
  assert.equal(await waiting(), all)
})

test('prints its usage, and is refused without the owner login', async (t) => {
  const { app } = await setUpAudit(t)
  assert.match((await operate(app.database.ownerUrl)).stderr, /usage:/)
  assert.match(
    (await operate(app.database.apiUrl, 'clear-fault', app.ledger.ledger.id, '--note', 'x')).stderr,
    /permission denied/,
  )
  assert.match((await operate(app.database.apiUrl, 'dead-letters')).stderr, /permission denied/)
})

function operate(ownerUrl: string, ...args: string[]) {
  return runCommand('operate', args, { env: { DATABASE_URL: ownerUrl } })
}
