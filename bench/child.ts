import { fork } from 'node:child_process'

/** Messages of a job to its parent: the edges of the measured window. */
export type WindowEdge = 'measure' | 'measured'
export type WindowEvents = { onEdge?: (edge: WindowEdge, pid: number) => void }

type FromChild<Result> =
  | { readonly kind: 'edge'; readonly edge: WindowEdge }
  | { readonly kind: 'result'; readonly result: Result }
  | { readonly kind: 'failed'; readonly message: string }

/**
 * Runs the job that `module` serves in a process of its own: a generator that shares the server's event loop
 * measures itself. Killed after `timeoutMs`; throws what the job threw.
 */
export async function runJob<Plan extends object, Result>(
  module: string,
  plan: Plan,
  timeoutMs: number,
  events: WindowEvents = {},
): Promise<Result> {
  const child = fork(new URL(module), [], { execArgv: [], env: { ...process.env, BENCH_JOB: module } })
  const timer = setTimeout(() => child.kill('SIGKILL'), timeoutMs)
  const { promise, resolve, reject } = Promise.withResolvers<Result>()
  child.on('message', (message: FromChild<Result>) => {
    if (message.kind === 'edge') events.onEdge?.(message.edge, child.pid!)
    else if (message.kind === 'failed') reject(new Error(message.message))
    else resolve(message.result)
  })
  child.on('error', reject)
  child.on('exit', (code, signal) => reject(new Error(`${module} ended early (${signal ?? code})`)))
  child.send(plan)
  return promise.finally(() => {
    clearTimeout(timer)
    child.kill()
  })
}

/** Called at the end of a module that `runJob` starts; does nothing where the module is only imported. */
export function serveJob<Plan, Result>(
  module: string,
  job: (plan: Plan, onEdge: (edge: WindowEdge) => void) => Promise<Result>,
): void {
  if (process.env['BENCH_JOB'] !== module || !process.send) return
  const send = (message: FromChild<Result>) => process.send!(message)
  process.once('disconnect', () => process.exit(1))
  process.once('message', (plan: Plan) => {
    job(plan, (edge) => send({ kind: 'edge', edge }))
      .then((result) => send({ kind: 'result', result }))
      .catch((error: Error) => send({ kind: 'failed', message: error.message }))
  })
}
