import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { type AddressInfo, connect, createServer as createTcpServer } from 'node:net'
import { type TestContext, test } from 'node:test'
import type { Finding } from '../../cli/preflight/finding.ts'
import type { PreflightReport } from '../../cli/preflight/report.ts'
import { withClient } from '../../src/db/connect/client.ts'
import { buildTestApp } from '../helpers/app.ts'
import { createEmptyDatabase, createTestDatabase, startTestPostgres } from '../helpers/database.ts'
import { runAlone } from '../helpers/run-command.ts'

/** A time limit that any disk meets, even on a busy machine. */
const ANY_DISK = ['--gate-ms', '100000']

type Run = { readonly code: number; readonly report: PreflightReport; readonly text: string }

async function preflight(database: string, ...options: string[]): Promise<Run> {
  const { code, stdout, stderr } = await runAlone(['preflight', '--json', '--database', database, ...options])
  assert.equal(stderr, '')
  return { code, report: JSON.parse(stdout), text: stdout }
}

function finding({ report }: Run, check: string): Finding {
  const found = report.findings.find((each) => each.check === check)
  assert.ok(found, `${check} is none of ${report.findings.map((each) => each.check)}`)
  return found
}

const statusOf = (run: Run, check: string) => finding(run, check).status

test('a durable database passes, is measured, and is left unchanged', async (t) => {
  const postgres = await startTestPostgres(t)
  const run = await preflight(postgres.superuserUrl, ...ANY_DISK)
  assert.deepEqual(
    run.report.findings.filter(({ status }) => status === 'fail'),
    [],
  )
  assert.equal(run.code, 0)
  const { report } = run
  for (const each of [report.roundTrip, report.commit, report.commitWithoutFlush, report.flush])
    assert.ok(
      each && each.samples >= 20 && each.p50Ms > 0 && each.p50Ms <= each.p99Ms && each.p99Ms <= each.maxMs,
    )
  assert.ok(Math.abs(report.clock.aheadMs) <= report.clock.errorMs, 'it is the same clock')
  assert.equal(report.postgres.settings['fsync'], 'on')
  await withClient(postgres.superuserUrl, async (client) => {
    const others = "select from pg_stat_activity where application_name = 'tallystick preflight'"
    assert.equal((await client.query(others)).rowCount, 0)
  })

  const table = await runAlone(['preflight', '--database', postgres.superuserUrl, ...ANY_DISK])
  assert.equal(table.code, 0)
  assert.match(table.stdout, /^ok {4}version {8}Postgres \d+/)
  assert.match(table.stdout, /^ok {4}flush .* p50 [\d.]+ ms, .*the gate is 100000 ms$|^warn {2}flush/m)
})

test('every login may run preflight, on a migrated or empty database, and nothing is written', async (t) => {
  const app = await buildTestApp(t)
  await app.notarize()
  const before = await app.written()
  for (const url of [app.database.apiUrl, app.database.workerUrl, app.database.ownerUrl]) {
    const run = await preflight(url, ...ANY_DISK)
    assert.ok(run.report.flush && run.report.commit, url)
  }
  assert.deepEqual(await app.written(), before)
  const empty = await preflight((await createEmptyDatabase(t)).ownerUrl, ...ANY_DISK)
  assert.ok(empty.report.flush)
})

test('settings that could lose acknowledged data fail; settings that our sessions override do not', async (t) => {
  const settings = {
    fsync: 'off',
    full_page_writes: 'off',
    synchronous_commit: 'off',
    shared_buffers: '16MB',
  }
  const postgres = await startTestPostgres(t, { settings })
  const run = await preflight(postgres.ownerUrl, ...ANY_DISK)
  assert.equal(run.code, 1)
  const details = run.report.findings.filter(({ check }) => check === 'durability')
  assert.deepEqual(
    details.map(({ status, detail }) => [status, detail.split(':')[0]]),
    [
      ['fail', 'fsync = off'],
      ['fail', 'full_page_writes = off'],
      ['warn', 'synchronous_commit = off'],
    ],
  )
  assert.ok(details.every(({ advice }) => advice?.includes('on')))
  const accepting = await runAlone(['preflight', '--database', postgres.ownerUrl, ...ANY_DISK], {
    env: { TALLYSTICK_DATABASE_ACCEPT: 'fsync' },
  })
  assert.doesNotMatch(accepting.stdout, /fsync = off/)
  assert.match(accepting.stdout, /^ok {4}durability {5}fsync off \(accepted\)$/m)
  assert.match(
    accepting.stdout,
    /^FAIL {2}durability {5}full_page_writes = off: .*\n +→ set full_page_writes = on/m,
  )
})

