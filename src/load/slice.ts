import { setImmediate as nextTurn } from 'node:timers/promises'
import { TURN_MS_MAX } from './limits.ts'

/**
 * One slice of the event loop: work that goes on for TURN_MS_MAX before others run. Measured by time, because senders choose how long a
 * thousand items take: 10 ms or a second.
 */
export class Slice {
  #beganAtMs = performance.now()

  get isOver(): boolean {
    return performance.now() - this.#beganAtMs > TURN_MS_MAX
  }

  async next(): Promise<void> {
    await nextTurn()
    this.#beganAtMs = performance.now()
  }
}

/**
 * Slices for long work, such as exports: however many of them run, one does a piece of work in each iteration of the event loop. Without
 * this a stream whose client takes everything at once never lets go, because nothing that it waits for is an event.
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
