import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  chownSync,
  existsSync,
  lchownSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { main } from '../../cli/main.ts'
import { withOutput, writeFileWhole } from '../../cli/output-file.ts'
import { findOutputTarget } from '../../cli/output-target.ts'
import { bareEnvironment } from '../helpers/bare-environment.ts'
import { capture } from '../helpers/capture.ts'
import { makePublish } from '../helpers/checkpoints.ts'
import { publishingCliApp } from '../helpers/cli-app.ts'
import { temporaryDir } from '../helpers/postgres.ts'
import { CLI } from '../helpers/run-cli.ts'
import { runCommand } from '../helpers/run-command.ts'
import { temporaryFiles } from '../helpers/temporary-files.ts'
import { until } from '../helpers/wait.ts'

const PROOF = ['proof', '0']

let prepared: ReturnType<typeof prepare> | null = null

/** Makes a ledger with a checkpoint, for all tests of this file. Returns the proof that the command prints. */
async function prepare(t: TestContext) {
  const app = await publishingCliApp(t)
  const publish = await makePublish(t, app)
  await publish()
  const printed = await runCommand(PROOF)
  assert.equal(printed.code, 0, printed.stderr)
  return { env: app.env, text: printed.stdout }
}

async function setUp(t: TestContext) {
  prepared ??= prepare(t)
  const { env, text } = await prepared
  Object.assign(process.env, env)
  const folder = temporaryFiles(t).directory
  const save = (name: string, command = PROOF) => runCommand([...command, '-o', join(folder, name)])
  return { folder, text, at: (name: string) => join(folder, name), save }
}

const DONE = { code: 0, stdout: '', stderr: '' }

test('-o replaces a file, or the target of a link', async (t) => {
  const { text, at, save, folder } = await setUp(t)
  assert.deepEqual(await save('new'), DONE)
  assert.equal(readFileSync(at('new'), 'utf8'), text)
  mkdirSync(at('far'))
  writeFileSync(at('far/target'), 'old')
  symlinkSync('far/target', at('link'))
  symlinkSync('link', at('link to the link'))
  assert.deepEqual(await save('link to the link'), DONE)
  symlinkSync('../missing', at('far/dangling'))
  assert.deepEqual(await save('far/dangling'), DONE)
  for (const link of ['link', 'link to the link', 'far/dangling'])
    assert.ok(lstatSync(at(link)).isSymbolicLink())
  for (const file of ['far/target', 'missing']) assert.equal(readFileSync(at(file), 'utf8'), text)
  assert.deepEqual(readdirSync(folder).sort(), ['far', 'link', 'link to the link', 'missing', 'new'])
  assert.deepEqual(readdirSync(at('far')).sort(), ['dangling', 'target'])
  assert.deepEqual(await save('export', ['export']), DONE)
  assert.equal(statSync(at('export')).mode & 0o777, 0o600)
})

test('a private file of the command is also written through a link', async (t) => {
  const { directory, write } = temporaryFiles(t)
  const target = write('target', 'old')
  symlinkSync(target, join(directory, 'credentials.json'))
  await writeFileWhole(join(directory, 'credentials.json'), 'new', { isPrivate: true })
  assert.ok(lstatSync(join(directory, 'credentials.json')).isSymbolicLink())
  assert.equal(readFileSync(target, 'utf8'), 'new')
  assert.equal(statSync(target).mode & 0o777, 0o600)
})

test('-o writes to a device without replacing it', {
  skip: !canMakeDevices() && 'it takes root, and a folder for devices',
}, async (t) => {
  const { at, save, folder } = await setUp(t)
  execFileSync('mknod', [at('null'), 'c', '1', '3'])
  execFileSync('mknod', [at('full'), 'c', '1', '7'])
  assert.deepEqual(await save('null'), DONE)
  const full = await save('full')
  assert.deepEqual([full.code, full.stdout], [74, ''])
  assert.match(full.stderr, /full cannot be written \(ENOSPC\)\n$/)
  for (const name of ['null', 'full']) assert.ok(lstatSync(at(name)).isCharacterDevice())
  assert.deepEqual(readdirSync(folder).sort(), ['full', 'null'])
})

