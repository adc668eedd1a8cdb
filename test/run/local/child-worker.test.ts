import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { type ChildWorker, startChildWorker, workerThreads } from '../../../src/run/local/child-worker.ts'
import { until } from '../../helpers/wait.ts'
import { runs } from '../postgres/holder.ts'

const SCRIPT = new URL('./stub-worker.ts', import.meta.url)
const MASTER_KEY = new Uint8Array(32).fill(7)
const SETTINGS = {
  dataDir: '/somewhere',
  workerUrl: 'postgres://tallystick_worker:secret@127.0.0.1/tallystick',
  masterKey: MASTER_KEY,
  previousMasterKey: null,
  threads: 1,
  isPasswordInUrl: true,
}

test('keys and passwords reach the worker by message, not by command line or environment', async (t) => {
  const secrets = {
    DATABASE_URL: 'postgres://owner:secret@127.0.0.1/',
    TALLYSTICK_API_DATABASE_URL: 'postgres://api:secret@127.0.0.1/',
    TALLYSTICK_WORKER_DATABASE_URL: SETTINGS.workerUrl,
    TALLYSTICK_MASTER_KEY: 'secret',
    TALLYSTICK_MASTER_KEY_PREVIOUS_FILE: '/secret',
    TALLYSTICK_OPERATOR_KEY: 'secret',
    TALLYSTICK_OPERATOR_KEY_PREVIOUS: 'secret',
  }
  const { worker } = await start(t, { env: { ...secrets, TALLYSTICK_LOG_LEVEL: 'warn' } })
  const { argv, env, settings } = await look(worker)
  assert.deepEqual(argv, [])
  assert.deepEqual(
    env.filter((name) => /TALLYSTICK|DATABASE/.test(name)),
    ['TALLYSTICK_LOG_LEVEL'],
  )
  assert.deepEqual(settings, JSON.parse(JSON.stringify(SETTINGS)))
})

test('start fails with the message of the worker that could not start', async (t) => {
  await assert.rejects(start(t, { settings: { ...SETTINGS, dataDir: '/nowhere' } }), {
    message: 'there is no data',
  })
})

test('a worker that ends by itself is restarted, after longer and longer pauses', async (t) => {
  const { worker, said } = await start(t, { pauseMsMin: 50 })
  const pids = [(await look(worker)).pid]
  for (let times = 0; times < 3; times++) {
    process.kill(pids.at(-1)!, 'SIGKILL')
    await until(() => !runs(pids.at(-1)!))
    assert.equal(await worker.metrics(), '')
    await until(async () => (await worker.metrics()) !== '')
    pids.push((await look(worker)).pid)
  }
  assert.equal(new Set(pids).size, 4)
  const ends = said.filter(({ why }) => why !== undefined)
  assert.deepEqual(
    ends,
    [50, 100, 200].map((pauseMs) => ({ why: 'the worker ended with SIGKILL', pauseMs })),
  )
  await until(() => said.filter(({ pid }) => pids.includes(pid!)).length === 3)
})

test('stop waits for the worker’s current round', async (t) => {
  const { worker } = await start(t, { env: { STUB_ROUND_MS: '300' } })
  const { pid } = await look(worker)
  const beganAt = performance.now()
  await worker.close()
  assert.ok(performance.now() - beganAt >= 290)
  assert.equal(runs(pid), false)
})

test('a stop during the pause before a restart prevents the restart', async (t) => {
  const { worker, said } = await start(t, { pauseMsMin: 60_000 })
  process.kill((await look(worker)).pid, 'SIGKILL')
  await until(() => said.length > 0)
  await worker.close()
  assert.equal(await worker.metrics(), '')
  assert.equal(said.length, 1)
})

test('the worker gets half of the threads, at least one', () => {
  assert.deepEqual([1, 2, 3, 8].map(workerThreads), [1, 1, 1, 4])
  assert.ok(workerThreads(null) >= 1)
})

type Said = { why?: string; pid?: number; pauseMs?: number }

async function start(t: TestContext, options: Partial<Parameters<typeof startChildWorker>[0]> = {}) {
  const said: Said[] = []
  const log = { error: (details: Said) => said.push(details), info: (details: Said) => said.push(details) }
  const worker = await startChildWorker({
    settings: SETTINGS,
    script: SCRIPT,
    log,
    ...options,
    env: { ...options.env, PATH: process.env['PATH'] },
  })
  t.after(() => worker.close())
  return { worker, said }
}

type Seen = { pid: number; argv: string[]; env: string[]; settings: object }

async function look(worker: ChildWorker): Promise<Seen> {
  return JSON.parse(await worker.metrics())
}
