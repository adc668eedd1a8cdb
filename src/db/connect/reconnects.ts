import { RECONNECT_PAUSE_MS_MAX, RECONNECT_PAUSE_MS_MIN } from '../limits.ts'

/**
 * Bounds how often a database that is away is asked for a connection. Every request needs one, and Postgres forks a process for each
 * that it turns away while it recovers: in an outage of 30 s two servers and two workers made 3,125 attempts, 2,641 of them because 28
 * clients asked the servers again and again.
 *
 * After a failure there is one attempt at a time, after pauses that double. Until one succeeds, whoever else wants a connection hears at
 * once why there is none.
 */
export class Reconnects {
  readonly #now: () => number
  readonly #random: () => number
  #failures = 0
  #error: Error | null = null
  #retryAtMs = 0
  #isTrying = false

  constructor(now = () => performance.now(), random = Math.random) {
    this.#now = now
    this.#random = random
  }

  /** Does `connect`, or throws what the last attempt threw. `counts`: whether an error says that the database is away. */
  async attempt<T>(connect: () => Promise<T>, counts: (error: Error) => boolean): Promise<T> {
    const failures = this.#failures
    const isProbe = failures > 0
    if (isProbe && (this.#isTrying || this.#now() < this.#retryAtMs)) throw this.#error!
    this.#isTrying ||= isProbe
    try {
      const connected = await connect()
      this.#failures = 0
      return connected
    } catch (error) {
      // Several may be under way when the database goes: the first that fails counts.
      if (counts(error as Error) && this.#failures === failures) this.#pause(error as Error)
      throw error
    } finally {
      if (isProbe) this.#isTrying = false
    }
  }

  /** Jittered by half, so that many processes do not come back at the same moment. */
  #pause(error: Error): void {
    const pauseMs = Math.min(
      RECONNECT_PAUSE_MS_MAX,
      RECONNECT_PAUSE_MS_MIN * 2 ** Math.min(this.#failures, 10),
    )
    this.#failures++
    this.#error = error
    this.#retryAtMs = this.#now() + pauseMs * (0.5 + this.#random() / 2)
  }
}
