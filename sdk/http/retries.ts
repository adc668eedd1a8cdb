import { TallystickError, UsageError } from '../errors.ts'

/** How often, and how patiently, what failed is tried again. */
export type RetryPolicy = {
  /** 0: never again. Infinity: until it succeeds, or fails for good. */
  readonly retriesMax: number
  /** Before the first retry; doubled before each further one. */
  readonly delayMsMin: number
  readonly delayMsMax: number
}

export const RETRIES_DEFAULT: RetryPolicy = { retriesMax: 5, delayMsMin: 100, delayMsMax: 5_000 }

/** A server that asks for a longer wait than this gets no retry: the caller should know, not sleep. */
const RETRY_AFTER_MS_MAX = 60_000

/** Throws UsageError for a policy that means nothing: with a retriesMax that is no number it would never end. */
export function parseRetryPolicy(policy: Partial<RetryPolicy> = {}): RetryPolicy {
  const {
    retriesMax = RETRIES_DEFAULT.retriesMax,
    delayMsMin = RETRIES_DEFAULT.delayMsMin,
    delayMsMax = RETRIES_DEFAULT.delayMsMax,
  } = policy
  if (!(retriesMax >= 0)) throw new UsageError('retriesMax is a number from 0 on')
  if (!(delayMsMin >= 0 && delayMsMax >= delayMsMin && delayMsMax < 2 ** 31))
    throw new UsageError('delayMsMin and delayMsMax are milliseconds, and delayMsMin is not the larger one')
  return { retriesMax, delayMsMin, delayMsMax }
}

/** Runs `attempt` until it succeeds, fails for good, or was tried often enough; then the last error is thrown. */
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

/** Counts how often something failed in a row. */
export class Retries {
  readonly #policy: RetryPolicy
  readonly #signal: AbortSignal | undefined
  #count = 0

  constructor(policy: RetryPolicy, signal: AbortSignal | undefined) {
    this.#policy = policy
    this.#signal = signal
  }

  /** Says that the call made progress: a failure from now on begins a new row. */
  reset(): void {
    this.#count = 0
  }

  /** Waits until it may be tried again after this error; throws it where it may not. */
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
 * Half fixed, half random: many clients that were refused together do not come back together. The wait is at least as
 * long as the server asks. null: the server asks for more than anybody waits for.
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

/** Rejects with the signal's reason when that is aborted. */
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
