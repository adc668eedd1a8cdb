import { Histogram } from 'prom-client'
import type { Metrics } from '../observe/metrics/metrics.ts'
import { type Reading, readCounter, readGauge } from '../observe/metrics/readings.ts'
import type { FollowerObserver } from './loop.ts'

type Rounds = { ok: number; failed: number; lastOkAtMs: number | null }

/** Returns an observer that counts rounds. `names`: the names of all followers. */
export function makeFollowerObserver(metrics: Metrics, names: readonly string[]): FollowerObserver {
  const followers = new Map<string, Rounds>(
    names.map((name) => [name, { ok: 0, failed: 0, lastOkAtMs: null }]),
  )
  watchRounds(metrics, followers)
  const seconds = new Histogram({
    name: 'tallystick_follower_round_duration_seconds',
    help: 'Duration of a round',
    labelNames: ['follower'],
    buckets: [0.005, 0.025, 0.1, 0.5, 1, 5, 15, 60],
    registers: [metrics.registry],
  })
  return (follower, result, ms) => {
    const rounds = followers.get(follower)!
    rounds[result]++
    if (result === 'ok') rounds.lastOkAtMs = Date.now()
    seconds.observe({ follower }, ms / 1000)
  }
}

function watchRounds(metrics: Metrics, followers: ReadonlyMap<string, Rounds>): void {
  readCounter(
    metrics,
    {
      name: 'tallystick_follower_rounds_total',
      help: 'Rounds of background work, by outcome',
    },
    () =>
      [...followers].flatMap(([follower, { ok, failed }]) => [
        { labels: { follower, result: 'ok' }, value: ok },
        { labels: { follower, result: 'failed' }, value: failed },
      ]),
  )
  readGauge(
    metrics,
    {
      name: 'tallystick_follower_last_success_timestamp_seconds',
      help: 'When a round last succeeded, in seconds since the epoch; absent: never',
    },
    () =>
      [...followers].flatMap(([follower, { lastOkAtMs }]): Reading[] =>
        lastOkAtMs === null ? [] : [{ labels: { follower }, value: lastOkAtMs / 1_000 }],
      ),
  )
}
