/** Statistics of each metric in one period. Percentiles of a k6 trend cover only this period. */
export type Point = {
  readonly atMs: number
  readonly metrics: Readonly<Record<string, Readonly<Record<string, number>>>>
}

type MetricType = 'counter' | 'gauge' | 'rate' | 'trend'
type Event =
  | { readonly event: 'param'; readonly data: { readonly aggregates: Record<MetricType, string[]> } }
  | { readonly event: 'metric'; readonly data: Record<string, { readonly type: MetricType }> }
  | { readonly event: 'start' | 'snapshot' | 'cumulative'; readonly data: (number[] | null)[] }
  | { readonly event: 'stop' | 'threshold' }

/** Metrics that a report shows. k6 also writes a dozen other metrics of each request. */
const METRICS: ReadonlySet<string> = new Set(['accepted', 'rejected', 'acknowledged_records', 'http_reqs'])

/**
 * Parses the recording of k6's web dashboard. Each period is one line, with an array of values for each metric seen
 * so far, sorted by name. This output is cheap because k6 aggregates in its process; `--out json` writes a dozen
 * lines per request.
 */
export function readRecording(text: string): Point[] {
  const points: Point[] = []
  const types = new Map<string, MetricType>()
  let aggregates: Record<MetricType, string[]> | null = null
  let startedAtMs: number | null = null
  for (const line of text.split('\n')) {
    if (line === '') continue
    const event = JSON.parse(line) as Event
    if (event.event === 'param') aggregates = event.data.aggregates
    else if (event.event === 'metric')
      for (const [name, { type }] of Object.entries(event.data)) types.set(name, type)
    else if (event.event === 'start' || event.event === 'snapshot') {
      const values = readValues(event.data, types, aggregates!)
      const atMs = values.get('time')!['value']!
      startedAtMs ??= atMs
      if (event.event === 'snapshot') points.push(toPoint(atMs - startedAtMs, values))
    }
  }
  return points
}

function readValues(
  data: readonly (number[] | null)[],
  types: ReadonlyMap<string, MetricType>,
  aggregates: Record<MetricType, string[]>,
): Map<string, Record<string, number>> {
  const values = new Map<string, Record<string, number>>()
  for (const [i, name] of [...types.keys()].sort().entries()) {
    const given = data[i] ?? []
    if (given.length === 0) continue
    const statistics = aggregates[types.get(name)!]
    values.set(name, Object.fromEntries(statistics.map((statistic, n) => [statistic, given[n]!])))
  }
  return values
}

function toPoint(atMs: number, values: ReadonlyMap<string, Record<string, number>>): Point {
  return {
    atMs,
    metrics: Object.fromEntries([...values].filter(([name]) => METRICS.has(name.split('{', 1)[0]!))),
  }
}
