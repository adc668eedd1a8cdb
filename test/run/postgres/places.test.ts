import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { getEmbeddedBinaries, prepareBinaries } from '../../../src/run/postgres/binaries.ts'
import { chooseDataDir, isReachable } from '../../../src/run/postgres/layout.ts'
import { resolveRunAs, runSync } from '../../../src/run/postgres/run-as.ts'
import { startPostgres } from '../../../src/run/postgres/start.ts'
import { temporaryDir } from '../../helpers/postgres.ts'
import { ends, kill, plainUser, query, startHolder } from './holder.ts'

const root = process.getuid?.() === 0
const skipPlain = plainUser === null && 'needs root, and a project that a plain user can read'
const plain = { uid: plainUser ?? 0 }
const settings = { fsync: 'off', shared_buffers: '16MB' }
const quiet = () => {}

test('the data folder is inside the project if the server can reach the project', () => {
  const project = temporaryDir()
  assert.equal(chooseDataDir(project, { embedded: true, log: quiet }), join(project, '.tallystick'))
})

test('root: the data folder is below /var if the server cannot enter the project, and stays there', {
  skip: !root,
}, (t) => {
  const project = closedDir()
  const notices: string[] = []
  const dataDir = chooseDataDir(project, { embedded: true, log: (line) => notices.push(line) })
  t.after(() => rmSync(dataDir, { recursive: true }))
  assert.match(dataDir, /^\/var\/(lib|tmp)\/tallystick-[0-9a-f]{12}$/)
  assert.match(
    notices.join('\n'),
    new RegExp(`data goes to ${dataDir}, because the user \\S+ .* cannot enter`),
  )
  assert.equal(existsSync(join(project, '.tallystick')), false)
  mkdirSync(join(dataDir, 'postgres', 'cluster'), { recursive: true })
  chmodSync(dirname(project), 0o755)
  assert.equal(chooseDataDir(project, { embedded: true, log: quiet }), dataDir)
})

test('a data folder that cannot be created is refused with a hint to TALLYSTICK_DATA', {
  skip: skipPlain,
}, async () => {
  const dataDir = temporaryDir()
  await assert.rejects(
    startHolder(join(dataDir, 'sub'), plain),
    /cannot be created \(EACCES\).*TALLYSTICK_DATA/s,
  )
})

test('a data folder below /proc is refused too, where a recursive mkdir never returns', {
  skip: process.platform !== 'linux',
}, () => {
  const script = join(import.meta.dirname, '..', '..', '..', 'src', 'run', 'postgres', 'layout.ts')
  const code = `const { openDataDir } = await import('${script}')
    try { openDataDir('/proc/none/data') } catch (error) { console.log(error.message) }`
  const { stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', code], {
    encoding: 'utf8',
    timeout: 20_000,
    killSignal: 'SIGKILL',
  })
  assert.match(stdout, /cannot be created \(ENOENT\).*TALLYSTICK_DATA/)
})

test('a plain user in another user’s project gets a data folder below /var/tmp', { skip: skipPlain }, (t) => {
  const project = temporaryDir()
  chmodSync(project, 0o755)
  const script = join(import.meta.dirname, '..', '..', '..', 'src', 'run', 'postgres', 'layout.ts')
  const code = `const { chooseDataDir } = await import('${script}')
    console.log(chooseDataDir('${project}', { embedded: true, log() {} }))`
  const runAs = { ...plain, gid: plain.uid, name: 'plain' }
  const chosen = runSync(process.execPath, ['--input-type=module', '-e', code], runAs)
  assert.match(chosen.output, /^\/var\/tmp\/tallystick-[0-9a-f]{12}$/)
  t.after(() => rmSync(chosen.output, { recursive: true }))
  assert.deepEqual([statSync(chosen.output).uid, statSync(chosen.output).mode & 0o777], [plain.uid, 0o700])
  // Gives the folder to another user. If another user made this folder first, that user could replace its content.
  chownSync(chosen.output, plain.uid + 1, plain.uid + 1)
  assert.match(
    runSync(process.execPath, ['--input-type=module', '-e', code], runAs).output,
    /no folder for the data/,
  )
})

test('root: a configured data folder that the server cannot enter is refused with a hint', {
  skip: !root,
}, async () => {
  await assert.rejects(
    startPostgres({ dataDir: join(closedDir(), 'data'), settings }),
    /runs as the user \S+, who cannot enter .*chmod o\+x.*TALLYSTICK_DATA/s,
  )
})

