import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { startTestPostgres } from '../../helpers/database.ts'
import { temporaryDirInMemory } from '../../helpers/postgres.ts'
import { makeUnreadPipe } from '../../helpers/unread-pipe.ts'
import { until } from '../../helpers/wait.ts'
import { ends, plainUser, runs } from '../../run/postgres/holder.ts'
import {
  freePort,
  getRecord,
  initializedDir,
  launch,
  PROJECT_DIR,
  paste,
  postgresPid,
  startAllInOne,
} from '../deployment/installation.ts'

const root = process.getuid?.() === 0

test('the printed curl line notarizes; a second start keeps the data; Ctrl-C and SIGTERM end with 0', async () => {
  const dataDir = temporaryDirInMemory()
  const env = { TALLYSTICK_DATA: dataDir, TALLYSTICK_PORT: await freePort() }
  const first = await startAllInOne({ env })
  const made = await paste(first.curl)
  assert.equal(made.status, 201)
  assert.match(made.body.id, /^rec_/)
  const server = postgresPid(dataDir)
  assert.equal(await first.stop('SIGINT'), 0)
  assert.equal(runs(server), false)
  for (const name of [
    'credentials.json',
    'authorization-header',
    'operator-key',
    'master-key',
    'database-logins.json',
  ]) {
    assert.equal(statSync(join(dataDir, name)).mode & 0o777, 0o600, name)
  }

  const second = await startAllInOne({ env })
  assert.doesNotMatch(second.output, /tly_/)
  const [, printsLink] = /^ +console +\S+ \(a link with its key: (.*)\)$/m.exec(second.output)!
  const link = spawnSync('/bin/sh', ['-c', printsLink!], {
    encoding: 'utf8',
    env: { PATH: dirname(process.execPath) },
  })
  assert.equal(link.stdout, `${/^ +console +(\S+#key=tly_\S+)$/m.exec(first.output)![1]}\n`)
  assert.equal((await paste(second.curl)).status, 201)
  assert.equal(await getRecord(second.url, dataDir, made.body.id), 200)
  assert.equal(await second.stop('SIGTERM'), 0)
})

test('npm start ends with 0 although nobody reads its standard output and standard error', async (t) => {
  const pipe = makeUnreadPipe()
  t.after(() => pipe.close())
  pipe.fill()
  const dataDir = initializedDir()
  const port = await freePort()
  const { child } = launch({
    env: {
      TALLYSTICK_DATA: dataDir,
      TALLYSTICK_PORT: port,
      TALLYSTICK_LOG_LEVEL: 'info',
      // No server listens at this proxy's address, so a request through it would fail.
      NODE_USE_ENV_PROXY: '1',
      HTTP_PROXY: 'http://127.0.0.1:9',
    },
    output: pipe.fd,
    launcher: true,
  })
  const ended = once(child, 'exit')
  await until(() => existsSync(join(dataDir, 'authorization-header')))
  const { key } = JSON.parse(readFileSync(join(dataDir, 'credentials.json'), 'utf8'))
  const authorization = `Bearer ${key}`
  const { status } = await fetch(`http://127.0.0.1:${port}/v1/ledger`, { headers: { authorization } })
  assert.equal(status, 200)
  const server = postgresPid(dataDir)
  child.kill('SIGTERM')
  assert.deepEqual(await ended, [0, null])
  assert.equal(runs(server), false)
})

test('refuses arguments with exit code 2', () => {
  const { status, stderr } = spawnSync(
    process.execPath,
    [join(PROJECT_DIR, 'src/run/all-in-one.ts'), '--port', '1'],
    {
      encoding: 'utf8',
    },
  )
  assert.equal(status, 2)
  assert.match(stderr, /takes no arguments/)
})

test('after a kill -9 the next start has every record, and no Postgres is left behind', async () => {
  const dataDir = initializedDir()
  const env = { TALLYSTICK_DATA: dataDir, TALLYSTICK_PORT: await freePort() }
  const first = await startAllInOne({ env })
  const { body } = await paste(first.curl)
  const server = postgresPid(dataDir)
  assert.equal(await first.stop('SIGKILL'), 'SIGKILL')
  const second = await startAllInOne({ env })
  assert.equal(runs(server), false)
  assert.equal(await getRecord(second.url, dataDir, body.id), 200)
  await second.stop('SIGTERM')
})

test('a second Ctrl-C, as under npm, does not disturb the stop', async () => {
  const dataDir = initializedDir()
  const env = { TALLYSTICK_DATA: dataDir, TALLYSTICK_PORT: await freePort() }
  const started = await startAllInOne({ env })
  const server = postgresPid(dataDir)
  started.process.kill('SIGINT')
  assert.equal(await started.stop('SIGINT'), 0)
  assert.equal(await ends(server), true)
})

test('a Ctrl-C during the start ends it with 0, and leaves nothing running', async () => {
  const dataDir = temporaryDirInMemory()
  const started = launch({ env: { TALLYSTICK_DATA: dataDir, TALLYSTICK_PORT: await freePort() } })
  while (!existsSync(join(dataDir, 'postgres', 'cluster', 'postmaster.pid'))) await sleep(5)
  const server = postgresPid(dataDir)
  assert.equal(await started.end('SIGINT'), 0)
  assert.doesNotMatch(started.said(), /Tallystick is running/)
  assert.equal(await ends(server), true)
})

test('stops with exit code 1 when its Postgres is gone', async () => {
  const dataDir = initializedDir()
  const started = await startAllInOne({
    env: { TALLYSTICK_DATA: dataDir, TALLYSTICK_PORT: await freePort() },
  })
  const closed = new Promise((done) => started.process.once('close', done))
  process.kill(postgresPid(dataDir), 'SIGINT')
  assert.equal(await closed, 1)
})