test('-o waits for a reader of a pipe, writes to it, and exits with 74 if it closes', async (t) => {
  const { text, at } = await setUp(t)
  execFileSync('mkfifo', [at('pipe')])
  const told = capture()
  const saving = main([...PROOF, '-o', at('pipe')], {
    stdin: process.stdin,
    stdout: capture(),
    stderr: told,
  })
  await until(() => told.text() === `tallystick: waiting until somebody reads ${at('pipe')}\n`)
  const reader = spawn('cat', [at('pipe')], { stdio: ['ignore', 'pipe', 'inherit'] })
  let read = ''
  reader.stdout.on('data', (data) => {
    read += data
  })
  assert.equal(await saving, 0, told.text())
  await once(reader, 'close')
  assert.equal(read, text)
  assert.ok(lstatSync(at('pipe')).isFIFO())
  const leaving = spawn('head', ['-c', '1', at('pipe')], { stdio: 'ignore' })
  const io = { stdin: process.stdin, stdout: capture(), stderr: capture() }
  const pieces = Array.from({ length: 100 }, () => Buffer.alloc(65_536))
  await assert.rejects(
    withOutput(at('pipe'), { io, isPrivate: true }, (output) => output.save(pieces)),
    { name: 'SourceError', kind: 'io', message: `${at('pipe')} was closed by its reader` },
  )
  await once(leaving, 'close')
})

test('-o writes to standard output for a link like /dev/stdout, and to a descriptor for >(…)', async (t) => {
  const { text, at } = await setUp(t)
  // The test uses copies of the links in /dev, because a bug here would replace the real links.
  for (const [name, fd] of [
    ['stdout', 1],
    ['stderr', 2],
  ] as const)
    symlinkSync(`/proc/self/fd/${fd}`, at(name))
  for (const name of [at('stdout'), '/dev/fd/1', '/proc/self/fd/1', '-'])
    assert.deepEqual(await runCommand([...PROOF, '-o', name]), { ...DONE, stdout: text }, name)
  assert.deepEqual(await runCommand([...PROOF, '-o', at('stderr')]), { ...DONE, stderr: text })
  const written = await runCommand([...PROOF, '-o', at('types.ts')], { isTTY: true })
  assert.deepEqual(written, { ...DONE, stderr: `tallystick: wrote ${at('types.ts')}\n` })
  const terminal = await runCommand(['export', '-o', at('stdout')], { isTTY: true })
  assert.equal(terminal.code, 64, terminal.stderr)
  const env = { ...bareEnvironment(), ...process.env }
  const bash = (script: string) => {
    const child = spawn('bash', ['-c', script, process.execPath, CLI, ...PROOF], {
      cwd: at('.'),
      env,
      stdio: 'inherit',
    })
    return once(child, 'close')
  }
  // The shell keeps its file `shared` open: it writes to the file before and after the command does.
  assert.deepEqual(await bash('{ echo before; "$0" "$@" -o stdout; echo after; } > shared'), [0, null])
  assert.equal(readFileSync(at('shared'), 'utf8'), `before\n${text}after\n`)
  assert.deepEqual(
    await bash('"$0" "$@" -o >(cat > substituted; touch done); while [ ! -e done ]; do sleep 0.1; done'),
    [0, null],
  )
  assert.equal(readFileSync(at('substituted'), 'utf8'), text)
})

test('an unusable output path is refused with a reason before any request', async (t) => {
  const { at, save, folder } = await setUp(t)
  mkdirSync(at('folder'))
  const server = createServer().listen(at('socket'))
  await once(server, 'listening')
  t.after(() => server.close())
  symlinkSync('loop', at('loop'))
  symlinkSync('none/file', at('lost'))
  const there = readdirSync(folder)
  process.env['TALLYSTICK_URL'] = 'http://127.0.0.1:9'
  for (const [name, why] of [
    ['folder', '(a folder)'],
    ['none/', '(a folder)'],
    ['none/file', `(there is no folder ${at('none')})`],
    ['lost', '(its link leads into a folder that does not exist)'],
    ['socket/file', `(${at('socket')} is not a folder)`],
    ['socket', '(a socket: name a file, a pipe or a device)'],
    ['loop', '(its symbolic links form a loop)'],
    ['loop/file', '(its symbolic links form a loop)'],
    ['/dev/fd/999', '(descriptor 999 is not open)'],
  ] as const) {
    const path = name.startsWith('/') ? name : `${folder}/${name}`
    const refused = await runCommand([...PROOF, '-o', path])
    assert.deepEqual(refused, {
      code: 74,
      stdout: '',
      stderr: `tallystick: ${path} cannot be written ${why}\n`,
    })
  }
  assert.equal((await runCommand([...PROOF, '-o', ''])).code, 64)
  assert.equal((await save('file')).code, 69)
  assert.deepEqual(readdirSync(folder), there)
  assert.ok(!existsSync(at('file')))
})

