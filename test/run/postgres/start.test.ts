import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { startPostgres } from '../../../src/run/postgres/start.ts'
import { putCluster, temporaryDirInMemory } from '../../helpers/postgres.ts'
import { ends, kill, query, runs, startHolder } from './holder.ts'

const settings = { fsync: 'off', shared_buffers: '16MB' }

test('starts Postgres durable, with UTF-8, locale C and checksums, only on 127.0.0.1', async (t) => {
  const postgres = await startPostgres({ dataDir: temporaryDirInMemory(), temporary: true })
  t.after(() => postgres.stop())
  const [row] = await query(
    postgres.ownerUrl,
    `select current_setting('fsync') || current_setting('synchronous_commit') || current_setting('full_page_writes')
        as durable,
      current_setting('data_checksums') as checksums, current_setting('listen_addresses') as listen,
      current_setting('server_encoding') as encoding, current_setting('shared_buffers') as buffers,
      (select datcollate from pg_database where datname = current_database()) as collation,
      (select rolsuper from pg_roles where rolname = current_user) as superuser, current_database() as database`,
  )
  assert.deepEqual(row, {
    durable: 'ononon',
    checksums: 'on',
    listen: '127.0.0.1',
    encoding: 'UTF8',
    buffers: '256MB',
    collation: 'C',
    superuser: false,
    database: 'tallystick',
  })
  assert.match(postgres.version, /^1\d\.\d/)
})

test('refuses a login without the password', async (t) => {
  const postgres = await startPostgres({ dataDir: temporaryDirInMemory(), temporary: true, settings })
  t.after(() => postgres.stop())
  const url = new URL(postgres.superuserUrl)
  url.password = 'guess'
  await assert.rejects(query(url.href, 'select 1'), { code: '28P01' })
})

test('data, port and passwords survive a stop; only the owner can read the passwords', async (t) => {
  const dataDir = temporaryDirInMemory()
  const first = await startPostgres({ dataDir, settings })
  await query(first.ownerUrl, 'create table kept as select 42 as answer')
  await first.stop()
  await first.stop()
  assert.equal(await ends(first.pid), true)
  assert.equal(statSync(join(dataDir, 'passwords.json')).mode & 0o777, 0o600)
  const second = await startPostgres({ dataDir, settings, temporary: true })
  t.after(() => second.stop())
  assert.equal(second.ownerUrl, first.ownerUrl)
  assert.deepEqual(await query(second.ownerUrl, 'select answer from kept'), [{ answer: 42 }])
})

test('moves to another port if the remembered one is taken; a fixed port in use is reported', async (t) => {
  const dataDir = putCluster(temporaryDirInMemory())
  const first = await startPostgres({ dataDir, settings })
  await first.stop()
  const squatter = createServer().listen(first.port, '127.0.0.1')
  t.after(() => squatter.close())
  const second = await startPostgres({ dataDir, settings, temporary: true })
  t.after(() => second.stop())
  assert.notEqual(second.port, first.port)
  await assert.rejects(
    startPostgres({
      dataDir: putCluster(temporaryDirInMemory()),
      temporary: true,
      settings,
      port: first.port,
    }),
    /port \d+ on 127.0.0.1 is in use/,
  )
})

test('refuses a folder that a running process uses, and names the process', async (t) => {
  const dataDir = temporaryDirInMemory()
  const postgres = await startPostgres({ dataDir, settings, temporary: true })
  t.after(() => postgres.stop())
  const refusal = new RegExp(`another instance is using .*: process ${process.pid} .*TALLYSTICK_DATA`)
  await assert.rejects(startPostgres({ dataDir, settings }), refusal)
  await assert.rejects(startHolder(dataDir), refusal)
  assert.deepEqual(await query(postgres.superuserUrl, 'select 1 as one'), [{ one: 1 }])
})