test('the owner’s login also finds settings that weaken only servers or workers', async (t) => {
  const database = await createTestDatabase(t)
  await withClient(database.superuserUrl, async (client) => {
    await client.query(
      `alter role tallystick_api in database ${database.name} set session_replication_role = replica`,
    )
    await client.query(`alter database ${database.name} set default_transaction_read_only = on`)
    await client.query('alter table tallystick.entries disable trigger entries_extend_chain')
  })
  const run = await preflight(database.ownerUrl, ...ANY_DISK)
  assert.match(finding(run, 'guards').detail, /^the trigger entries_extend_chain of entries is off$/)
  const { report } = run
  assert.deepEqual(
    report.findings.filter(({ check }) => check === 'logins').map(({ detail }) => detail),
    [
      'every login of this database has default_transaction_read_only = on',
      'tallystick_api has session_replication_role = replica',
    ],
  )
})

test('a database that takes no writes is a failure', async (t) => {
  const database = await createTestDatabase(t)
  await withClient(database.superuserUrl, (client) =>
    client.query(`alter database ${database.name} set default_transaction_read_only = on`),
  )
  const run = await preflight(database.apiUrl, ...ANY_DISK)
  assert.equal(run.code, 1)
  assert.equal(statusOf(run, 'writer'), 'fail')
})

test('a login that may not commit fails the gate, because the disk cannot be measured', async (t) => {
  const database = await createTestDatabase(t)
  await withClient(database.superuserUrl, async (client) => {
    const { rows } = await client.query<{ name: string }>(
      "select oid::regprocedure::text as name from pg_proc where proname = 'pg_logical_emit_message'",
    )
    for (const { name } of rows) await client.query(`revoke execute on function ${name} from public`)
  })
  const run = await preflight(database.apiUrl, ...ANY_DISK)
  assert.equal(run.report.flush, null)
  assert.equal(statusOf(run, 'flush'), 'fail')
})

test('too few connections fail, and one free connection is enough to find out', async (t) => {
  const database = await createTestDatabase(t)
  const name = `preflight_${database.name}`
  const url = new URL(database.ownerUrl)
  Object.assign(url, { username: name, password: 'few-connections' })
  await withClient(database.superuserUrl, (client) =>
    client.query(`create role ${name} login password 'few-connections' connection limit 2`),
  )
  t.after(() => withClient(database.superuserUrl, (client) => client.query(`drop role ${name}`)))
  const run = await preflight(url.href, ...ANY_DISK)
  assert.equal(run.code, 1)
  const { status, detail } = finding(run, 'connections')
  assert.equal(status, 'fail')
  assert.match(detail, new RegExp(`, 2 for ${name}; .*: there is no room for a worker$`))
  await withClient(url.href, () =>
    withClient(url.href, async () => {
      const refused = await runAlone(['preflight', '--database', url.href])
      assert.equal(refused.code, 69)
      assert.match(refused.stderr, /^tallystick: .* has no connection left for this login \(.*\)\n$/)
      assert.doesNotMatch(refused.stderr, /few-connections/)
    }),
  )
})

