import { type Action, type Outcome, outcomeOfThrown } from '@tallystick/sdk/actions'

/** Runs that never end must not fill the memory. */
const RUNS_MAX = 10_000

/** Runs that are under way, by their ids. The oldest are forgotten first. */
export class Runs<Run> {
  readonly #runs = new Map<string, Run>()

  find(id: string | undefined): Run | undefined {
    return id === undefined ? undefined : this.#runs.get(id)
  }

  add(id: string, run: Run): void {
    this.#runs.set(id, run)
    for (const oldest of this.#runs.keys()) {
      if (this.#runs.size <= RUNS_MAX) break
      this.#runs.delete(oldest)
    }
  }

  take(id: string | undefined): Run | undefined {
    const run = this.find(id)
    if (id !== undefined) this.#runs.delete(id)
    return run
  }
}

/** Whether it was thrown to ask somebody: the tool is called again with the answer. */
export function isInterrupt(error: unknown): boolean {
  return error instanceof Error && /^(GraphInterrupt|NodeInterrupt)$/.test(error.name)
}

/** Records how an action ended by a throw. */
export function endThrown(action: Action | undefined, error: unknown): void {
  if (isInterrupt(error)) action?.decide({ decision: 'escalate', by: { kind: 'unknown' } })
  action?.end(outcomeOfThrow(error))
}

/** Whether an error is the library's error for an aborted call, whatever the reason of the signal is. */
function isAbort(error: unknown): boolean {
  return error instanceof Error && /^Abort(ed)?$/.test(error.message)
}

/** `signal`: of what threw. Who stops waiting throws its reason, which may be an error of any type. */
export function outcomeOfThrow(error: unknown, signal?: AbortSignal): Outcome {
  const isStopped = signal?.aborted === true && error === signal.reason
  return isStopped || isInterrupt(error) || isAbort(error)
    ? { status: 'unknown', error }
    : outcomeOfThrown(error)
}
