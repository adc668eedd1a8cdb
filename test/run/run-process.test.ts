import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { temporaryDir } from '../helpers/postgres.ts'
import { makeUnreadPipe } from '../helpers/unread-pipe.ts'
import { until } from '../helpers/wait.ts'

test('three simultaneous SIGTERMs, as sent by systemd, npm and tools/run.mjs, still drain fully', async (t) => {
  const child = await start(t, { drainMs: 2_000 })
  const beganAt = performance.now()
  for (let i = 0; i < 3; i++) {
    child.kill('SIGTERM')
    await sleep(100)
  }
  assert.equal(await exitCodeOf(child), 0)
  assert.ok(performance.now() - beganAt >= 1_900)
})

test('a later second SIGTERM ends the drain', async (t) => {
  const child = await start(t, { drainMs: 60_000 })
  child.kill('SIGTERM')
  await sleep(1_500)
  assert.equal(child.exitCode, null)
  child.kill('SIGTERM')
  assert.equal(await exitCodeOf(child), 0)
})

test('Ctrl-C stops without a drain', async (t) => {
  const child = await start(t, { drainMs: 60_000 })
  child.kill('SIGINT')
  assert.equal(await exitCodeOf(child), 0)
})

/** Command lines that a user may type. `NODE` and `CODE` are variables. */
const RUN = '"$NODE" --input-type=module --eval "$CODE"'
const inTerminal = (script: string) => ['script', '-qfec', script, '/dev/null']
for (const [name, command, isIgnored] of [
  ['nohup', ['sh', '-c', `nohup ${RUN}`], true],
  ['no terminal', ['sh', '-c', `exec ${RUN}`], true],
  ['a terminal', inTerminal(`exec ${RUN}`), false],
  ['nohup in a terminal', inTerminal(`cd "$FOLDER"; nohup ${RUN}`), true],
  ['a shell in a terminal that ignores it', inTerminal(`trap '' HUP; ${RUN}; exit $?`), true],
] as const) {
  test(`SIGHUP under ${name} ${isIgnored ? 'is ignored' : 'stops in order'}`, async (t) => {
    const folder = temporaryDir()
    const env = { ...process.env, NODE: process.execPath, CODE: NAMED, FOLDER: folder, SHELL: '/bin/sh' }
    const child = spawn(command[0]!, command.slice(1), { env, stdio: ['ignore', 'pipe', 'inherit'] })
    t.after(() => child.kill('SIGKILL'))
    const read = (file: string) => readFileSync(join(folder, file), 'utf8')
    await until(() => existsSync(join(folder, 'pid')))
    const pid = Number(read('pid'))
    process.kill(pid, 'SIGHUP')
    if (isIgnored) {
      await sleep(500)
      assert.ok(!existsSync(join(folder, 'closed')))
      process.kill(pid, 'SIGTERM')
    }
    assert.equal(await exitCodeOf(child), 0)
    assert.equal(read('closed'), 'yes')
  })
}

/** A service that writes its pid into a folder. When it is closed, it writes a file. */
const NAMED = `
  import { renameSync, writeFileSync } from 'node:fs'
  import { runProcess } from '${new URL('../../src/run/run-process.ts', import.meta.url)}'
  process.chdir(process.env.FOLDER)
  setInterval(() => {}, 1_000)
  await runProcess('test', [], async () => {
    setImmediate(() => { writeFileSync('new', String(process.pid)); renameSync('new', 'pid') })
    return { close: async () => writeFileSync('closed', 'yes') }
  })`

for (const [name, isPipe] of [
  ['pipe', true],
  ['socket', false],
] as const) {
  test(`a stop exits with 0 although nobody reads the output, a ${name}`, async (t) => {
    const pipe = makeUnreadPipe()
    t.after(() => pipe.close())
    pipe.fill()
    const output = isPipe ? pipe.fd : 'pipe'
    const child = spawn(process.execPath, ['--input-type=module', '--eval', TALKING], {
      stdio: ['ignore', output, output, 'ipc'],
    })
    t.after(() => child.kill('SIGKILL'))
    await running(child)
    child.kill('SIGTERM')
    assert.equal(await exitCodeOf(child), 0)
  })
}

test('a resumed reader gets each line, or the number of dropped lines', async (t) => {
  const pipe = makeUnreadPipe()
  t.after(() => pipe.close())
  const child = spawn(process.execPath, ['--input-type=module', '--eval', TALKING], {
    stdio: ['ignore', pipe.fd, 'inherit', 'ipc'],
  })
  t.after(() => child.kill('SIGKILL'))
  await running(child)
  let text = ''
  await until(() => {
    text += pipe.read()
    return text.includes('log lines were dropped')
  })
  const lines = text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
  const told = lines.filter(({ msg }) => msg === 'x'.repeat(1_000))
  assert.ok(told.length < LINES)
  assert.equal(told.length + lines.at(-1).lines, LINES)
  child.kill('SIGTERM')
  assert.equal(await exitCodeOf(child), 0)
})

/** Waits for the child's first message. Throws if the child ends without a message. */
async function running(child: ChildProcess): Promise<void> {
  const ended = once(child, 'exit').then(([code]) => assert.fail(`it ended with ${code}`))
  await Promise.race([once(child, 'message'), ended])
}

const LINES = 20_000
const srcOf = (path: string) => new URL(`../../src/${path}`, import.meta.url)

/** A service that logs 20 MB when it starts. When it is closed, it writes more lines. */
const TALKING = `
  import { runProcess } from '${srcOf('run/run-process.ts')}'
  import { openLog } from '${srcOf('observe/log.ts')}'
  import { writeLine } from '${srcOf('observe/standard-output.ts')}'
  const log = openLog('info')
  setInterval(() => {}, 1_000)
  await runProcess('test', [], async () => {
    for (let i = 0; i < ${LINES}; i++) {
      log.info('x'.repeat(1_000))
      if (i % 100 === 0) await new Promise(setImmediate)
    }
    setImmediate(() => process.send('runs'))
    return { async close() { log.info('closes'); writeLine('a last word'); console.error('another') } }
  })`

/** Starts a service as a process that continues for `drainMs` after it is asked to stop. */
async function start(t: TestContext, { drainMs }: { drainMs: number }): Promise<ChildProcess> {
  const module = new URL('../../src/run/run-process.ts', import.meta.url)
  const code = `
    import { runProcess } from '${module}'
    const drain = () => new Promise((done) => setTimeout(done, ${drainMs}))
    setTimeout(() => console.log('runs'), 200)
    setInterval(() => {}, 1_000)
    await runProcess('test', [], async () => ({ drain, close: async () => {} }))`
  const child = spawn(process.execPath, ['--input-type=module', '--eval', code], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.after(() => child.kill('SIGKILL'))
  await once(child.stdout!, 'data')
  return child
}

async function exitCodeOf(child: ChildProcess): Promise<number | null> {
  if (child.exitCode === null) await once(child, 'exit')
  return child.exitCode
}
