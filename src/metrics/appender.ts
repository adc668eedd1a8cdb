import { Counter, Gauge, Histogram } from 'prom-client'
import type { Appender, AppendObserver } from '../append/appender.ts'
import type { Metrics } from './metrics.ts'

/** What the appender tells of its batches, counted. */
export function makeAppendObserver({ registry }: Metrics): AppendObserver {
  const registers = [registry]
  const outcomes = new Counter({
    name: 'tallystick_append_outcomes_total',
    help: 'Entries by how their append ended; overloaded: refused before they were queued',
    labelNames: ['status'],
    registers,
  })
  const entries = new Histogram({
    name: 'tallystick_append_batch_entries',
    help: 'Entries in a batch',
    buckets: [1, 2, 4, 8, 16, 32, 64, 128, 256, 512],
    registers,
  })
  const records = new Counter({
    name: 'tallystick_append_records_total',
    help: 'Records in all batches that were tried',
    registers,
  })
  const seconds = new Histogram({
    name: 'tallystick_append_commit_duration_seconds',
    help: 'From sending a batch to Postgres to its commit',
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15],
    registers,
  })
  return {
    overloaded: () => outcomes.inc({ status: 'overloaded' }),
    committed(batch) {
      entries.observe(batch.outcomes.length)
      records.inc(batch.records)
      seconds.observe(batch.ms / 1000)
      const counts = new Map<string, number>()
      for (const { status } of batch.outcomes) counts.set(status, (counts.get(status) ?? 0) + 1)
      for (const [status, count] of counts) outcomes.inc({ status }, count)
    },
  }
}

export function watchQueue({ registry }: Metrics, appender: Appender): void {
  new Gauge({
    name: 'tallystick_append_queue',
    help: 'What waits for a batch',
    labelNames: ['unit'],
    registers: [registry],
    collect() {
      for (const [unit, count] of Object.entries(appender.queued)) this.set({ unit }, count)
    },
  })
}
