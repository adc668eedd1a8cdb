import type pg from 'pg'
import { Counter } from 'prom-client'
import { readCheckpointLagSeconds } from '../../db/chain/checkpoints.ts'
import { countPendingErasures } from '../../db/records/pending-erasures.ts'
import { countLedgersToRotate } from '../../db/schema/rotation.ts'
import type { Metrics } from '../../observe/metrics/metrics.ts'
import { queryGauges } from '../../observe/metrics/query-gauges.ts'
import { readGauge } from '../../observe/metrics/readings.ts'
import type { RefusedItems } from '../refused.ts'
import type { PausedLedgers } from './faulty-ledgers.ts'
import type { RestoredLedgers } from './restored-ledgers.ts'

/** Adds gauges of checkpoints. Returns a function that must be called for each published checkpoint. */
export function watchCheckpoints(metrics: Metrics, pool: pg.Pool, faulty: PausedLedgers): () => void {
  queryGauges(metrics, () => readCheckpointLagSeconds(pool), [
    {
      name: 'tallystick_checkpoint_lag_seconds',
      help: 'Age of the oldest entry that no checkpoint covers, of all ledgers',
      read: (value) => value,
    },
  ])
  readGauge(
    metrics,
    {
      name: 'tallystick_checkpoint_faulty_ledgers',
      help: 'Ledgers that get no checkpoint because of a fault: see the log',
    },
    () => faulty.count,
  )
  const published = new Counter({
    name: 'tallystick_checkpoints_published_total',
    help: 'Checkpoints that were published',
    registers: [metrics.registry],
  })
  return () => published.inc()
}

/** Adds gauges of pending erasures. Returns an observer of removed documents. */
export function watchErasures(
  metrics: Metrics,
  pool: pg.Pool,
  refused: RefusedItems,
): (documents: number) => void {
  queryGauges(metrics, () => countPendingErasures(pool), [
    {
      name: 'tallystick_erasures_pending',
      help: 'Erased documents that are still stored, of all ledgers',
      read: (value) => value,
    },
  ])
  readGauge(
    metrics,
    {
      name: 'tallystick_erasures_refused',
      help: 'Erasures that this worker refuses because their entry does not order them: see the log',
    },
    () => refused.count,
  )
  const erased = new Counter({
    name: 'tallystick_documents_erased_total',
    help: 'Erased documents that were removed',
    registers: [metrics.registry],
  })
  return (documents) => erased.inc(documents)
}

export function watchRestoredLedgers(metrics: Metrics, restored: RestoredLedgers): void {
  readGauge(
    metrics,
    {
      name: 'tallystick_contradicted_ledgers',
      help: 'Ledgers that differ from what was published of them: closed until an operator acknowledges it, or missing entirely',
    },
    () =>
      (['closed', 'gone'] as const).map((finding) => ({
        labels: { finding },
        value: restored.count(finding),
      })),
  )
}

export function watchRotation(metrics: Metrics, pool: pg.Pool, unmoved: PausedLedgers): void {
  queryGauges(metrics, () => countLedgersToRotate(pool), [
    {
      name: 'tallystick_key_rotation_pending_ledgers',
      help: 'Ledgers whose entries are signed by an older envelope key than the newest',
      read: (value) => value,
    },
  ])
  readGauge(
    metrics,
    {
      name: 'tallystick_key_rotation_failing_ledgers',
      help: 'Ledgers that could not be moved to the newest envelope key at the last attempt: see the log',
    },
    () => unmoved.count,
  )
}
