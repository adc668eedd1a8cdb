/** Maximum delay of a timer. A timer with a longer delay would fire at once. */
export const TIMER_MS_MAX: number = 2 ** 31 - 1

/**
 * Aborts an attempt when the caller's signal aborts, or when nothing arrived for `timeoutMs`. If the signal is already
 * aborted, the constructor throws its reason.
 *
 * Always call `end` or `giveUp`. Until then a listener stays on the caller's signal, and the timer keeps the process
 * alive.
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

  /** Restarts the timeout. */
  begin(): void {
    clearTimeout(this.#timer)
    if (this.timeoutMs > TIMER_MS_MAX) return
    this.#timer = setTimeout(() => {
      this.#timedOut = true
      this.#stop()
    }, this.timeoutMs)
  }

  /** Stops the timeout while no answer is expected. */
  pause(): void {
    clearTimeout(this.#timer)
  }

  /** Stops the timeout and removes the listener, because the answer is complete. */
  end(): void {
    clearTimeout(this.#timer)
    this.#caller?.removeEventListener('abort', this.#stop)
  }

  /**
   * Does the same as `end`, and aborts the request. Needed if nobody reads the rest of the answer, which may be
   * endless.
   */
  giveUp(): void {
    this.end()
    this.#stop()
  }

  readonly #stop = (): void => this.#controller.abort(this.#caller?.reason)

  throwIfCallerStopped(): void {
    this.#caller?.throwIfAborted()
  }
}
