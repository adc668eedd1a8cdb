import {
  WEBHOOK_BREAKER_FAILURES,
  WEBHOOK_BREAKER_PAUSE_MS_MAX,
  WEBHOOK_BREAKER_PAUSE_MS_MIN,
  WEBHOOK_BREAKER_REFUSALS,
  WEBHOOK_RETRY_AFTER_MS_MAX,
  WEBHOOK_RETRY_DELAYS_MS,
  WEBHOOK_RETRY_JITTER,
} from './limits.ts'

/** Returns the delay in ms after the `tries`-th failed attempt. Returns null if the delivery must be given up. */
export function retryDelayMs(tries: number, random = Math.random): number | null {
  const delayMs = WEBHOOK_RETRY_DELAYS_MS[tries - 1]
  return delayMs === undefined ? null : jittered(delayMs, random)
}

/**
 * Returns the pause in ms for an unavailable endpoint after this many failures in a row. Returns 0 if no pause is
 * needed.
 */
export function breakerPauseMs(failures: number, random = Math.random): number {
  const beyond = failures - WEBHOOK_BREAKER_FAILURES
  if (beyond < 0) return 0
  const pauseMs = WEBHOOK_BREAKER_PAUSE_MS_MIN * 2 ** Math.min(beyond, 20)
  return jittered(Math.min(pauseMs, WEBHOOK_BREAKER_PAUSE_MS_MAX), random)
}

/**
 * Returns the pause in ms for an endpoint that answers, but has refused this many events in a row. Returns 0 if no
 * pause is needed.
 */
export function refusalPauseMs(failures: number, random = Math.random): number {
  return failures < WEBHOOK_BREAKER_REFUSALS ? 0 : jittered(WEBHOOK_BREAKER_PAUSE_MS_MIN, random)
}

export function retryAfterMs(askedMs: number | null): number {
  return Math.min(askedMs ?? 0, WEBHOOK_RETRY_AFTER_MS_MAX)
}

/** Returns a random delay near `ms`, so that requests that failed together are not retried together. */
function jittered(ms: number, random: () => number): number {
  return ms * (1 + WEBHOOK_RETRY_JITTER * (2 * random() - 1))
}