test('an unusable database gives one line with the reason and without the password', async (t) => {
  const { ownerUrl } = await createTestDatabase(t)
  const url = (change: Partial<URL>) =>
    Object.assign(new URL(ownerUrl), { password: 's3cret-word', ...change }).href
  const cases: [args: string[], code: number, says: RegExp][] = [
    [['--database', url({})], 77, /refuses the login/],
    [['--database', url({ port: '1' })], 69, /ECONNREFUSED/],
    [['--database', url({ hostname: 'no-such-host.invalid' })], 69, /ENOTFOUND|EAI_AGAIN/],
    [['--database', url({ password: 'test-owner', pathname: '/s3cret-base' })], 65, /no such database/],
    [['--database', url({}).replace('postgres:', 'mysql:')], 64, /starts with postgres/],
    [['--database', 'postgres://s3cret-word@@'], 64, /starts with postgres/],
    [[], 64, /--database URL, or set DATABASE_URL/],
    [['--database', ownerUrl, '--gate-ms', '0'], 64, /--gate-ms takes a number of milliseconds/],
    [['--database', ownerUrl, '--server', 'ledger.example'], 64, /http:\/\/ or https:\/\//],
    [['other', '--database', ownerUrl], 64, /usage: tallystick preflight/],
  ]
  for (const [args, code, says] of cases) {
    const run = await runAlone(['preflight', ...args])
    assert.deepEqual([run.code, run.stdout], [code, ''], `${args}: ${run.stderr}`)
    assert.match(run.stderr, says)
    assert.match(run.stderr, /^tallystick: [^\n]*\n$/)
    assert.doesNotMatch(run.stderr, /s3cret-word|test-owner/)
  }
  const run = await preflight(ownerUrl, ...ANY_DISK)
  assert.doesNotMatch(run.text, /test-owner/)
  const given = await runAlone(['preflight', '--json', ...ANY_DISK], { env: { DATABASE_URL: ownerUrl } })
  assert.equal(JSON.parse(given.stdout).database, run.report.database)
})

test('--server checks an API server’s readiness, round trip, version and clock', async (t) => {
  const app = await buildTestApp(t)
  const url = await app.app.listen({ port: 0, host: '127.0.0.1' })
  const run = await preflight(app.database.apiUrl, '--server', url, ...ANY_DISK)
  for (const check of ['server', 'server version', 'server clock']) assert.equal(statusOf(run, check), 'ok')
  assert.equal(run.report.server?.readyStatus, 200)
  assert.ok(run.report.server.roundTrip.p50Ms > 0)

  const other = createServer((_request, response) => response.end('hello'))
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve))
  const { port } = other.address() as AddressInfo
  const foreign = await preflight(app.database.apiUrl, '--server', `http://127.0.0.1:${port}`, ...ANY_DISK)
  assert.match(finding(foreign, 'server').detail, /does not answer like a Tallystick server/)
  await new Promise((resolve) => other.close(resolve))
  const away = await preflight(app.database.apiUrl, '--server', `http://127.0.0.1:${port}`, ...ANY_DISK)
  assert.match(finding(away, 'server').detail, /does not answer \(ECONNREFUSED\)/)
  assert.equal(away.code, 1)
})

test('detects a pooler by the process id that it announces', async (t) => {
  const database = await createTestDatabase(t)
  assert.equal((await preflight(database.apiUrl, ...ANY_DISK)).report.postgres.pooler, 'none')
  const run = await preflight(await announceOtherPid(t, database.apiUrl), ...ANY_DISK)
  assert.equal(run.report.postgres.pooler, 'present')
  assert.equal(statusOf(run, 'pooler'), 'warn')
})

/**
 * Relays connections like a pooler. Replaces the process id that the database announces at the start (BackendKeyData,
 * `K`).
 */
async function announceOtherPid(t: TestContext, target: string): Promise<string> {
  const url = new URL(target)
  const to = { port: Number(url.port), host: url.hostname }
  const relay = createTcpServer((client) => {
    const server = connect(to)
    client.pipe(server)
    server.on('data', (bytes) => {
      const at = bytes.indexOf(KEY_DATA)
      if (at >= 0) bytes.writeInt32BE(376_976_152, at + KEY_DATA.length)
      client.write(bytes)
    })
    server.on('end', () => client.end())
    for (const socket of [client, server]) socket.on('error', () => {})
  })
  await new Promise<void>((resolve) => relay.listen(0, '127.0.0.1', resolve))
  t.after(() => void relay.close())
  url.port = `${(relay.address() as AddressInfo).port}`
  return url.href
}

const KEY_DATA = Buffer.from([0x4b, 0, 0, 0, 12])