test('of two simultaneous first starts on one folder, one succeeds and the other reports the reason', async () => {
  const dataDir = temporaryDirInMemory()
  const results = await Promise.allSettled([startHolder(dataDir), startHolder(dataDir)])
  const winners = results.filter((result) => result.status === 'fulfilled')
  const losers = results.filter((result) => result.status === 'rejected')
  assert.equal(winners.length, 1)
  assert.match(
    String(losers[0]?.reason),
    /another instance is using|lock file "postmaster.pid" already exists/,
  )
  await query(winners[0]!.value.superuserUrl, 'select 1')
  await kill(winners[0]!.value, 'SIGTERM')
  assert.equal(await ends(winners[0]!.value.pid), true)
})

for (const signal of ['SIGKILL', 'SIGTERM', 'SIGINT'] as const) {
  test(`stops when its process ends by ${signal}`, async () => {
    const holder = await startHolder(putCluster(temporaryDirInMemory()))
    await kill(holder, signal)
    assert.equal(await ends(holder.pid), true)
  })
}

test('a server orphaned by its process and watchdog is stopped by the next start; data stays', async (t) => {
  const dataDir = putCluster(temporaryDirInMemory())
  const holder = await startHolder(dataDir)
  await query(holder.superuserUrl, 'create table kept as select 42 as answer')
  killWatchdog(holder.pid)
  await kill(holder, 'SIGKILL')
  assert.equal(await ends(holder.pid, 300), false, 'without its watchdog the server must still run')
  const next = await startPostgres({ dataDir, settings, temporary: true })
  t.after(() => next.stop())
  assert.equal(runs(holder.pid), false)
  assert.deepEqual(await query(next.superuserUrl, 'select answer from kept'), [{ answer: 42 }])
})

test('starts with all committed data after the server was killed', async (t) => {
  const dataDir = putCluster(temporaryDirInMemory())
  const first = await startPostgres({ dataDir, settings: { ...settings, fsync: 'on' } })
  await query(first.ownerUrl, 'create table kept as select 42 as answer')
  process.kill(first.pid, 'SIGKILL')
  await first.exited
  const second = await startPostgres({ dataDir, settings, temporary: true })
  t.after(() => second.stop())
  assert.deepEqual(await query(second.ownerUrl, 'select answer from kept'), [{ answer: 42 }])
})

test('a stale pid file with the pid of a foreign process does not prevent the start', async (t) => {
  const dataDir = putCluster(temporaryDirInMemory())
  const first = await startPostgres({ dataDir, settings })
  const pidFile = join(dataDir, 'cluster', 'postmaster.pid')
  const [, ...rest] = readFileSync(pidFile, 'utf8').split('\n')
  await first.stop()
  writeFileSync(pidFile, [process.ppid, ...rest].join('\n'))
  const second = await startPostgres({ dataDir, settings, temporary: true })
  t.after(() => second.stop())
  await query(second.superuserUrl, 'select 1')
})

test('a setting that Postgres refuses is reported with the reason', async () => {
  await assert.rejects(
    startPostgres({
      dataDir: putCluster(temporaryDirInMemory()),
      temporary: true,
      settings: { ...settings, shared_buffers: 'lots' },
    }),
    /Postgres did not start:\s.*shared_buffers/s,
  )
})

test('refuses a cluster of another major version', async () => {
  const dataDir = temporaryDirInMemory()
  const first = await startPostgres({ dataDir, settings })
  await first.stop()
  writeFileSync(join(dataDir, 'cluster', 'PG_VERSION'), '14\n')
  await assert.rejects(
    startPostgres({ dataDir, settings }),
    /was created by Postgres 14, and this is Postgres 18/,
  )
})

function killWatchdog(serverPid: number): void {
  const lines = execFileSync('ps', ['-eo', 'pid=,args='], { encoding: 'utf8' }).split('\n')
  const watchdog = lines.find((line) => line.includes(`tallystick-watchdog ${serverPid} `))
  process.kill(Number.parseInt(watchdog!.trim(), 10), 'SIGKILL')
}
