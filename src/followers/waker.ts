/** Ends the pause of a loop that waits for the next round; woken meanwhile, it does not pause at all. */
export class Waker {
  #isAwake = false
  #end: () => void = () => {}

  wake(): void {
    this.#isAwake = true
    this.#end()
  }

  /** Until it is woken, `msMax` have passed, or `signal` aborts. */
  async pause(msMax: number, signal: AbortSignal): Promise<void> {
    if (!this.#isAwake && msMax > 0 && !signal.aborted) {
      await new Promise<void>((resolve) => {
        const end = () => {
          clearTimeout(timer)
          signal.removeEventListener('abort', end)
          resolve()
        }
        const timer = setTimeout(end, msMax)
        signal.addEventListener('abort', end)
        this.#end = end
      })
    }
    this.#isAwake = false
  }
}
