import { type Action, type Outcome, outcomeOfThrown } from '@tallystick/sdk/actions'

/** Maximum number of open runs. Some runs never end. */
const RUNS_MAX = 10_000

/** Maps a run's id to the open run. Above the limit the oldest runs are removed. */
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

/** Returns whether the error asks a person for input. The tool is called again with the answer. */
export function isInterrupt(error: unknown): boolean {
  return error instanceof Error && /^(GraphInterrupt|NodeInterrupt)$/.test(error.name)
}

/** Records the outcome of an action that threw. */
export function endThrown(action: Action | undefined, error: unknown): void {
  if (isInterrupt(error)) action?.decide({ decision: 'escalate', by: { kind: 'unknown' } })
  action?.end(outcomeOfThrow(error))
}

/**
 * Returns whether the error is the library's error for an aborted call. Its text does not depend on the signal's
 * reason.
 */
function isAbort(error: unknown): boolean {
  return error instanceof Error && /^Abort(ed)?$/.test(error.message)
}

/**
 * Returns the outcome for a thrown error. `signal`: the abort signal of the call that threw. An aborted call throws the
 * signal's reason, which may be any error.
 */
export function outcomeOfThrow(error: unknown, signal?: AbortSignal): Outcome {
  const isStopped = signal?.aborted === true && error === signal.reason
  return isStopped || isInterrupt(error) || isAbort(error)
    ? { status: 'unknown', error }
    : outcomeOfThrown(error)
}