test('root: the server runs as an unprivileged user', { skip: !root }, async (t) => {
  const postgres = await startPostgres({ dataDir: temporaryDir(), settings, temporary: true })
  t.after(() => postgres.stop())
  assert.notEqual(statSync(`/proc/${postgres.pid}`).uid, 0)
})

test('root: a cluster created by a plain user runs as that user', { skip: skipPlain }, async (t) => {
  const dataDir = temporaryDir()
  chownSync(dataDir, plain.uid, plain.uid)
  const holder = await startHolder(dataDir, plain)
  await query(holder.superuserUrl, 'create table kept as select 42 as answer')
  await kill(holder, 'SIGTERM')
  assert.equal(await ends(holder.pid), true)
  const postgres = await startPostgres({ dataDir, settings, temporary: true })
  t.after(() => postgres.stop())
  assert.equal(statSync(`/proc/${postgres.pid}`).uid, plain.uid)
  assert.deepEqual(await query(postgres.superuserUrl, 'select answer from kept'), [{ answer: 42 }])
})

test('starts under umask 077, in a folder closed to others', async () => {
  const dataDir = join(temporaryDir(), 'a', 'b')
  const parent = dirname(dirname(dataDir))
  if (!root) chmodSync(parent, 0o700)
  const made = root ? mkdtempSync(join(parent, 'closed-')) : dataDir
  const holder = await startHolder(made, { umask: '077' })
  await query(holder.superuserUrl, 'select 1')
  await kill(holder, 'SIGTERM')
  assert.equal(await ends(holder.pid), true)
})

test('missing library links of the binaries are created in place', () => {
  const native = copyOfBinaries(temporaryDir())
  assert.equal(prepareBinaries(join(native, 'bin'), null, temporaryDir(), quiet), join(native, 'bin'))
  assert.equal(existsSync(join(native, 'lib', 'libicuuc.so.60')), true)
})

test('root: binaries that the server cannot reach are copied once, for all users', {
  skip: !root,
}, async (t) => {
  const native = copyOfBinaries(closedDir())
  // Sets the modes that npm sets when it unpacks under umask 077: no rights for other users.
  execFileSync('chmod', ['-R', 'go-rwx', native])
  const dataDir = temporaryDir()
  const notices: string[] = []
  for (const _ of [1, 2]) {
    const binDir = join(native, 'bin')
    const postgres = await startPostgres({ dataDir, binDir, settings, log: (line) => notices.push(line) })
    t.after(() => postgres.stop())
    await postgres.stop()
  }
  assert.equal(notices.filter((line) => line.startsWith('copying the Postgres binaries')).length, 1)
  assert.equal(readdirSync(dataDir).filter((name) => name.startsWith('binaries-')).length, 1)
})

test('binaries that cannot run are reported with a hint to DATABASE_URL', () => {
  assert.throws(
    () => prepareBinaries('/nonexistent/bin', null, temporaryDir(), quiet),
    /does not run.*DATABASE_URL/s,
  )
})

const DISTRIBUTION = '/usr/lib/postgresql/15/bin'
test('runs the Postgres of a distribution', { skip: !existsSync(DISTRIBUTION) }, async (t) => {
  const postgres = await startPostgres({
    dataDir: temporaryDir(),
    binDir: DISTRIBUTION,
    settings,
    temporary: true,
  })
  t.after(() => postgres.stop())
  assert.match(postgres.version, /^15\./)
  const [row] = await query(
    postgres.ownerUrl,
    "select current_setting('server_version_num')::int / 10000 as major",
  )
  assert.deepEqual(row, { major: 15 })
})

/** Makes a folder below a folder that only our user may enter. */
function closedDir(): string {
  const closed = join(temporaryDir(), 'closed')
  mkdirSync(join(closed, 'project'), { recursive: true })
  chmodSync(closed, 0o700)
  assert.equal(isReachable(join(closed, 'project'), resolveRunAs('/nonexistent', quiet)), !root)
  return join(closed, 'project')
}

/** Copies the binaries as npm unpacks them without install scripts. The copy has no symbolic links. */
function copyOfBinaries(dir: string): string {
  const source = dirname(getEmbeddedBinaries())
  cpSync(dirname(source), dir, { recursive: true, verbatimSymlinks: true })
  const lib = join(dir, 'native', 'lib')
  for (const entry of readdirSync(lib, { withFileTypes: true })) {
    if (entry.isSymbolicLink()) rmSync(join(lib, entry.name))
  }
  return join(dir, 'native')
}
