import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'

test('a stop that arrives three times at once, as systemd, npm and tools/run.mjs send it, is drained to its end', async (t) => {
  const child = await start(t, { drainMs: 2_000 })
  const beganAt = performance.now()
  for (let i = 0; i < 3; i++) {
    child.kill('SIGTERM')
    await sleep(100)
  }
  assert.equal(await exitCodeOf(child), 0)
  assert.ok(performance.now() - beganAt >= 1_900)
})

test('a stop that is asked for again later ends the drain', async (t) => {
  const child = await start(t, { drainMs: 60_000 })
  child.kill('SIGTERM')
  await sleep(1_500)
  assert.equal(child.exitCode, null)
  child.kill('SIGTERM')
  assert.equal(await exitCodeOf(child), 0)
})

test('Ctrl-C waits for no drain', async (t) => {
  const child = await start(t, { drainMs: 60_000 })
  child.kill('SIGINT')
  assert.equal(await exitCodeOf(child), 0)
})

/** A service in a process of its own, that works on for so long when it is asked to stop. */
async function start(t: TestContext, { drainMs }: { drainMs: number }): Promise<ChildProcess> {
  const module = new URL('../../src/run/run-process.ts', import.meta.url)
  const code = `
    import { runProcess } from '${module}'
    const drain = () => new Promise((done) => setTimeout(done, ${drainMs}))
    setTimeout(() => console.log('runs'), 200)
    setInterval(() => {}, 1_000)
    await runProcess('test', async () => ({ drain, close: async () => {} }))`
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
