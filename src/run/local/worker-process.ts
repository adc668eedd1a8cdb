import { watchLog } from '../../observe/metrics/log.ts'
import { Metrics } from '../../observe/metrics/metrics.ts'
import { say } from '../../observe/standard-output.ts'
import { type Config, parseConfig } from '../config.ts'
import { connectDirectly } from '../connect-directly.ts'
import { lowerPriority } from '../lower-priority.ts'
import type { Service } from '../run-process.ts'
import { startWorker } from '../worker.ts'
import { openLocalLog } from './log.ts'
import type { FromWorker, ToWorker, WorkerSettings } from './worker-messages.ts'

/*
 * The worker's process under `npm start` (worker-apart.ts starts it). It does what its parent tells it, and ends with its parent,
 * however that ended: the kernel closes the channel.
 */
if (!process.send) {
  say('tallystick: `npm start` starts this; a worker by itself is `npm run op -- worker`')
  process.exit(2)
}
// At once, as the parent did: what was begun is found again by the next worker, as after any crash.
process.once('disconnect', () => process.exit(1))
// It may have ended while our modules were loaded.
if (!process.connected) process.exit(1)
// Ctrl-C and systemd signal the whole group. The parent says when it is our turn: when the server takes nothing more.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {})
lowerPriority()
connectDirectly()

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
  return startWorker(config, metrics, await openLocalLog(config.logLevel, watchLog(metrics, 'worker')))
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
    say(`tallystick: while the worker stopped: ${(error as Error).message}`)
    process.exit(1)
  }
}

/** Resolves when it is written; a parent that is gone ends us anyway. */
function tell(message: FromWorker): Promise<void> {
  return new Promise((done) => process.send!(message, () => done()))
}
