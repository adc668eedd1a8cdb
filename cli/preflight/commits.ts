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

/** One after another, on one connection. */
export type Commits = {
  readonly commit: LatencySummary
  /** The same commits, which wait for no flush: the control. */
  readonly unflushed: LatencySummary
  /** Difference of the two: the flush of the log, and the standbys that commits wait for. */
  readonly flush: LatencySummary
}

export async function measureRoundTrips(client: pg.ClientBase): Promise<LatencySummary> {
  const bounds = { samples: PREFLIGHT_ROUND_TRIPS, samplesMin: PREFLIGHT_COMMITS_MIN }
  return summarizeMs(await repeat(() => roundTrip(client), bounds))
}

/**
 * The median of the control is taken from each commit, not a commit of the control from each: which two belong together
 * nobody knows. So the p99 of `flush` has the noise of the rest of a commit in it, and is rather too high.
 *
 * First all of one, then all of the other: between the two Postgres writes what no commit waited for in the background,
 * and the next flush would wait for that one.
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

/** Milliseconds of each. The first one, which loads catalogs and plans, does not count. */
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
