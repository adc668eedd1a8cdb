import { performance } from 'node:perf_hooks'
import type pg from 'pg'
import { commitMessage, roundTrip } from '../../src/db/schema/preflight.ts'
import { type LatencySummary, summarizeMs } from './latencies.ts'
import {
  PREFLIGHT_COMMITS,
  PREFLIGHT_COMMITS_MIN,
  PREFLIGHT_COMMITS_MS_MAX,
  PREFLIGHT_ROUND_TRIPS,
} from './limits.ts'

/** Latencies of commits, one after another, on one connection. */
export type Commits = {
  readonly commit: LatencySummary
  /** Latencies of the same commits without a flush, for comparison. */
  readonly unflushed: LatencySummary
  /**
   * Difference between commits with and without a flush. It is the time for flushing the log, and for waiting for
   * standbys that must confirm commits.
   */
  readonly flush: LatencySummary
}

export async function measureRoundTrips(client: pg.ClientBase): Promise<LatencySummary> {
  const bounds = { samples: PREFLIGHT_ROUND_TRIPS, samplesMin: PREFLIGHT_COMMITS_MIN }
  return summarizeMs(await repeat(() => roundTrip(client), bounds))
}

/**
 * Measures commits with and without a flush.
 *
 * The median of the commits without a flush is subtracted from each commit with a flush. Single commits cannot be
 * paired. The p99 of `flush` therefore also contains the variation of the rest of a commit, and tends to be too high.
 *
 * All commits with a flush run first. In the other order, Postgres would still write the unflushed log in the
 * background, and the next flush would wait for that.
 */
export async function measureCommits(client: pg.ClientBase): Promise<Commits> {
  const bounds = { samples: PREFLIGHT_COMMITS, samplesMin: PREFLIGHT_COMMITS_MIN }
  const flushedMs = await repeat(() => commitMessage(client, true), bounds)
  const unflushed = summarizeMs(await repeat(() => commitMessage(client, false), bounds))
  const controlMs = unflushed.p50 / 1e6
  return {
    commit: summarizeMs(flushedMs),
    unflushed,
    flush: summarizeMs(flushedMs.map((ms) => Math.max(0, ms - controlMs))),
  }
}

/** Returns the milliseconds of each run. The first run is left out, because it loads catalogs and plans. */
async function repeat(
  work: () => Promise<void>,
  { samples, samplesMin }: { readonly samples: number; readonly samplesMin: number },
): Promise<number[]> {
  await work()
  const eachMs: number[] = []
  const endsAt = performance.now() + PREFLIGHT_COMMITS_MS_MAX
  while (eachMs.length < samples && (eachMs.length < samplesMin || performance.now() < endsAt)) {
    const beganAt = performance.now()
    await work()
    eachMs.push(performance.now() - beganAt)
  }
  return eachMs
}
