import { TallystickError, UsageError } from '../errors.ts'

/** Number of retries after a failure, and their delays. */
export type RetryPolicy = {
  /**
   * Maximum number of retries. With 0 there is no retry. With Infinity, retries continue until the call succeeds or
   * fails with an error that is not retryable.
   */
  readonly retriesMax: number
  /** Delay in ms before the first retry. It doubles with each further retry, up to `delayMsMax`. */
  readonly delayMsMin: number
  readonly delayMsMax: number
}

export const RETRIES_DEFAULT: RetryPolicy = { retriesMax: 5, delayMsMin: 100, delayMsMax: 5_000 }

/**
 * Maximum wait in ms that a server may demand by Retry-After. If the server asks for a longer wait, there is no retry,
 * because the caller should get the error instead of waiting.
 */
const RETRY_AFTER_MS_MAX = 60_000

/**
 * Fills in the defaults. Throws UsageError for an invalid policy, because with NaN as `retriesMax` retries would
 * never end.
 */
export function parseRetryPolicy(policy: Partial<RetryPolicy> = {}): RetryPolicy {
  const {
    retriesMax = RETRIES_DEFAULT.retriesMax,
    delayMsMin = RETRIES_DEFAULT.delayMsMin,
    delayMsMax = RETRIES_DEFAULT.delayMsMax,
  } = policy
  if (!(retriesMax >= 0)) throw new UsageError('`retriesMax` must be a number, 0 or more')
  if (!(delayMsMin >= 0 && delayMsMax >= delayMsMin && delayMsMax < 2 ** 31))
    throw new UsageError(
      '`delayMsMin` and `delayMsMax` must be numbers of milliseconds, and `delayMsMin` must be at most `delayMsMax`',
    )
  return { retriesMax, delayMsMin, delayMsMax }
}

/**
 * Runs `attempt` until it succeeds. Throws the error of `attempt` if the error is final or not retryable, or if no
 * retries are left.
 */
export async function withRetries<T>(
  policy: RetryPolicy,
  signal: AbortSignal | undefined,
  attempt: () => Promise<T>,
  isFinal: (error: unknown) => boolean = () => false,
): Promise<T> {
  const retries = new Retries(policy, signal)
  for (;;) {
    try {
      return await attempt()
    } catch (error) {
      if (isFinal(error)) throw error
      await retries.before(error)
    }
  }
}

/** Counts consecutive failures. */
export class Retries {
  readonly #policy: RetryPolicy
  readonly #signal: AbortSignal | undefined
  #count = 0

  constructor(policy: RetryPolicy, signal: AbortSignal | undefined) {
    this.#policy = policy
    this.#signal = signal
  }

  /** Call it after progress. The next failure then counts as the first. */
  reset(): void {
    this.#count = 0
  }

  /** Waits before the next retry. Throws `error` if the error allows no retry, or if no retries are left. */
  async before(error: unknown): Promise<void> {
    if (!(error instanceof TallystickError) || !error.retryable || this.#count >= this.#policy.retriesMax)
      throw error
    const delayMs = retryDelayMs(this.#policy, this.#count, error)
    if (delayMs === null) throw error
    this.#count++
    await sleep(delayMs, this.#signal)
  }
}

/**
 * Returns the delay before a retry. Half of the delay is fixed and half random, so that clients that were refused
 * together do not return together. The delay is at least as long as the server asked. Returns null if the server asks
 * for more than RETRY_AFTER_MS_MAX.
 */
export function retryDelayMs(
  { delayMsMin, delayMsMax }: Pick<RetryPolicy, 'delayMsMin' | 'delayMsMax'>,
  retries: number,
  error: unknown,
  random: () => number = Math.random,
): number | null {
  const asked = error instanceof TallystickError ? (error.retryAfterMs ?? 0) : 0
  if (asked > RETRY_AFTER_MS_MAX) return null
  const delayMs = Math.min(delayMsMax, delayMsMin * 2 ** retries)
  return Math.max(asked, delayMs / 2) + (random() * delayMs) / 2
}

/** Resolves after `delayMs`. Rejects with the signal's reason when it aborts. */
export function sleep(delayMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason)
    const stop = () => {
      clearTimeout(timer)
      reject(signal!.reason)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop)
      resolve()
    }, delayMs)
    signal?.addEventListener('abort', stop, { once: true })
  })
}
