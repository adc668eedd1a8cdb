import assert from 'node:assert/strict'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { request } from 'node:http'
import { getPriority } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { WORKER_NICENESS } from '../../../src/run/limits.ts'
import { until } from '../../helpers/wait.ts'
import { parseExposition } from '../../observe/metrics/exposition.ts'
import { readReferencePage } from '../../observe/metrics/reference-page.ts'
import { ends, runs } from '../../run/postgres/holder.ts'
import {
  freePort,
  initializedDir,
  paste,
  postgresPid,
  startAllInOne,
  workersOf,
} from '../deployment/installation.ts'

/*
 * Tests the worker of `npm start`, which is a separate process (docs/ARCHITECTURE.md). The tests observe it through
 * /proc.
 */

/** Maximum wait in ms. The worker loads its modules again, which takes long on a busy machine. */
const PATIENCE_MS = 30_000
const skip = process.platform !== 'linux'

test('the worker runs at a lower priority with all its threads, and shows no secret', { skip }, async (t) => {
  const { started, worker, dataDir } = await start(t)
  const niceness = getPriority(started.process.pid!)
  const threads = readdirSync(`/proc/${worker}/task`).map(Number)
  assert.ok(threads.length > 1)
  for (const thread of threads) assert.equal(getPriority(thread), Math.min(19, niceness + WORKER_NICENESS))
  const shown = ['cmdline', 'environ'].map((file) => readFileSync(`/proc/${worker}/${file}`, 'utf8')).join()
  const logins = JSON.parse(readFileSync(join(dataDir, 'database-logins.json'), 'utf8'))
  const keys = ['master-key', 'operator-key'].map((file) => readFileSync(join(dataDir, file), 'utf8').trim())
  for (const secret of [logins.api, logins.worker, ...keys]) assert.ok(!shown.includes(secret))
})

test('the metrics of npm start include both processes', { skip }, async (t) => {
  const port = await freePort()
  await start(t, { TALLYSTICK_METRICS_PORT: port })
  const metrics = parseExposition(await (await fetch(`http://127.0.0.1:${port}/metrics`)).text())
  const documented = readReferencePage().map(({ name }) => name)
  // These metrics do not exist here, because there are no traces and no archive.
  const expected = documented.filter((name) => !/^tallystick_(trace|archive)/.test(name))
  assert.deepEqual([...metrics.keys()].sort(), expected.sort())
  const processesOf = (name: string) => metrics.get(name)!.samples.map(({ labels }) => labels['process'])
  assert.deepEqual(processesOf('process_cpu_seconds_total'), ['server', 'worker'])
  for (const [name, { samples }] of metrics)
    if (/^(process|nodejs)_/.test(name)) for (const { labels } of samples) assert.ok(labels['process'], name)
})

test('a killed worker is restarted, and records are accepted meanwhile', {
  skip,
}, async (t) => {
  const { started, worker } = await start(t)
  process.kill(worker, 'SIGKILL')
  assert.equal(await ends(worker), true)
  assert.equal((await paste(started.curl)).status, 201)
  const sizeOf = async () => {
    const response = await fetch(`${started.url}/v1/checkpoints/latest`, { headers: { authorization } })
    return response.status === 200 ? Number((await response.text()).split('\n')[1]) : 0
  }
  const authorization = `Bearer ${started.key}`
  await until(async () => (await sizeOf()) >= 4, PATIENCE_MS)
  assert.equal(workersOf(started.process.pid!).length, 1)
  assert.match(started.said(), /the worker ended with SIGKILL.*"pauseMs":1000/)
})

test('no worker remains after npm start is killed', { skip }, async (t) => {
  const { started, worker } = await start(t)
  await kill(started.process)
  assert.equal(await ends(worker), true)
})

test('no worker remains after npm start is killed while the worker starts', { skip }, async (t) => {
  const { started, worker } = await start(t)
  process.kill(worker, 'SIGKILL')
  await until(() => workersOf(started.process.pid!).some((pid) => pid !== worker), PATIENCE_MS)
  const [next] = workersOf(started.process.pid!)
  await kill(started.process)
  assert.equal(await ends(next!, PATIENCE_MS), true)
})

test('server, worker and Postgres stop in this order, also if the worker gets the signal itself', {
  skip,
}, async (t) => {
  const { started, worker, dataDir } = await start(t)
  const postgres = postgresPid(dataDir)
  const body = JSON.stringify({ type: 'generic/1', payload: {} })
  const headers = {
    authorization: `Bearer ${started.key}`,
    'content-type': 'application/json',
    'content-length': body.length,
  }
  const slow = request(`${started.url}/v1/records`, { method: 'POST', headers })
  const answered = once(slow, 'response')
  slow.write(body.slice(0, 5))
  await sleep(200)
  const ended = started.stop('SIGTERM')
  // Sends both signals to the worker itself. systemd sends SIGTERM to each process of a service, and Ctrl-C in a
  // terminal sends SIGINT to each process.
  process.kill(worker, 'SIGTERM')
  process.kill(worker, 'SIGINT')
  await until(
    () =>
      fetch(`${started.url}/livez`).then(
        () => false,
        () => true,
      ),
    PATIENCE_MS,
  )
  await sleep(300)
  assert.deepEqual([runs(worker), runs(postgres)], [true, true])
  slow.end(body.slice(5))
  assert.equal((await answered)[0].statusCode, 201)
  assert.equal(await ended, 0)
  assert.deepEqual([runs(worker), runs(postgres)], [false, false])
  // Postgres must run until the worker has ended. Otherwise the worker would log errors.
  assert.doesNotMatch(started.said(), /"level":50/)
  assert.doesNotMatch(
    readFileSync(join(dataDir, 'postgres', 'postgres.log'), 'utf8'),
    /terminating connection/,
  )
})

/** Kills a child. Resolves when its output has ended, because a worker that remained would keep the output open. */
async function kill(child: ChildProcess): Promise<void> {
  child.kill('SIGKILL')
  await once(child, 'exit')
}

async function start(t: TestContext, env: Record<string, string> = {}) {
  const dataDir = initializedDir()
  const port = await freePort()
  const started = await startAllInOne({ env: { TALLYSTICK_DATA: dataDir, TALLYSTICK_PORT: port, ...env } })
  t.after(async () => {
    if (started.process.exitCode === null && started.process.signalCode === null)
      await started.stop('SIGTERM')
  })
  const { key } = JSON.parse(readFileSync(join(dataDir, 'credentials.json'), 'utf8'))
  const [worker] = workersOf(started.process.pid!)
  assert.ok(worker, 'there is no worker')
  return { started: { ...started, key: key as string }, worker, dataDir }
}
