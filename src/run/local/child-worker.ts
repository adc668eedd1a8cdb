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
  /** Minimum pause before a restart. Tests set a shorter pause and another script. */
  readonly pauseMsMin?: number
  readonly script?: URL
}

export type ChildWorker = {
  /** Returns the metrics of the worker's process; empty if no worker answers. */
  metrics(): Promise<string>
  /** Stops the worker. Resolves when the worker's rounds and its process have ended. */
  close(): Promise<void>
}

type Child = {
  readonly process: ChildProcess
  readonly ready: Promise<void>
  /** Resolves with the reason when the process has ended for any cause. */
  readonly ended: Promise<string>
  send(message: ToWorker): void
  metrics(): Promise<string>
}

const SCRIPT = new URL('./worker-process.ts', import.meta.url)

/** Variables that the worker does not need, or that it gets by message. */
const OMITTED_VARIABLES =
  /^(DATABASE_URL|TALLYSTICK_(API|WORKER)_DATABASE_URL|TALLYSTICK_(MASTER|OPERATOR)_KEY(_PREVIOUS)?(_FILE)?)$/

/**
 * Runs the worker of `npm start` as a process with lower priority, so that background work takes no CPU time from
 * requests. Returns when the worker has started. Throws the worker's error if the worker cannot start.
 *
 * A worker that ends unexpectedly is restarted, after a pause that doubles up to a minute. The server keeps running,
 * because otherwise a fault of one follower would become an outage. The server needs no worker to sign, chain and
 * commit records that it answers with 201, and the next worker does the remaining work. If the cause persists, the log
 * reports it once a minute. The worker's metrics are then absent, which raises an alert.
 */
export async function startChildWorker(options: Options): Promise<ChildWorker> {
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

/**
 * Returns half of the threads. The server's threads use all cores, and a worker with lower priority gets only the
 * remaining CPU time.
 */
export function workerThreads(threads: number | null): number {
  return Math.max(1, Math.floor((threads ?? availableParallelism()) / 2))
}

/** Restarts the worker until the signal aborts. Returns when the last child has ended. */
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
    log.error({ why, pauseMs }, 'the worker ended unexpectedly and is started again; the server continues')
    await sleep(pauseMs, undefined, { signal: stopping }).catch(() => {})
    if (stopping.aborted) return
    pauseMs = Math.min(pauseMs * 2, WORKER_RESTART_PAUSE_MS_MAX)
    child = spawnNext()
    const { pid } = child.process
    void child.ready.then(() => log.info({ pid }, 'the worker runs again'))
  }
}

/**
 * Starts the child in our session and process group. Linux weighs priorities within a session (sched_autogroup). In a
 * session of its own, the worker would get as much CPU as all our other processes together. Postgres has its own
 * session. The child ignores signals to the group and stops when it gets a message.
 */
function spawnWorker({ script = SCRIPT, env, settings }: Options): Child {
  const child = fork(script, [], {
    env: Object.fromEntries(Object.entries(env).filter(([name]) => !OMITTED_VARIABLES.test(name))),
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
    // Errors are ignored. If the child has ended, its exit event reports the end.
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
