import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { endsWithTests } from '../../helpers/children.ts'
import { plainUser } from '../../run/postgres/holder.ts'

const RUN_MJS = join(import.meta.dirname, '..', '..', '..', 'tools', 'run.mjs')
const NODE = `node-${process.platform}-${process.arch}`
const NOTICE = /installing the dependencies from package-lock\.json/

test('the first start installs the lockfile and prints one line; the second installs nothing', async (t) => {
  const project = makeProject(t)
  writeFileSync(
    join(project, 'script.ts'),
    'const sum: number = 1 + 1\nconsole.log(sum, process.argv.slice(2).join())',
  )
  const first = await run(project, ['script.ts', 'a', '--b'])
  assert.deepEqual([first.code, first.stdout], [0, '2 a,--b\n'])
  assert.equal(first.stderr.trim().split('\n').length, 1)
  assert.match(first.stderr, NOTICE)
  assert.deepEqual(await run(project, ['script.ts', 'c']), {
    code: 0,
    signal: null,
    stdout: '2 c\n',
    stderr: '',
  })
})

test('the script and its child processes run under the pinned Node, from any folder', async (t) => {
  const project = makeProject(t)
  const script = "console.log(process.env.PINNED, require('child_process').execSync('command -v node')+'')"
  writeFileSync(join(project, 'script.cjs'), script)
  const { stdout } = await run(project, ['script.cjs'], { cwd: '/', env: { npm_execpath: '' } })
  assert.equal(stdout.trim(), `yes ${join(project, 'node_modules', NODE, 'bin', 'node')}`)
})

test('installs again when the lockfile has changed', async (t) => {
  const project = makeProject(t)
  writeFileSync(join(project, 'script.cjs'), "console.log(require('part/package.json').version)")
  assert.equal((await run(project, ['script.cjs'])).stdout, '1.0.0\n')
  writeLock(project, { [NODE]: '24.21.0', part: '2.0.0' })
  const second = await run(project, ['script.cjs'])
  assert.equal(second.stdout, '2.0.0\n')
  assert.match(second.stderr, NOTICE)
})

test('removes packages that the lockfile does not name, such as an older Node', async (t) => {
  const project = makeProject(t)
  writeFileSync(join(project, 'script.cjs'), 'console.log(process.env.PINNED)')
  pack(project, 'node', '24.21.0', { bin: { node: 'bin/node' } }, { 'bin/node': '#!/bin/sh\n' })
  writeLock(project, { node: '24.21.0', part: '1.0.0' })
  execFileSync('npm', ['ci', '--no-audit'], { cwd: project, stdio: 'ignore' })
  const linked = join(project, 'node_modules', '.bin', 'node')
  assert.match(realpathSync(linked), /node_modules\/node\/bin\/node$/)
  writeLock(project, { [NODE]: '24.21.0', part: '1.0.0' }, { [NODE]: { optional: true } })
  const first = await run(project, ['script.cjs'])
  assert.match(first.stderr, NOTICE)
  assert.equal(first.stdout, 'yes\n')
  assert.equal(existsSync(join(project, 'node_modules', 'node')), false)
  assert.equal(realpathSync(linked), realpathSync(join(project, 'node_modules', NODE, 'bin', 'node')))
})

test('restores the link to the pinned Node, by which npx finds it', async (t) => {
  const project = makeProject(t)
  writeFileSync(join(project, 'script.cjs'), '')
  await run(project, ['script.cjs'])
  const link = join(project, 'node_modules', '.bin', 'node')
  rmSync(link)
  assert.deepEqual((await run(project, ['script.cjs'])).stderr, '')
  assert.equal(realpathSync(link), realpathSync(join(project, 'node_modules', NODE, 'bin', 'node')))
})

test('of two simultaneous starts one installs, and both run', async (t) => {
  const project = makeProject(t)
  writeFileSync(join(project, 'script.cjs'), "console.log(require('part/package.json').version)")
  const both = await Promise.all([run(project, ['script.cjs']), run(project, ['script.cjs'])])
  assert.deepEqual(
    both.map(({ code, stdout }) => [code, stdout]),
    [
      [0, '1.0.0\n'],
      [0, '1.0.0\n'],
    ],
  )
  assert.equal(both.filter(({ stderr }) => NOTICE.test(stderr)).length, 1)
  assert.equal(both.filter(({ stderr }) => /another start is installing/.test(stderr)).length, 1)
})

