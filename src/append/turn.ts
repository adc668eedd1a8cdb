import { setImmediate as nextTurn } from 'node:timers/promises'
import { TURN_MS_MAX } from './limits.ts'

/**
 * A stretch of work on the event loop, after which others have their turn. By time, not by number: a thousand items are 10 ms or a
 * second, as their senders like.
 */
export class Turn {
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
 * Turns for work that goes on for long, such as exports: one of them has a piece of work in each turn of the event loop, however many
 * there are. Without it a stream whose client takes all at once never lets go: nothing that it waits for is an event.
 */
export class Turns {
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
