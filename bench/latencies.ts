/** One histogram for what the preflight measures and what the benchmarks do: src/preflight/latencies.ts. */
export { type LatencySummary, makeLatencies, summarize } from '../src/preflight/latencies.ts'