test('an old lock of a killed start is removed', async (t) => {
  const project = makeProject(t)
  writeFileSync(join(project, 'script.cjs'), '')
  writeFileSync(join(project, '.install-lock'), '0\n')
  utimesSync(join(project, '.install-lock'), new Date(), Date.now() / 1000 - 60)
  assert.equal((await run(project, ['script.cjs'])).code, 0)
  assert.equal(existsSync(join(project, '.install-lock')), false)
})

test('gets the pinned Node even if npm runs no install scripts', async (t) => {
  const project = makeProject(t)
  writeFileSync(join(project, 'script.cjs'), 'console.log(process.env.PINNED)')
  const { stdout } = await run(project, ['script.cjs'], { env: { npm_config_ignore_scripts: 'true' } })
  assert.equal(stdout, 'yes\n')
})

test('says what to do when the registry cannot be reached', async (t) => {
  const project = makeProject(t)
  for (const file of ['package.json', 'package-lock.json']) {
    const text = readFileSync(join(project, file), 'utf8')
    const registry = text.replace(/"resolved":"[^"]*part/, '"resolved":"http://127.0.0.1:9/part')
    writeFileSync(
      join(project, file),
      registry.replaceAll('"part":"file:vendor/part-1.0.0.tgz"', '"part":"1.0.0"'),
    )
  }
  const env = { npm_config_fetch_retries: '0', npm_config_cache: join(project, 'cache') }
  const { code, stderr } = await run(project, ['script.cjs'], { env })
  assert.equal(code, 1)
  assert.match(stderr, /the package registry cannot be reached\. Connect this machine/)
  assert.equal(existsSync(join(project, '.install-lock')), false)
})

test('says what to do when there is no lockfile and when there is no npm', async (t) => {
  const project = makeProject(t)
  const noNpm = await run(project, ['script.cjs'], { env: { PATH: '/nonexistent', npm_execpath: '' } })
  assert.match(noNpm.stderr, /there is no npm on the PATH: install Node together with its npm/)
  rmSync(join(project, 'package-lock.json'))
  assert.match((await run(project, ['script.cjs'])).stderr, /package-lock\.json is missing/)
})

test('without write access a plain user gets an error that names who must install', {
  skip: plainUser === null,
}, async (t) => {
  const project = makeProject(t)
  chmodSync(project, 0o755)
  writeFileSync(join(project, 'script.cjs'), 'console.log(process.getuid())')
  const before = await run(project, ['script.cjs'], { uid: plainUser! })
  assert.match(
    before.stderr,
    /the dependencies are not installed, and this user may not write to .*as its owner/,
  )
  assert.equal((await run(project, ['script.cjs'])).code, 0)
  const after = await run(project, ['script.cjs'], { uid: plainUser! })
  assert.deepEqual([after.stdout, after.stderr], [`${plainUser}\n`, ''])
})

test('keeps the exit code, forwards signals, and dies of its script’s signal', async (t) => {
  const project = makeProject(t)
  const wait = "setTimeout(() => {}, 1e6); console.log('ready')"
  writeFileSync(join(project, 'seven.cjs'), 'process.exitCode = 7')
  writeFileSync(join(project, 'handles.cjs'), `process.on('SIGTERM', () => process.exit(9)); ${wait}`)
  writeFileSync(join(project, 'dies.cjs'), wait)
  assert.equal((await run(project, ['seven.cjs'])).code, 7)
  assert.equal((await run(project, ['handles.cjs'], { killWhenReady: true })).code, 9)
  assert.equal((await run(project, ['dies.cjs'], { killWhenReady: true })).signal, 'SIGTERM')
})

test('development dependencies are installed for a test, and not for a server', async (t) => {
  const project = makeProject(t)
  writeLock(project, { [NODE]: '24.21.0', part: '1.0.0' }, { part: { dev: true } })
  mkdirSync(join(project, 'test'))
  for (const script of ['server.cjs', 'test/all.cjs']) writeFileSync(join(project, script), '')
  execFileSync('npm', ['ci', '--omit=dev', '--no-audit'], { cwd: project, stdio: 'ignore' })
  assert.doesNotMatch((await run(project, ['server.cjs'])).stderr, NOTICE)
  assert.match((await run(project, ['test/all.cjs'])).stderr, NOTICE)
  assert.equal(existsSync(join(project, 'node_modules', 'part')), true)
})

