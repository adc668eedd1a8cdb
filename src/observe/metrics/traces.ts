import type { Logger } from 'pino'
import { TRACE_LOSS_LOG_EVERY_MS } from '../limits.ts'
import type { LossReason, TraceObserver } from '../tracing/span-sender.ts'
import type { Metrics } from './metrics.ts'
import { readCounter, readingsOf } from './readings.ts'

type TraceCounts = { sent: number; readonly lost: Record<LossReason, number> }

/**
 * Makes an observer that counts spans. Lost spans are logged only from time to time, because thousands of spans are
 * lost per second if there is no collector.
 */
export function makeTraceObserver(
  metrics: Metrics,
  process: string,
  log: Pick<Logger, 'warn'>,
): TraceObserver {
  const part: TraceCounts = { sent: 0, lost: { queue_full: 0, not_taken: 0, closed: 0 } }
  metrics.addPart<TraceCounts>('traces', process, part, (parts) => define(metrics, parts))
  let quietUntilMs = 0
  return {
    sent(spans) {
      part.sent += spans
    },
    lost(spans, reason, error) {
      part.lost[reason] += spans
      if (performance.now() < quietUntilMs) return
      quietUntilMs = performance.now() + TRACE_LOSS_LOG_EVERY_MS
      log.warn(
        { ...(error && { err: error }), reason, spans },
        'spans were lost: see docs/operate/observe.md#traces',
      )
    },
  }
}

/** Defines the metrics once for all parts. If a server and a worker run in one process, each of them is a part. */
function define(metrics: Metrics, parts: ReadonlyMap<string, TraceCounts>): void {
  readCounter(
    metrics,
    { name: 'tallystick_trace_spans_sent_total', help: 'Spans that the collector has accepted' },
    () => [...parts.values()].reduce((sum, { sent }) => sum + sent, 0),
  )
  readCounter(
    metrics,
    {
      name: 'tallystick_trace_spans_dropped_total',
      help: 'Spans that did not reach the collector',
    },
    () => readingsOf('reason', sumOf([...parts.values()].map(({ lost }) => lost))),
  )
}

function sumOf(losses: readonly Record<LossReason, number>[]): Record<LossReason, number> {
  const sum = { queue_full: 0, not_taken: 0, closed: 0 }
  for (const loss of losses)
    for (const reason of Object.keys(sum) as LossReason[]) sum[reason] += loss[reason]
  return sum
}
