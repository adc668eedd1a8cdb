import type pg from 'pg'
import { Counter, Histogram } from 'prom-client'
import { countOverdue } from '../../db/records/expiry-work.ts'
import { readWaitingFigures } from '../../db/records/verification-work.ts'
import type { Metrics } from '../../observe/metrics/metrics.ts'
import { queryGauges } from '../../observe/metrics/query-gauges.ts'
import { readCounter, readGauge, Tally } from '../../observe/metrics/readings.ts'
import type { RefusedItems } from '../refused.ts'
import type { VerificationObserver } from './verify-completions.ts'

export function makeVerificationObserver(metrics: Metrics): VerificationObserver {
  const verified = new Tally(['pass', 'fail', 'refused'])
  readCounter(
    metrics,
    {
      name: 'tallystick_completions_verified_total',
      help: 'Completions by result; refused: the stored data differs from what was signed',
    },
    () => verified.readings('outcome'),
  )
  const seconds = new Histogram({
    name: 'tallystick_completion_verification_seconds',
    help: 'From the submission of a completion to the entry with the result',
    buckets: [0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 30, 300],
    registers: [metrics.registry],
  })
  return (outcome, ms) => {
    verified.add(outcome)
    if (outcome !== 'refused') seconds.observe(ms / 1000)
  }
}

export function watchVerification(metrics: Metrics, pool: pg.Pool): void {
  queryGauges(metrics, () => readWaitingFigures(pool), [
    {
      name: 'tallystick_completions_waiting',
      help: 'Completions that are not verified yet, of all open ledgers',
      read: ({ count }) => count,
    },
    {
      name: 'tallystick_completions_oldest_waiting_seconds',
      help: 'How long the oldest completion has waited; 0: none',
      read: ({ oldestSeconds }) => oldestSeconds,
    },
  ])
}

export function makeExpiryObserver({ registry }: Metrics): () => void {
  const expired = new Counter({
    name: 'tallystick_records_expired_total',
    help: 'Records that expired because their deadline had passed',
    registers: [registry],
  })
  return () => expired.inc()
}

export function watchExpiry(metrics: Metrics, pool: pg.Pool, refused: RefusedItems): void {
  queryGauges(metrics, () => countOverdue(pool), [
    {
      name: 'tallystick_records_overdue',
      help: 'Records past their deadline that are not expired yet, of all open ledgers',
      read: (count) => count,
    },
  ])
  readGauge(
    metrics,
    {
      name: 'tallystick_expiries_refused',
      help: 'Records that this worker does not expire because they differ from what was signed: see the log',
    },
    () => refused.count,
  )
}
