/** Ends a loop's pause early. If `wake` is called between two pauses, the next pause ends at once. */
export class Waker {
  #isAwake = false
  #end: () => void = () => {}

  wake(): void {
    this.#isAwake = true
    this.#end()
  }

  /** Returns when `wake` is called, when `msMax` have passed, or when `signal` aborts. */
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
