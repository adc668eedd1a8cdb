import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { join, resolve } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { COMMANDS } from '../../src/run/command.ts'
import { bareEnvironment } from '../helpers/bare-environment.ts'
import { endsWithTests } from '../helpers/children.ts'
import { importGraph } from '../system/image/import-graph.ts'

const PROJECT = resolve(import.meta.dirname, '..', '..')
const ENTRY = join(PROJECT, 'src/run/command.ts')

test('a command loads no modules of other commands', () => {
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

test('only command.ts starts commands; the other files name their command line', async () => {
  const texts = new Map(
    globSync('src/run/*.ts', { cwd: PROJECT }).map((file) => [
      file,
      readFileSync(join(PROJECT, file), 'utf8'),
    ]),
  )
  const having = (pattern: RegExp) =>
    [...texts].filter(([, text]) => pattern.test(text)).map(([file]) => file)
  assert.deepEqual(having(/import\.meta\.main/), ['src/run/command.ts'])
  // Each file with a `main` must import run-to-end.ts, which prints how to start the command.
  const files = having(/^export (const|function) main\b/m)
  const ours = Object.keys(COMMANDS).map((name) => `src/run/${name}.ts`)
  assert.deepEqual(files.sort(), ours.filter((file) => texts.has(file)).sort())
  assert.deepEqual(
    files.filter(
      (file) => !importGraph(PROJECT, file, { onlyAtOnce: true }).files.has('src/run/run-to-end.ts'),
    ),
    [],
  )
  const [server, migrate] = await Promise.all(
    ['server', 'migrate'].map((name) => run([], {}, `src/run/${name}.ts`)),
  )
  assert.deepEqual([server!.code, server!.stdout], [2, ''])
  assert.match(server!.stderr, /run: npm run op -- server, or: node src\/run\/command\.ts server$/m)
  assert.deepEqual([migrate!.code, migrate!.stdout], [2, ''])
})

test('a missing or unknown command lists the commands and exits with 2; other arguments go to the command', async () => {
  const none = await run([])
  assert.deepEqual([none.code, none.stdout], [2, ''])
  for (const name of Object.keys(COMMANDS)) assert.match(none.stderr, new RegExp(`^  ${name} `, 'm'))
  const unknown = await run(['constructor'])
  assert.equal(unknown.code, 2)
  assert.match(unknown.stderr, /there is no command constructor/)
  const rotated = await run(['rotate-key', '--compromised-at', 'yesterday'])
  assert.deepEqual([rotated.code, rotated.stdout], [1, ''])
  assert.match(rotated.stderr, /--compromised-at yesterday is not a time/)
})

test('--help prints only the usage; an unknown argument is refused without any effect', async () => {
  const ours = Object.keys(COMMANDS).filter((name) => !['verify', 'preflight', 'tallystick'].includes(name))
  const helped = await Promise.all(ours.map((name) => run([name, '--help'])))
  for (const [i, { code, stdout, stderr }] of helped.entries()) {
    assert.deepEqual([code, stderr], [0, ''], ours[i])
    assert.match(stdout, new RegExp(`^usage: ${ours[i]}`), ours[i])
  }
  const refused = await Promise.all(ours.map((name) => run([name, '--helpp'])))
  for (const [i, { code, stdout, stderr }] of refused.entries()) {
    assert.deepEqual([code, stdout], [1, ''], ours[i])
    assert.match(stderr, new RegExp(`^tallystick ${ours[i]}: Unknown option '--helpp'`), ours[i])
  }
})

test('if the port is in use, the last line of a server names the variable to change', async (t) => {
  const squatter = createServer((socket) => socket.end('no')).listen(0, '127.0.0.1')
  t.after(() => squatter.close())
  await once(squatter, 'listening')
  const { port } = squatter.address() as AddressInfo
  const { code, stdout, stderr } = await run(['server'], { TALLYSTICK_PORT: `${port}`, TALLYSTICK_PROT: '1' })
  assert.deepEqual([code, stdout], [1, ''])
  const [warning, ...last] = stderr.trimEnd().split('\n')
  assert.match(warning!, /TALLYSTICK_PROT: did you mean TALLYSTICK_PORT\?$/)
  assert.equal(last.length, 1)
  assert.match(
    last[0]!,
    /^tallystick server: port \d+ on 127\.0\.0\.1 is in use .*: stop that, or choose another with TALLYSTICK_PORT=\d+$/,
  )
})

test('SIGTERM ends a command without a handler of its own, with exit code 143', async (t) => {
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
  // The process handles SIGTERM, so it ends with an exit code and not by the signal.
  assert.deepEqual(await once(child, 'exit'), [143, null])
})

type Ended = { code: number; stdout: string; stderr: string }

async function run(args: string[], env: Record<string, string> = {}, entry = ENTRY): Promise<Ended> {
  return promisify(execFile)(process.execPath, [entry, ...args], {
    cwd: PROJECT,
    env: { ...bareEnvironment(), ...env },
  }).then(
    ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
    ({ code, stdout, stderr }) => ({ code, stdout, stderr }),
  )
}
