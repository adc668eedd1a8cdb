import { performance } from 'node:perf_hooks'
import type pg from 'pg'
import { readClock } from '../../src/db/schema/preflight.ts'
import { PREFLIGHT_CLOCK_SAMPLES } from './limits.ts'

/** Another clock minus this machine's. The true value is within `errorMs` of it. */
export type ClockOffset = { readonly aheadMs: number; readonly errorMs: number }

/** `Date.now()` cuts the rest of a millisecond off. */
const TICK_MS = 1

/**
 * The database's clock was read somewhere between question and answer: the middle is off by half the round trip at most,
 * so the quickest of several says most.
 */
export async function measureClock(client: pg.ClientBase, now: () => number): Promise<ClockOffset> {
  let best: ClockOffset | null = null
  for (let i = 0; i < PREFLIGHT_CLOCK_SAMPLES; i++) {
    const askedMs = now() + TICK_MS / 2
    const beganAt = performance.now()
    const theirMs = await readClock(client)
    const tookMs = performance.now() - beganAt
    const errorMs = tookMs / 2 + TICK_MS / 2
    if (best === null || errorMs < best.errorMs) best = { aheadMs: theirMs - (askedMs + tookMs / 2), errorMs }
  }
  return best!
}
