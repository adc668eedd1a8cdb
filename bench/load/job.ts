import { fork } from 'node:child_process'

/** Messages from a job to its parent: start and end of the measured window. */
export type WindowEdge = 'measure' | 'measured'
export type WindowEvents = { onEdge?: (edge: WindowEdge, pid: number) => void }

export type Times = {
  /** Duration of the warm-up in ms. Answers of the warm-up count as acknowledged but are not measured. */
  readonly warmUpMs: number
  readonly durationMs: number
  /** Maximum time in ms to wait, after the window, for requests without an answer. */
  readonly drainMsMax: number
}

type Work<Plan, Result> = (plan: Plan, onEdge: (edge: WindowEdge) => void) => Promise<Result>

type FromChild<Result> =
  | { readonly kind: 'edge'; readonly edge: WindowEdge }
  | { readonly kind: 'result'; readonly result: Result }
  | { readonly kind: 'failed'; readonly message: string }

/** Grace period in ms. A process that runs longer than planned by this time is killed. */
const GRACE_MS = 15_000

/**
 * Returns a function that runs `work` in a separate process. In the event loop of a server, a load generator would
 * measure itself. `url`: `import.meta.url` of the calling module, which the new process imports. The function throws
 * what `work` threw.
 */
export function makeJob<Plan extends Times, Result>(
  url: string,
  work: Work<Plan, Result>,
): (plan: Plan, events?: WindowEvents) => Promise<Result> {
  if (process.env['BENCH_JOB'] === url && process.send) serve(work)
  return (plan, events = {}) => run(url, plan, events)
}

function run<Plan extends Times, Result>(url: string, plan: Plan, events: WindowEvents): Promise<Result> {
  const child = fork(new URL(url), [], { execArgv: [], env: { ...process.env, BENCH_JOB: url } })
  const msMax = plan.warmUpMs + plan.durationMs + plan.drainMsMax + GRACE_MS
  const timer = setTimeout(() => child.kill('SIGKILL'), msMax)
  const { promise, resolve, reject } = Promise.withResolvers<Result>()
  child.on('message', (message: FromChild<Result>) => {
    if (message.kind === 'edge') events.onEdge?.(message.edge, child.pid!)
    else if (message.kind === 'failed') reject(new Error(message.message))
    else resolve(message.result)
  })
  child.on('error', reject)
  child.on('exit', (code, signal) => reject(new Error(`${url} ended early (${signal ?? code})`)))
  child.send(plan)
  return promise.finally(() => {
    clearTimeout(timer)
    child.kill()
  })
}

function serve<Plan, Result>(work: Work<Plan, Result>): void {
  const send = (message: FromChild<Result>) => process.send!(message)
  process.once('disconnect', () => process.exit(1))
  process.once('message', (plan: Plan) => {
    work(plan, (edge) => send({ kind: 'edge', edge }))
      .then((result) => send({ kind: 'result', result }))
      .catch((error: Error) => send({ kind: 'failed', message: error.message }))
  })
}
