import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { createServer } from 'node:net'
import { join, resolve } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { COMMANDS } from '../../src/run/command.ts'
import { bareEnvironment } from '../helpers/bare-environment.ts'
import { endsWithTests } from '../helpers/children.ts'
import { importGraph } from '../system/image/import-graph.ts'

const PROJECT = resolve(import.meta.dirname, '..', '..')
const ENTRY = join(PROJECT, 'src/run/command.ts')

test('a command that is started loads nothing of the others', () => {
  const { files } = importGraph(PROJECT, 'src/run/command.ts', { onlyAtOnce: true })
  assert.deepEqual([...files], ['src/run/command.ts'])
  const parts: [command: string, without: string[]][] = [
    ['src/run/operate.ts', ['src/http/app.ts', 'src/run/worker.ts', 'sdk/client.ts']],
    ['src/run/migrate.ts', ['src/http/app.ts', 'src/run/worker.ts', 'sdk/client.ts']],
    ['src/run/smoke.ts', ['src/http/app.ts', 'src/run/worker.ts', 'src/db/connect/pools.ts']],
    ['src/run/server.ts', ['src/run/worker.ts', 'cli/main.ts', 'sdk/client.ts']],
    ['src/run/worker.ts', ['src/http/app.ts', 'cli/main.ts', 'sdk/client.ts']],
  ]
  for (const [command, without] of parts) {
    const loaded = importGraph(PROJECT, command, { onlyAtOnce: true }).files
    assert.deepEqual(
      without.filter((file) => !existsSync(join(PROJECT, file)) || loaded.has(file)),
      [],
      command,
    )
  }
})

test('no command, and one that is not there, are answered with those that are, and exit code 2; the arguments of one are its own', async () => {
  const none = await run([])
  assert.deepEqual([none.code, none.stdout], [2, ''])
  for (const name of Object.keys(COMMANDS)) assert.match(none.stderr, new RegExp(`^  ${name} `, 'm'))
  const unknown = await run(['constructor'])
  assert.equal(unknown.code, 2)
  assert.match(unknown.stderr, /there is no command constructor/)
  const rotated = await run(['rotate-key', '--compromised-at', 'yesterday'])
  assert.deepEqual([rotated.code, rotated.stdout], [1, ''])
  assert.match(rotated.stderr, /--compromised-at yesterday is no time/)
})

test('an argument that a command does not know is refused, and nothing is done: `rotate-master-key --help` rotates nothing', async () => {
  const ours = Object.keys(COMMANDS).filter((name) => !['verify', 'preflight', 'tallystick'].includes(name))
  const answers = await Promise.all(ours.map((name) => run([name, '--help'])))
  for (const [i, { code, stdout, stderr }] of answers.entries()) {
    assert.deepEqual([code, stdout], [1, ''], ours[i])
    assert.match(stderr, new RegExp(`^tallystick ${ours[i]}: Unknown option '--help'`), ours[i])
  }
})

test('a stop ends a command that only starts or has none of its own handling, which the kernel would not do to PID 1', async (t) => {
  const silent = createServer().listen(0, '127.0.0.1')
  t.after(() => silent.close())
  await once(silent, 'listening')
  const { port } = silent.address() as { port: number }
  const child = endsWithTests(
    spawn(process.execPath, [ENTRY, 'operate', 'faults'], {
      env: {
        ...bareEnvironment(),
        DATABASE_URL: `postgres://owner:none@127.0.0.1:${port}/none?sslmode=disable`,
      },
    }),
  )
  const [socket] = await once(silent, 'connection')
  t.after(() => socket.destroy())
  child.kill('SIGTERM')
  // Not by the signal: it was handled.
  assert.deepEqual(await once(child, 'exit'), [143, null])
})

async function run(args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  return promisify(execFile)(process.execPath, [ENTRY, ...args], { env: bareEnvironment() }).then(
    ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
    ({ code, stdout, stderr }) => ({ code, stdout, stderr }),
  )
}
