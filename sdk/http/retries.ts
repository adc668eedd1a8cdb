import { ApiError, TallystickError } from '../errors.ts'

/** How often, and how patiently, what failed is tried again. */
export type RetryPolicy = {
  /** 0: never again. */
  readonly retriesMax: number
  /** Before the first retry; doubled before each further one. */
  readonly delayMsMin: number
  readonly delayMsMax: number
}

export const RETRIES_DEFAULT: RetryPolicy = { retriesMax: 5, delayMsMin: 100, delayMsMax: 5_000 }

/** A server that asks for a longer wait than this gets no retry: the caller should know, not sleep. */
const RETRY_AFTER_MS_MAX = 60_000

/** Runs `attempt` until it succeeds, fails for good, or was tried often enough; then the last error is thrown. */
export async function withRetries<T>(
  { retriesMax, ...delays }: RetryPolicy,
  signal: AbortSignal | undefined,
  attempt: () => Promise<T>,
): Promise<T> {
  for (let retries = 0; ; retries++) {
    try {
      return await attempt()
    } catch (error) {
      if (!(error instanceof TallystickError) || !error.retryable || retries >= retriesMax) throw error
      const delayMs = retryDelayMs(delays, retries, error)
      if (delayMs === null) throw error
      await sleep(delayMs, signal)
    }
  }
}

/**
 * Half fixed, half random: many clients that were refused together do not come back together. What the server asks for is
 * the least. null: it asks for more than anybody waits for.
 */
export function retryDelayMs(
  { delayMsMin, delayMsMax }: Pick<RetryPolicy, 'delayMsMin' | 'delayMsMax'>,
  retries: number,
  error: unknown,
  random: () => number = Math.random,
): number | null {
  const asked = error instanceof ApiError ? (error.retryAfterMs ?? 0) : 0
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