type RunOptions = { cwd?: string; env?: Record<string, string>; uid?: number; killWhenReady?: boolean }
type RunResult = { code: number | null; signal: string | null; stdout: string; stderr: string }

async function run(project: string, args: string[], options: RunOptions = {}): Promise<RunResult> {
  const child = spawn(process.execPath, [join(project, 'tools', 'run.mjs'), ...args], {
    cwd: options.cwd ?? project,
    env: { ...process.env, ...options.env },
    ...(options.uid === undefined ? {} : { uid: options.uid, gid: options.uid }),
  })
  endsWithTests(child)
  let stdout = ''
  let stderr = ''
  child.stdout.on('data', (data) => {
    stdout += data
  })
  child.stderr.on('data', (data) => {
    stderr += data
  })
  const closed = once(child, 'close')
  if (options.killWhenReady) {
    while (!stdout.includes('ready') && child.exitCode === null) await sleep(10)
    child.kill('SIGTERM')
  }
  const [code, signal] = await closed
  return { code, signal, stdout, stderr }
}

/** Makes a project that installs from tarballs beside it. This needs npm but no registry. */
function makeProject(t: { after(hook: () => void): void }): string {
  const project = mkdtempSync(join(tmpdir(), 'tallystick-run-'))
  t.after(() => rmSync(project, { recursive: true, force: true }))
  mkdirSync(join(project, 'tools'))
  mkdirSync(join(project, 'vendor'))
  cpSync(RUN_MJS, join(project, 'tools', 'run.mjs'))
  // The package contains a binary, like the real package. This binary only marks that it was used.
  const binary = `#!/bin/sh\nPINNED=yes exec '${process.execPath}' "$@"\n`
  pack(project, NODE, '24.21.0', { bin: { node: 'bin/node' } }, { 'bin/node': binary })
  pack(project, 'part', '1.0.0')
  pack(project, 'part', '2.0.0')
  writeLock(project, { [NODE]: '24.21.0', part: '1.0.0' })
  return project
}

function pack(project: string, name: string, version: string, more: object = {}, files: object = {}): void {
  const dir = join(project, 'vendor', 'package')
  mkdirSync(dir)
  writeFileSync(join(dir, 'package.json'), JSON.stringify({ name, version, ...more }))
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(dir, path)), { recursive: true })
    writeFileSync(join(dir, path), text, { mode: 0o755 })
  }
  execFileSync('tar', ['-czf', `${name}-${version}.tgz`, 'package'], { cwd: join(project, 'vendor') })
  rmSync(dir, { recursive: true })
}

function writeLock(
  project: string,
  versions: Record<string, string>,
  more: Record<string, object> = {},
): void {
  const packages: Record<string, object> = {}
  const dependencies: Record<string, string> = {}
  const devDependencies: Record<string, string> = {}
  for (const [name, version] of Object.entries(versions)) {
    const resolved = `file:vendor/${name}-${version}.tgz`
    const bytes = readFileSync(join(project, 'vendor', `${name}-${version}.tgz`))
    const integrity = `sha512-${createHash('sha512').update(bytes).digest('base64')}`
    const isNode = name === NODE || name === 'node' ? { bin: { node: 'bin/node' } } : {}
    packages[`node_modules/${name}`] = { version, resolved, integrity, ...isNode, ...more[name] }
    const target = more[name] && 'dev' in more[name] ? devDependencies : dependencies
    target[name] = resolved
  }
  const self = {
    name: 'project',
    version: '1.0.0',
    engines: { node: '>=20.12' },
    dependencies,
    devDependencies,
  }
  const lock = {
    name: 'project',
    version: '1.0.0',
    lockfileVersion: 3,
    requires: true,
    packages: { '': self, ...packages },
  }
  writeFileSync(join(project, 'package.json'), JSON.stringify(self))
  writeFileSync(join(project, 'package-lock.json'), JSON.stringify(lock))
}
