/** A timer takes no more, and one for longer would go off at once. */
export const TIMER_MS_MAX: number = 2 ** 31 - 1

/**
 * Stops an attempt: when its caller says so, or when nothing has come for `timeoutMs`. Throws the caller's reason where that has
 * been said already. Its maker ends it: until then the caller's signal knows it, and a process waits for its timer.
 */
export class Patience {
  readonly timeoutMs: number
  readonly #caller: AbortSignal | undefined
  readonly #controller = new AbortController()
  #timer: ReturnType<typeof setTimeout> | undefined
  #timedOut = false

  constructor(timeoutMs: number, caller: AbortSignal | undefined) {
    caller?.throwIfAborted()
    this.timeoutMs = timeoutMs
    this.#caller = caller
    caller?.addEventListener('abort', this.#stop)
    this.begin()
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  get timedOut(): boolean {
    return this.#timedOut
  }

  /** Waits for `timeoutMs` from now on. */
  begin(): void {
    clearTimeout(this.#timer)
    if (this.timeoutMs > TIMER_MS_MAX) return
    this.#timer = setTimeout(() => {
      this.#timedOut = true
      this.#stop()
    }, this.timeoutMs)
  }

  /** Nothing is waited for. */
  pause(): void {
    clearTimeout(this.#timer)
  }

  /** All has come. */
  end(): void {
    clearTimeout(this.#timer)
    this.#caller?.removeEventListener('abort', this.#stop)
  }

  /** Ends it, and drops the rest of the answer, which may have no end, or no reader. */
  giveUp(): void {
    this.end()
    this.#stop()
  }

  readonly #stop = (): void => this.#controller.abort(this.#caller?.reason)

  throwIfCallerStopped(): void {
    this.#caller?.throwIfAborted()
  }
}