test('the error names the program that uses the port, or the process that uses the folder', async (t) => {
  const dataDir = initializedDir()
  const env = { TALLYSTICK_DATA: dataDir, TALLYSTICK_PORT: await freePort() }
  const started = await startAllInOne({ env })
  t.after(() => started.stop('SIGTERM'))
  await assert.rejects(
    startAllInOne({ env }),
    /port \d+ on 127.0.0.1 is in use \(a Tallystick \S+ answers there\).*TALLYSTICK_PORT=/,
  )
  await assert.rejects(
    startAllInOne({ env: { ...env, TALLYSTICK_PORT: await freePort() } }),
    new RegExp(`another instance is using ${dataDir}.*: process ${started.process.pid} `),
  )
  const squatter = createServer((socket) => socket.end('no')).listen(0, '127.0.0.1')
  t.after(() => squatter.close())
  await once(squatter, 'listening')
  const { port } = squatter.address() as { port: number }
  await assert.rejects(
    startAllInOne({ env: { TALLYSTICK_DATA: temporaryDirInMemory(), TALLYSTICK_PORT: `${port}` } }),
    /is in use \(another program listens there\): stop that, or choose another/,
  )
})

test('uses DATABASE_URL instead, and explains each URL that does not work', async (t) => {
  const postgres = await startTestPostgres(t)
  const dataDir = temporaryDirInMemory()
  const env = { TALLYSTICK_DATA: dataDir, TALLYSTICK_PORT: await freePort() }
  const started = await startAllInOne({ env: { ...env, DATABASE_URL: postgres.ownerUrl } })
  assert.equal((await paste(started.curl)).status, 201)
  assert.equal(existsSync(join(dataDir, 'postgres')), false)
  assert.equal(await started.stop('SIGTERM'), 0)

  const bad = (change: (url: URL) => void) => {
    const url = new URL(postgres.ownerUrl)
    change(url)
    return startAllInOne({ env: { ...env, DATABASE_URL: url.href } })
  }
  const badPassword = bad((url) => {
    url.password = 'guess'
  })
  await assert.rejects(
    badPassword,
    /DATABASE_URL: .*tallystick_owner@127.*password authentication failed.*check user and password/,
  )
  await assert.rejects(badPassword, (error) => !String(error).includes('guess'))
  const noDatabase = bad((url) => {
    url.pathname = '/nothing'
  })
  await assert.rejects(noDatabase, /\/nothing: database "nothing" does not exist: create the database first/)
  const port = await freePort()
  const nobodyThere = bad((url) => {
    url.port = port
  })
  await assert.rejects(nobodyThere, /ECONNREFUSED.*: check that Postgres runs there\. Or unset DATABASE_URL/)
})

test('a first start with too few connections ends with a hint to raise max_connections', async (t) => {
  const postgres = await startTestPostgres(t, { settings: { max_connections: 14 } })
  const env = { TALLYSTICK_DATA: temporaryDirInMemory(), TALLYSTICK_PORT: await freePort() }
  await assert.rejects(
    startAllInOne({ env: { ...env, DATABASE_URL: postgres.ownerUrl } }),
    ({ message }: Error) => {
      const said = message.split('\n').filter((line) => line.startsWith('tallystick: '))
      assert.match(
        said.at(-1)!,
        /cannot connect to the database .*raise max_connections, or run fewer processes \(docs\/operate\/settings.md#connections\)$/,
      )
      return true
    },
  )
})

test('root: runs as a plain user as well', { skip: plainUser === null }, async () => {
  const uid = plainUser!
  const dataDir = temporaryDirInMemory()
  chownSync(dataDir, uid, uid)
  const env = { TALLYSTICK_DATA: dataDir, TALLYSTICK_PORT: await freePort() }
  const started = await startAllInOne({ env, uid })
  assert.equal((await paste(started.curl)).status, 201)
  assert.equal(statSync(`/proc/${postgresPid(dataDir)}`).uid, uid)
  assert.equal(await started.stop('SIGINT'), 0)
})

test('root: runs in a project that the Postgres user cannot enter, twice, with the same data', {
  skip: !root,
}, async (t) => {
  const project = closedProject()
  const env = { TALLYSTICK_DATA: '.tallystick', TALLYSTICK_PORT: await freePort() }
  const first = await startAllInOne({ project, env })
  const dataDir = /^ +data +([^,]+)/m.exec(first.output)![1]!
  t.after(() => rmSync(dataDir, { recursive: true, force: true }))
  assert.match(dataDir, /^\/var\/(lib|tmp)\/tallystick-/)
  const { body } = await paste(first.curl)
  assert.equal(await first.stop('SIGINT'), 0)
  const second = await startAllInOne({ project, env })
  assert.equal(await getRecord(second.url, dataDir, body.id), 200)
  assert.equal((await paste(second.curl)).status, 201)
  assert.equal(await second.stop('SIGINT'), 0)
})

function closedProject(): string {
  const closed = join(temporaryDirInMemory(), 'closed')
  const project = join(closed, 'project')
  mkdirSync(project, { recursive: true })
  chmodSync(closed, 0o700)
  for (const name of ['package.json', 'src', 'sdk', 'worker', 'migrations']) {
    cpSync(join(PROJECT_DIR, name), join(project, name), { recursive: true })
  }
  symlinkSync(join(PROJECT_DIR, 'node_modules'), join(project, 'node_modules'))
  return project
}
