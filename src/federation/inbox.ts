import { ApiError } from '../errors.ts'
import { PEER_REQUESTS_AT_ONCE, PEER_REQUESTS_WAITING_MAX } from '../peer-limits.ts'

/** Requests of peers that append, a few at once, the others in the order in which they came; beyond a number they are refused. */
export class Inbox {
  readonly #waiting: (() => void)[] = []
  #underWay = 0

  /** Throws `overloaded`, or what `work` throws. */
  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#underWay < PEER_REQUESTS_AT_ONCE) this.#underWay++
    else await this.#wait()
    try {
      return await work()
    } finally {
      const next = this.#waiting.shift()
      if (next) next()
      else this.#underWay--
    }
  }

  get waiting(): number {
    return this.#waiting.length
  }

  #wait(): Promise<void> {
    if (this.#waiting.length >= PEER_REQUESTS_WAITING_MAX) {
      throw new ApiError('overloaded', 'too many peers send at once: nothing was done', {
        retryable: true,
        retryAfterMs: 1_000,
      })
    }
    return new Promise((resolve) => this.#waiting.push(resolve))
  }
}
