import { type ChildProcess, fork } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  WORKER_METRICS_MS_MAX,
  WORKER_RESTART_PAUSE_MS_MAX,
  WORKER_RESTART_PAUSE_MS_MIN,
  WORKER_STEADY_MS,
  WORKER_STOP_MS_MAX,
} from '../limits.ts'
import type { FromWorker, ToWorker, WorkerSettings } from './worker-messages.ts'

type Log = { error(details: object, message: string): void; info(details: object, message: string): void }

type Options = {
  readonly settings: WorkerSettings
  readonly env: NodeJS.ProcessEnv
  readonly log: Log
  /** Tests have shorter pauses, and a worker of their own. */
  readonly pauseMsMin?: number
  readonly script?: URL
}

export type WorkerApart = {
  /** Metrics of its process; empty while there is no worker that answers. */
  metrics(): Promise<string>
  /** Returns when its rounds have ended, and it has. */
  close(): Promise<void>
}

type Child = {
  readonly process: ChildProcess
  /** Resolves when it works. */
  readonly ready: Promise<void>
  /** Resolves with the reason when it is gone, wanted or not. */
  readonly ended: Promise<string>
  send(message: ToWorker): void
  metrics(): Promise<string>
}

const SCRIPT = new URL('./worker-process.ts', import.meta.url)

/** Variables that the worker has no use for, or has by message. */
const KEPT_BACK =
  /^(DATABASE_URL|TALLYSTICK_(API|WORKER)_DATABASE_URL|TALLYSTICK_(MASTER|OPERATOR)_KEY(_PREVIOUS)?(_FILE)?)$/

/**
 * The worker of `npm start`, a process of its own at a lower priority, so that background work takes no time of requests. Returns
 * when it works; throws what it says if it can't start.
 *
 * A worker that ends by itself later is started again, after a pause that doubles up to a minute. The alternative, to end all of it, would turn a
 * fault of one follower into an outage: what the server answers with 201 is signed, chained and committed
 * without the worker, and the next worker goes on where the last one was. Where its end has a cause that stays, the log says so once a minute,
 * and the metrics of the worker are absent, for which there are alerts.
 */
export async function startWorkerApart(options: Options): Promise<WorkerApart> {
  let child = spawnWorker(options)
  const failed = child.ended.then((why) => {
    throw new Error(why)
  })
  await Promise.race([child.ready, failed])
  const stopping = new AbortController()
  const kept = keepRunning(
    child,
    () => {
      child = spawnWorker(options)
      return child
    },
    options,
    stopping.signal,
  )
  return {
    metrics: () => child.metrics(),
    async close() {
      stopping.abort()
      child.send({ type: 'stop' })
      const killed = setTimeout(() => child.process.kill('SIGKILL'), WORKER_STOP_MS_MAX)
      await kept
      clearTimeout(killed)
    },
  }
}

/** Half of the threads, because the server's take all cores, and a worker at a lower priority only gets what these leave. */
export function workerThreads(threads: number | null): number {
  return Math.max(1, Math.floor((threads ?? availableParallelism()) / 2))
}

/** Returns when the signal has come and the last child is gone. */
async function keepRunning(
  first: Child,
  spawnNext: () => Child,
  { log, pauseMsMin = WORKER_RESTART_PAUSE_MS_MIN }: Options,
  stopping: AbortSignal,
): Promise<void> {
  let child = first
  let pauseMs = pauseMsMin
  for (;;) {
    const beganAtMs = performance.now()
    const why = await child.ended
    if (stopping.aborted) return
    if (performance.now() - beganAtMs > WORKER_STEADY_MS) pauseMs = pauseMsMin
    log.error({ why, pauseMs }, 'the worker ended by itself, and is started again; the server goes on')
    await sleep(pauseMs, undefined, { signal: stopping }).catch(() => {})
    if (stopping.aborted) return
    pauseMs = Math.min(pauseMs * 2, WORKER_RESTART_PAUSE_MS_MAX)
    child = spawnNext()
    const { pid } = child.process
    void child.ready.then(() => log.info({ pid }, 'the worker works again'))
  }
}

/**
 * In our session and process group, unlike Postgres: Linux weighs the priorities of processes against each other within a session
 * (sched_autogroup), so in one of its own the worker would get as much as all of ours. It ignores the signals that
 * reach the whole group, and stops when it is told to.
 */
function spawnWorker({ script = SCRIPT, env, settings }: Options): Child {
  const child = fork(script, [], {
    env: Object.fromEntries(Object.entries(env).filter(([name]) => !KEPT_BACK.test(name))),
    serialization: 'advanced',
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  const [ready, ended] = [Promise.withResolvers<void>(), Promise.withResolvers<string>()]
  let asked: PromiseWithResolvers<string> | null = null
  let reason: string | null = null
  const answer = (text: string) => {
    asked?.resolve(text)
    asked = null
  }
  const end = (why: string) => {
    answer('')
    ended.resolve(reason ?? why)
  }
  child.on('message', (message: FromWorker) => {
    if (message.type === 'ready') ready.resolve()
    else if (message.type === 'metrics') answer(message.text)
    else reason = message.message
  })
  child.on('error', (error) => {
    if (child.pid === undefined) end(`the worker cannot be started: ${error.message}`)
  })
  child.on('exit', (code, signal) => end(`the worker ended with ${signal ?? `code ${code}`}`))
  const send = (message: ToWorker) => {
    // A child that is gone is heard of by its exit.
    if (child.connected) child.send(message, () => {})
  }
  send({ type: 'start', settings })
  return {
    process: child,
    ready: ready.promise,
    ended: ended.promise,
    send,
    metrics() {
      if (!child.connected) return Promise.resolve('')
      if (!asked) {
        asked = Promise.withResolvers()
        send({ type: 'metrics' })
      }
      return Promise.race([asked.promise, sleep(WORKER_METRICS_MS_MAX, '', { ref: false })])
    },
  }
}
