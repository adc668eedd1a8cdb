import type { Metrics } from '../../observe/metrics/metrics.ts'
import { type Reading, readCounter, readGauge, readingsOf } from '../../observe/metrics/readings.ts'

type WatchedReads = {
  readonly counts: { readonly replica: number; readonly primary: number; readonly fallback: number }
  /** Number of fallbacks to the primary, by reason. Contains every reason from the start. */
  readonly fallbacks: Readonly<Record<string, number>>
}
type WatchedReplica = {
  readonly refusal: string | null
  readonly lag: { readonly bytes: number; readonly ms: number } | null
}

export function watchReads(metrics: Metrics, reads: WatchedReads): void {
  readCounter(
    metrics,
    {
      name: 'tallystick_reads_total',
      help: 'Reads of ledgers by the database that answered; fallback: the primary instead of the replica',
    },
    () => readingsOf('source', reads.counts),
  )
}

/**
 * Registers metrics of a replica, and of reads that the replica did not answer. If `replica` is null, there is no
 * replica, and its gauges are absent.
 */
export function watchReplica(metrics: Metrics, replica: WatchedReplica | null, reads: WatchedReads): void {
  const ofLag = (figure: 'bytes' | 'ms', scale: number) => (): Reading[] =>
    !replica?.lag ? [] : [{ value: replica.lag[figure] * scale }]
  readCounter(
    metrics,
    {
      name: 'tallystick_replica_fallbacks_total',
      help: 'Reads that the replica did not answer, by reason',
    },
    () => readingsOf('reason', reads.fallbacks),
  )
  readGauge(
    metrics,
    { name: 'tallystick_replica_up', help: 'Whether reads may use the replica: 1 or 0' },
    () => (replica === null ? [] : [{ value: replica.refusal === null ? 1 : 0 }]),
  )
  readGauge(
    metrics,
    {
      name: 'tallystick_replica_lag_bytes',
      help: 'Bytes of the primary’s log that the replica has not replayed',
    },
    ofLag('bytes', 1),
  )
  readGauge(
    metrics,
    {
      name: 'tallystick_replica_lag_seconds',
      help: 'Age of the oldest byte of the log that the replica lacks',
    },
    ofLag('ms', 0.001),
  )
}
