import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { main } from '../../cli/main.ts'
import { run } from '../../cli/run.ts'
import { bareEnvironment } from '../helpers/bare-environment.ts'
import { capture } from '../helpers/capture.ts'
import { sharedCliApp } from '../helpers/cli-app.ts'
import { CLI } from '../helpers/run-cli.ts'
import { runAlone, runCommand } from '../helpers/run-command.ts'
import { temporaryFiles } from '../helpers/temporary-files.ts'
import { makeChain } from '../helpers/test-chain.ts'
import { verifierKeyOf } from '../helpers/test-proof.ts'

test('a missing temporary directory is a local error, and no request is sent', async (t) => {
  await sharedCliApp(t)
  process.env['TMPDIR'] = '/nowhere/tmp'
  t.after(() => delete process.env['TMPDIR'])
  for (const args of [['verify'], ['verify', '-'], ['verify', '--server', 'http://127.0.0.1:9']]) {
    const { code, stdout, stderr } = await runCommand(args)
    assert.deepEqual([code, stdout], [74, ''])
    assert.match(
      stderr,
      /^tallystick: the temporary directory \/nowhere\/tmp cannot be used \(ENOENT\): set TMPDIR to another directory$/m,
    )
  }
})

test('a local file size limit is not reported as the server’s fault during verify', async (t) => {
  const { env, files } = await sharedCliApp(t)
  // `ulimit -f 1` limits files to 512 bytes or 1 KiB, depending on the shell. Node can still read its libraries.
  const child = spawn('sh', ['-c', 'ulimit -f 1; exec "$0" "$@"', process.execPath, CLI, 'verify'], {
    env: { ...bareEnvironment(), ...env, TMPDIR: files.directory },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const [stderr, [code]] = await Promise.all([
    text(child.stderr),
    new Promise<[number]>((done) => child.on('exit', (code) => done([code!]))),
  ])
  assert.equal(code, 74, stderr)
  assert.match(stderr, /^tallystick: the temporary directory \S+ cannot be used \(EFBIG\)/m)
  assert.doesNotMatch(stderr, /ended too early/)
})

test('an unreadable standard input is reported as such, with exit code 74', async () => {
  const error = Object.assign(new Error('it broke'), { code: 'EIO', syscall: 'read' })
  const stdin = new Readable({ read: () => void stdin.destroy(error) })
  const stderr = capture()
  assert.equal(await main(['verify', '-'], { stdin, stdout: capture(), stderr }), 74)
  assert.equal(stderr.text(), 'tallystick: standard input cannot be read (EIO)\n')
})

test('an error of a local file exits any command with 74 and a message without stack', async (t) => {
  const { write } = temporaryFiles(t)
  const file = write('file', '')
  const witness = await runAlone([
    'witness',
    '--state',
    `${file}/below`,
    '--name',
    'w.example/w1',
    '--log',
    verifierKeyOf(makeChain()),
  ])
  assert.deepEqual([witness.code, witness.stdout], [74, ''], witness.stderr)
  assert.match(witness.stderr, /^tallystick: EEXIST: [^\n]+\n$/)
  const thrown = async (details: object) => {
    const stderr = capture()
    return run(() => Promise.reject(Object.assign(new Error('it broke'), details)), stderr)
  }
  assert.equal(await thrown({ code: 'ENOSPC', syscall: 'write' }), 74)
  assert.equal(await thrown({ code: 'EACCES', syscall: 'open', path: '/x' }), 74)
  assert.equal(await thrown({ code: 'ECONNRESET', syscall: 'read' }), 70)
  assert.equal(await thrown({ code: 'EACCES', syscall: 'connect', path: '/socket' }), 70)
})
