import { setImmediate } from 'node:timers/promises'
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
    await setImmediate()
    this.#beganAtMs = performance.now()
  }
}