test('-o follows no link and opens no pipe that another user may have placed there', {
  skip: process.geteuid?.() !== 0 && 'it takes root to give files to another user',
}, async (t) => {
  const { text, at, save } = await setUp(t)
  const OTHER = 65_534
  const makeFolder = (name: string, { mode = 0o1777, owner = 0 } = {}) => {
    mkdirSync(at(name))
    chownSync(at(name), owner, owner)
    // The mode is set by `chmod`, because the umask limits the mode of `mkdir`.
    chmodSync(at(name), mode)
    mkdirSync(at(`${name}/own`))
    for (const [link, target, user] of [
      ['theirs', 'own/target', OTHER],
      ['theirs to a folder', 'own', OTHER],
      ['mine', 'own/target', 0],
    ] as const) {
      symlinkSync(target, at(`${name}/${link}`))
      lchownSync(at(`${name}/${link}`), user, user)
    }
    execFileSync('mkfifo', [at(`${name}/pipe`)])
    chownSync(at(`${name}/pipe`), OTHER, OTHER)
  }
  const placeOf = (name: string, isPrivate = false) =>
    findOutputTarget(at(name), { isPrivate }).then(
      ({ kind }) => kind,
      (error: Error) => error.message,
    )
  makeFolder('shared')
  symlinkSync('shared/theirs', at('link to theirs'))
  const refused = (name: string, what: string, path = name) =>
    `${at(name)} cannot be written (in a folder that everybody can write to: ${at(path)} is a ${what} of another user)`
  assert.deepEqual(await save('shared/theirs'), {
    code: 74,
    stdout: '',
    stderr: `tallystick: ${refused('shared/theirs', 'link')}\n`,
  })
  assert.equal(await placeOf('link to theirs'), refused('link to theirs', 'link', 'shared/theirs'))
  assert.equal(
    await placeOf('shared/theirs to a folder/target'),
    refused('shared/theirs to a folder/target', 'link', 'shared/theirs to a folder'),
  )
  assert.equal(await placeOf('shared/pipe'), refused('shared/pipe', 'pipe'))
  assert.deepEqual(await save('shared/mine'), DONE)
  assert.equal(readFileSync(at('shared/own/target'), 'utf8'), text)
  makeFolder('theirs', { owner: OTHER })
  makeFolder('plain', { mode: 0o755 })
  for (const folder of ['theirs', 'plain']) {
    for (const name of ['theirs', 'theirs to a folder/target', 'mine'])
      assert.equal(await placeOf(`${folder}/${name}`), 'file', name)
    assert.equal(await placeOf(`${folder}/pipe`), 'pipe')
    assert.match(
      await placeOf(`${folder}/pipe`, true),
      /cannot be written \(a pipe of another user, who could/,
    )
  }
})

test('-o resolves .. after a link like a shell: the parent of the link’s target', async (t) => {
  const { text, at, save } = await setUp(t)
  mkdirSync(at('deep/er'), { recursive: true })
  symlinkSync('deep/er', at('link'))
  assert.deepEqual(await runCommand([...PROOF, '-o', `${at('link')}/../file`]), DONE)
  assert.equal(readFileSync(at('deep/file'), 'utf8'), text)
  symlinkSync('link/../linked', at('link through it'))
  assert.deepEqual(await save('link through it'), DONE)
  assert.equal(readFileSync(at('deep/linked'), 'utf8'), text)
})

test('only output-file.ts renames over a file that a user named', () => {
  const files = readdirSync('cli', { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.ts'),
  )
  const renaming = files.filter((name) =>
    /\brename(Sync)?\b.*from 'node:fs|\brename(Sync)?,/.test(readFileSync(join('cli', name), 'utf8')),
  )
  // The outbox renames only its own files, within its folder.
  assert.deepEqual(renaming.sort(), ['outbox/calls.ts', 'output-file.ts'])
})

function canMakeDevices(): boolean {
  const path = join(temporaryDir(), 'null')
  try {
    execFileSync('mknod', [path, 'c', '1', '3'], { stdio: 'ignore' })
    writeFileSync(path, '')
    return true
  } catch {
    return false
  }
}
