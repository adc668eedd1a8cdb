import { TallystickError, UsageError } from '../errors.ts'

/** Number and delays of retries after a failure. */
export type RetryPolicy = {
  /** 0: no retry. Infinity: retry until the call succeeds, or fails with an error that is not retryable. */
  readonly retriesMax: number
  /** Delay before the first retry. It doubles with each further retry, up to `delayMsMax`. */
  readonly delayMsMin: number
  readonly delayMsMax: number
}

export const RETRIES_DEFAULT: RetryPolicy = { retriesMax: 5, delayMsMin: 100, delayMsMax: 5_000 }

/** No retry if the server asks for a longer wait: the caller should get the error, not sleep. */
const RETRY_AFTER_MS_MAX = 60_000

/** Fills in the defaults. Throws UsageError for an invalid policy: with NaN as `retriesMax` retries would never end. */
export function parseRetryPolicy(policy: Partial<RetryPolicy> = {}): RetryPolicy {
  const {
    retriesMax = RETRIES_DEFAULT.retriesMax,
    delayMsMin = RETRIES_DEFAULT.delayMsMin,
    delayMsMax = RETRIES_DEFAULT.delayMsMax,
  } = policy
  if (!(retriesMax >= 0)) throw new UsageError('retriesMax must be a number, 0 or more')
  if (!(delayMsMin >= 0 && delayMsMax >= delayMsMin && delayMsMax < 2 ** 31))
    throw new UsageError('delayMsMin and delayMsMax must be milliseconds, and delayMsMin at most delayMsMax')
  return { retriesMax, delayMsMin, delayMsMax }
}

/**
 * Runs `attempt` until it succeeds. Throws its error if that is final or not retryable, or when the retries are used
 * up.
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

/** Counts failures in a row. */
export class Retries {
  readonly #policy: RetryPolicy
  readonly #signal: AbortSignal | undefined
  #count = 0

  constructor(policy: RetryPolicy, signal: AbortSignal | undefined) {
    this.#policy = policy
    this.#signal = signal
  }

  /** Call it after progress: the next failure counts as the first. */
  reset(): void {
    this.#count = 0
  }

  /** Waits before the next retry. Throws `error` if it allows no retry, or the retries are used up. */
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
 * Returns the delay before a retry: half fixed, half random, so that clients refused together do not return together.
 * At least as long as the server asked. null: the server asks for more than RETRY_AFTER_MS_MAX.
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
