import { readdirSync } from 'node:fs'
import { constants, getPriority, setPriority } from 'node:os'
import { Metrics } from '../../observe/metrics/metrics.ts'
import { type Config, parseConfig } from '../config.ts'
import { WORKER_NICENESS } from '../limits.ts'
import type { Service } from '../run-process.ts'
import { startWorker } from '../worker.ts'
import { openLocalLog } from './log.ts'
import type { FromWorker, ToWorker, WorkerSettings } from './worker-messages.ts'

/*
 * The worker's process under `npm start` (worker-apart.ts starts it). It does what its parent tells it, and ends with its parent,
 * however that ended: the kernel closes the channel.
 */
const NICENESS_MAX = constants.priority.PRIORITY_LOW

if (!process.send) {
  console.error('tallystick: `npm start` starts this; a worker by itself is src/run/worker.ts')
  process.exit(2)
}
// At once, as the parent did: what was begun is found again by the next worker, as after any crash.
process.once('disconnect', () => process.exit(1))
// It may have ended while our modules were loaded.
if (!process.connected) process.exit(1)
// Ctrl-C and systemd signal the whole group. The parent says when it is our turn: when the server takes nothing more.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {})
lowerPriority()

const metrics = new Metrics()
let starting: Promise<Service> | null = null
process.on('message', (message: ToWorker) => {
  if (message.type === 'start') void start(message.settings)
  else if (message.type === 'metrics') void tellMetrics()
  else void stop()
})

async function start(settings: WorkerSettings): Promise<void> {
  try {
    starting = startService(settings)
    await starting
    tell({ type: 'ready' })
  } catch (error) {
    await tell({ type: 'failed', message: (error as Error).message })
    process.exit(1)
  }
}

async function startService({ isPasswordInUrl, ...settings }: WorkerSettings): Promise<Service> {
  const given = parseConfig(process.env)
  const database = isPasswordInUrl ? { ...given.database, password: null } : given.database
  const config: Config = { ...given, ...settings, database }
  if (config.metricsPort !== null) metrics.watchProcess('worker')
  return startWorker(config, metrics, await openLocalLog(config.logLevel))
}

async function tellMetrics(): Promise<void> {
  tell({ type: 'metrics', text: await metrics.registry.metrics() })
}

async function stop(): Promise<void> {
  try {
    const service = await starting
    await service?.close()
    process.exit(0)
  } catch (error) {
    console.error(`tallystick: while the worker stopped: ${(error as Error).message}`)
    process.exit(1)
  }
}

/** Resolves when it is written; a parent that is gone ends us anyway. */
function tell(message: FromWorker): Promise<void> {
  return new Promise((done) => process.send!(message, () => done()))
}

/**
 * Yields to the server and to Postgres where cores are short, and takes all of them where nobody else wants them. On Linux a priority is a
 * thread's: those that Node has started already (V8's, which collect garbage and compile) get it one by one, later ones inherit it.
 * A system that refuses leaves us where we are.
 */
function lowerPriority(): void {
  for (const thread of threadsOfOurs()) {
    try {
      setPriority(thread, Math.min(NICENESS_MAX, getPriority(thread) + WORKER_NICENESS))
    } catch {
      // Background work at the server's priority is what there was before.
    }
  }
}

/** 0 stands for this process. */
function threadsOfOurs(): number[] {
  try {
    return readdirSync('/proc/self/task').map(Number)
  } catch {
    return [0]
  }
}
