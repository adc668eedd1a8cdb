import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { judgeReplica, type ReplicaAnswers } from '../../cli/preflight/replica.ts'
import type { PreflightReport } from '../../cli/preflight/report.ts'
import { withClient } from '../../src/db/connect/client.ts'
import { freePort } from '../helpers/free-port.ts'
import { type Replicated, startReplicated } from '../helpers/replica.ts'
import { runAlone } from '../helpers/run-command.ts'

let replicated: Replicated
const cleanups: (() => unknown)[] = []
before(async () => {
  replicated = await startReplicated({
    name: 'a replica',
    after: (cleanup: () => unknown) => cleanups.push(cleanup),
  })
  await replicated.replica.caughtUp()
})
test.after(async () => {
  for (const cleanup of cleanups) await cleanup()
})

const QUICK = ['--gate-ms', '100000']

async function judge(
  replica: string,
  environment: Record<string, string> = {},
  database = replicated.database.apiUrl,
) {
  const option = 'TALLYSTICK_REPLICA_URL' in environment ? [] : ['--replica', replica]
  const args = ['preflight', '--json', '--database', database, ...option, ...QUICK]
  const { stdout, stderr } = await runAlone(args, { env: environment })
  assert.equal(stderr, '')
  const report = JSON.parse(stdout) as PreflightReport
  const found = report.findings.find(({ check }) => check === 'replica')
  assert.ok(found)
  assert.doesNotMatch(stdout, new RegExp(new URL(replica).password))
  return { found, replica: report.replica }
}

test('a standby that servers can read passes, by the option or by the variable of servers', async () => {
  const { apiUrl } = replicated.replica
  for (const environment of [{}, { TALLYSTICK_REPLICA_URL: apiUrl }] as Record<string, string>[]) {
    const { found, replica } = await judge(apiUrl, environment)
    assert.equal(found.status, 'ok', found.detail)
    assert.match(
      found.detail,
      /^a readable standby of this system; it had replayed what the primary had after \d+ ms$/,
    )
    assert.deepEqual([replica!.isStandby, replica!.isOfThisSystem], [true, true])
    assert.ok(replica!.replayMs! >= 0)
  }
})

test('without a replica, the report has no finding about one', async () => {
  const { stdout } = await runAlone([
    'preflight',
    '--json',
    '--database',
    replicated.database.apiUrl,
    ...QUICK,
  ])
  const { findings, replica } = JSON.parse(stdout) as PreflightReport
  assert.equal(replica, null)
  assert.ok(findings.every(({ check }) => check !== 'replica'))
})

test('a primary instead of a standby fails', async () => {
  const { found } = await judge(replicated.database.apiUrl)
  assert.equal(found.status, 'fail')
  assert.match(found.detail, /^it is not a standby/)
  assert.match(found.advice!, /a standby of this primary/)
})

test('a replica that is unreachable, refuses the login, or lacks the database fails; servers would start anyway', async () => {
  const away = Object.assign(new URL(replicated.replica.apiUrl), { port: await freePort() }).href
  const denied = Object.assign(new URL(replicated.replica.apiUrl), { password: 'not-the-password' }).href
  const none = Object.assign(new URL(replicated.replica.apiUrl), { pathname: '/nothing' }).href
  for (const [url, detail] of [
    [away, /ECONNREFUSED|does not|cannot/],
    [denied, /refuses the login$/],
    [none, /there is no such database$/],
  ] as const) {
    const { found, replica } = await judge(url)
    assert.deepEqual([found.status, replica], ['fail', null])
    assert.match(found.detail, detail)
    assert.match(found.advice!, /Until then servers read from the primary$/)
  }
})

test('a login that may not read, and another database of the same cluster, are failures', async () => {
  await withClient(replicated.database.superuserUrl, (client) =>
    client.query("create role stranger login password 'stranger-password'"),
  )
  await replicated.replica.caughtUp()
  const stranger = Object.assign(new URL(replicated.replica.apiUrl), {
    username: 'stranger',
    password: 'stranger-password',
  })
  const denied = await judge(stranger.href)
  assert.match(denied.found.detail, /^this login may not read ledgers/)
  assert.match(denied.found.advice!, /tallystick_api/)
  const other = Object.assign(new URL(stranger.href), { pathname: '/postgres' })
  assert.match((await judge(other.href)).found.detail, /^its database has no ledgers/)
})

test('a standby with paused replay fails, with advice to resume', async () => {
  await replicated.replica.pause()
  const { found, replica } = await judge(replicated.replica.apiUrl)
  await replicated.replica.resume()
  assert.deepEqual([found.status, replica!.replayMs], ['fail', null])
  assert.match(found.detail, /^its replay is paused/)
  assert.match(found.advice!, /pg_wal_replay_resume/)
})

test('distinguishes a standby of another system, a lagging standby, and one without answers', () => {
  const facts = { isStandby: true, isPaused: false, system: 1n, ledgers: 'readable' } as const
  const answers: ReplicaAnswers = { facts, primary: { system: 1n, ledgers: 'readable' }, replayMs: 1 }
  for (const [changes, status, detail] of [
    [{}, 'ok', /^a readable standby of this system/],
    [
      { primary: { system: 2n, ledgers: 'readable' } },
      'fail',
      /^it is a standby of another system \(1, not 2\)/,
    ],
    [{ primary: { system: null, ledgers: 'readable' } }, 'ok', /^a readable standby/],
    [
      { facts: { ...facts, ledgers: 'none' }, primary: { system: 1n, ledgers: 'none' } },
      'ok',
      /^a readable standby/,
    ],
    [{ replayMs: Infinity }, 'fail', /^after 10 s it had not replayed/],
    [{ replayMs: null }, 'warn', /^it does not report how far it has replayed/],
  ] as const) {
    const found = judgeReplica({ ...answers, ...changes })
    assert.equal(found.status, status)
    assert.match(found.detail, detail)
  }
})
