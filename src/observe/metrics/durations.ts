import type { Reading } from './readings.ts'

/**
 * Bounds for waits within a server. A batch is sent after APPEND_GATHER_MS_MAX, or when the previous batch is
 * committed.
 */
export const WAIT_BOUNDS_MS = [0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 1_000]

/**
 * Durations of one kind: one set of labels of a histogram. An observation costs 0.03 µs. With prom-client's histogram
 * it costs 0.4 µs even with preset labels, and each request has one.
 */
export class Durations {
  readonly #boundsMs: readonly number[]
  /** Counts for each bound, not cumulative. The last count is for durations above all bounds. */
  readonly #counts: Float64Array
  #sumMs = 0

  constructor(boundsMs: readonly number[]) {
    this.#boundsMs = boundsMs
    this.#counts = new Float64Array(boundsMs.length + 1)
  }

  observe(ms: number, times = 1): void {
    const bounds = this.#boundsMs
    let i = 0
    while (i < bounds.length && ms > bounds[i]!) i++
    this.#counts[i]! += times
    this.#sumMs += ms * times
  }

  /** Returns readings in seconds, as Prometheus expects. */
  readings(name: string, labels: Readonly<Record<string, string | number>>): Reading[] {
    let count = 0
    const buckets = [...this.#counts].map((inBucket, i) => {
      count += inBucket
      const bound = this.#boundsMs[i]
      const le = bound === undefined ? '+Inf' : String(bound / 1_000)
      return { metricName: `${name}_bucket`, labels: { ...labels, le }, value: count }
    })
    return [
      ...buckets,
      { metricName: `${name}_sum`, labels, value: this.#sumMs / 1_000 },
      { metricName: `${name}_count`, labels, value: count },
    ]
  }
}
