import type { Action } from '@tallystick/sdk/actions'

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

/** Says how an action ended by a throw. */
export function endThrown(action: Action | undefined, error: unknown): void {
  if (isInterrupt(error)) {
    action?.decide({ decision: 'escalate', by: { kind: 'unknown' } })
    action?.end({ status: 'unknown', error })
  } else action?.end({ error })
}
