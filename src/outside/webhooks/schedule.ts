import {
  WEBHOOK_BREAKER_FAILURES,
  WEBHOOK_BREAKER_PAUSE_MS_MAX,
  WEBHOOK_BREAKER_PAUSE_MS_MIN,
  WEBHOOK_BREAKER_REFUSALS,
  WEBHOOK_RETRY_AFTER_MS_MAX,
  WEBHOOK_RETRY_DELAYS_MS,
  WEBHOOK_RETRY_JITTER,
} from './limits.ts'

/** How long after its `tries`-th attempt failed a delivery is tried again; null: it is given up. */
export function retryDelayMs(tries: number, random = Math.random): number | null {
  const delayMs = WEBHOOK_RETRY_DELAYS_MS[tries - 1]
  return delayMs === undefined ? null : jittered(delayMs, random)
}

/** How long an endpoint that is down, and failed so often in a row, is left alone; 0: not at all. */
export function breakerPauseMs(failures: number, random = Math.random): number {
  const beyond = failures - WEBHOOK_BREAKER_FAILURES
  if (beyond < 0) return 0
  const pauseMs = WEBHOOK_BREAKER_PAUSE_MS_MIN * 2 ** Math.min(beyond, 20)
  return jittered(Math.min(pauseMs, WEBHOOK_BREAKER_PAUSE_MS_MAX), random)
}

/** … and one that answers, but refused so many events in a row. */
export function refusalPauseMs(failures: number, random = Math.random): number {
  return failures < WEBHOOK_BREAKER_REFUSALS ? 0 : jittered(WEBHOOK_BREAKER_PAUSE_MS_MIN, random)
}

/** Retry-After of an endpoint, as far as it is believed. */
export function retryAfterMs(askedMs: number | null): number {
  return Math.min(askedMs ?? 0, WEBHOOK_RETRY_AFTER_MS_MAX)
}

/** So that what failed together does not come back together. */
function jittered(ms: number, random: () => number): number {
  return ms * (1 + WEBHOOK_RETRY_JITTER * (2 * random() - 1))
}
