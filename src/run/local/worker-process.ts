import { watchLog } from '../../observe/metrics/log.ts'
import { Metrics } from '../../observe/metrics/metrics.ts'
import { writeLine } from '../../observe/standard-output.ts'
import { type Config, parseConfig } from '../config.ts'
import { connectDirectly } from '../connect-directly.ts'
import { lowerPriority } from '../lower-priority.ts'
import type { Service } from '../run-process.ts'
import { startWorker } from '../worker.ts'
import { openLocalLog } from './log.ts'
import type { FromWorker, ToWorker, WorkerSettings } from './worker-messages.ts'

/*
 * Main module of the worker's process under `npm start`, which child-worker.ts starts. The process follows messages of
 * its parent. It also ends when the parent ends for any reason, because the kernel then closes the channel.
 */
if (!process.send) {
  writeLine('tallystick: only `npm start` runs this; to run a worker alone, use `npm run op -- worker`')
  process.exit(2)
}
// The process ends at once, like its parent. The next worker continues unfinished work, as after any crash.
process.once('disconnect', () => process.exit(1))
// The parent may have ended while our modules were loaded.
if (!process.connected) process.exit(1)
// Signals are ignored, because Ctrl-C and systemd send signals to the whole group. The parent sends a message when the
// worker should stop: after the server has stopped accepting requests.
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
    writeLine(`tallystick: while the worker stopped: ${(error as Error).message}`)
    process.exit(1)
  }
}

/**
 * Sends a message to the parent. Resolves when the message is written. A failure is ignored: if the parent has ended,
 * this process ends anyway.
 */
function tell(message: FromWorker): Promise<void> {
  return new Promise((done) => process.send!(message, () => done()))
}
