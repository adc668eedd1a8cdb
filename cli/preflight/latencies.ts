import { createHistogram } from 'node:perf_hooks'

/** Summary of latencies, in nanoseconds. */
export type LatencySummary = {
  readonly count: number
  readonly mean: number
  readonly p50: number
  readonly p90: number
  readonly p99: number
  readonly p999: number
  readonly max: number
}

type Latencies = { record(ms: number): void; readonly histogram: ReturnType<typeof createHistogram> }

/** Maximum of the histogram in ns, which must be known in advance. It is longer than any run. */
const LATENCY_NS_MAX = 600_000_000_000

/**
 * Makes an HDR histogram (three significant digits) of nanoseconds. `record` takes milliseconds of
 * `performance.now()`.
 */
export function makeLatencies(): Latencies {
  const histogram = createHistogram({ lowest: 1, highest: LATENCY_NS_MAX, figures: 3 })
  return {
    histogram,
    record: (ms) => histogram.record(Math.min(LATENCY_NS_MAX, Math.max(1, Math.round(ms * 1e6)))),
  }
}

export function summarize({ histogram }: Latencies): LatencySummary {
  if (histogram.count === 0) return { count: 0, mean: 0, p50: 0, p90: 0, p99: 0, p999: 0, max: 0 }
  return {
    count: histogram.count,
    mean: histogram.mean,
    p50: histogram.percentile(50),
    p90: histogram.percentile(90),
    p99: histogram.percentile(99),
    p999: histogram.percentile(99.9),
    max: histogram.max,
  }
}

export function summarizeMs(samplesMs: Iterable<number>): LatencySummary {
  const latencies = makeLatencies()
  for (const ms of samplesMs) latencies.record(ms)
  return summarize(latencies)
}
