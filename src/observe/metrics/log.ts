import type { Metrics } from './metrics.ts'
import { readCounter } from './readings.ts'

type LogCounts = { dropped: number }

/** Adds the counter of dropped log lines. Returns a function to call for each dropped line. */
export function watchLog(metrics: Metrics, process: 'server' | 'worker'): () => void {
  const part: LogCounts = { dropped: 0 }
  metrics.addPart<LogCounts>('log', process, part, (parts) =>
    readCounter(
      metrics,
      {
        name: 'tallystick_log_lines_dropped_total',
        help: 'Log lines that were dropped because nothing read the output in time',
      },
      () => [...parts.values()].reduce((sum, { dropped }) => sum + dropped, 0),
    ),
  )
  return () => {
    part.dropped++
  }
}
