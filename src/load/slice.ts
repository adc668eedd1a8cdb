import { setImmediate as nextTurn } from 'node:timers/promises'
import { SLICE_MS_MAX } from './limits.ts'

/**
 * A slice of the event loop. Work may run for SLICE_MS_MAX before other work runs. A slice is measured by time and not
 * by a number of items, because clients decide whether a thousand items take 10 ms or a second.
 */
export class Slice {
  #beganAtMs = performance.now()

  get isOver(): boolean {
    return performance.now() - this.#beganAtMs > SLICE_MS_MAX
  }

  async next(): Promise<void> {
    await nextTurn()
    this.#beganAtMs = performance.now()
  }
}

/**
 * Slices for long work, such as exports. If many exports run, only one of them works in each iteration of the event
 * loop. Without this class, a stream whose client reads fast enough never waits for an event, and would block all other
 * streams.
 */
export class Slices {
  readonly #waiting: (() => void)[] = []

  next(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve)
      if (this.#waiting.length === 1) setImmediate(this.#give)
    })
  }

  readonly #give = (): void => {
    this.#waiting.shift()!()
    if (this.#waiting.length > 0) setImmediate(this.#give)
  }
}
