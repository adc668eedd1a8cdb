import { Counter, Histogram } from 'prom-client'
import { Durations, WAIT_BOUNDS_MS } from '../observe/metrics/durations.ts'
import type { Metrics } from '../observe/metrics/metrics.ts'
import { readCounter, readGauge, readHistogram, Tally } from '../observe/metrics/readings.ts'
import type { Appender, AppendObserver } from './appender.ts'
import type { AppendOutcome, RefusalReason, RetryCause } from './commit.ts'
import { APPEND_QUEUE_BYTES_MAX, APPEND_QUEUE_ENTRIES_MAX, APPEND_QUEUE_RECORDS_MAX } from './limits.ts'

/**
 * All values of the type must be listed. The count of a missing value would be NaN, and every sum that includes it
 * would be NaN too.
 */
const STATUSES = keysOf<AppendOutcome['status'] | 'overloaded'>({
  appended: 0,
  replayed: 0,
  conflict: 0,
  stale: 0,
  again: 0,
  refused: 0,
  unavailable: 0,
  failed: 0,
  unknown: 0,
  overloaded: 0,
})
const REASONS = keysOf<RefusalReason>({
  state: 0,
  clock: 0,
  ledger: 0,
  kind: 0,
  frozen: 0,
  closed: 0,
  moving: 0,
  moved: 0,
  deadline: 0,
  party: 0,
  signature: 0,
  taken: 0,
})
const CAUSES = keysOf<RetryCause>({ deadlock: 0, data: 0, unavailable: 0 })

function keysOf<Key extends string>(all: Readonly<Record<Key, 0>>): readonly Key[] {
  return Object.keys(all) as Key[]
}

export function makeAppendObserver(
  metrics: Metrics,
  answeredSlice: (ms: number) => void = () => {},
): AppendObserver {
  const outcomes = new Tally(STATUSES)
  const reasons = new Tally(REASONS)
  const retries = new Tally(CAUSES)
  let statements = 0
  readCounter(
    metrics,
    {
      name: 'tallystick_append_outcomes_total',
      help: 'Entries by outcome of their append; overloaded: refused before they were queued',
    },
    () => outcomes.readings('status'),
  )
  readCounter(
    metrics,
    { name: 'tallystick_append_refusals_total', help: 'Entries that the database refused, by reason' },
    () => reasons.readings('reason'),
  )
  readCounter(
    metrics,
    {
      name: 'tallystick_append_retries_total',
      help: 'Repeated calls of append_entries: after a deadlock, or in halves because the data of one entry was refused',
    },
    () => retries.readings('cause'),
  )
  readCounter(
    metrics,
    {
      name: 'tallystick_statements_registered_total',
      help: 'Signed Statements of others that were registered',
    },
    () => statements,
  )
  const prepares = readDurations(
    metrics,
    'prepare',
    'From the authentication of a request to its signed entry, to a millisecond',
  )
  const waits = readDurations(metrics, 'wait', 'From the signing of an entry to the sending of its batch')
  const answers = readDurations(metrics, 'answer', 'From the commit of an entry to its answer')
  const observeBatch = makeBatchObserver(metrics)
  return {
    overloaded: () => outcomes.add('overloaded'),
    prepared: (ms) => prepares.observe(ms),
    answered(endedAts, beganAt) {
      const now = performance.now()
      for (const endedAt of endedAts) answers.observe(now - endedAt)
      answeredSlice(now - beganAt)
    },
    retried: (cause) => retries.add(cause),
    committed(batch) {
      observeBatch(batch.outcomes.length, batch.records, batch.ms)
      for (const ms of batch.waitsMs) waits.observe(ms)
      for (const [i, outcome] of batch.outcomes.entries()) {
        outcomes.add(outcome.status)
        if (outcome.status === 'appended' && batch.entries[i]!.kind === 'statement-registered') statements++
        if (outcome.status === 'refused') reasons.add(outcome.reason)
      }
    },
  }
}

function readDurations(metrics: Metrics, step: string, help: string): Durations {
  const durations = new Durations(WAIT_BOUNDS_MS)
  const name = `tallystick_append_${step}_duration_seconds`
  readHistogram(metrics, { name, help }, () => durations.readings(name, {}))
  return durations
}

function makeBatchObserver({ registry }: Metrics) {
  const registers = [registry]
  const inBatch = new Histogram({
    name: 'tallystick_append_batch_entries',
    help: 'Entries in a batch',
    buckets: [1, 2, 4, 8, 16, 32, 64, 128, 256, 512],
    registers,
  })
  const all = new Counter({
    name: 'tallystick_append_records_total',
    help: 'Records in all batches that were sent',
    registers,
  })
  const seconds = new Histogram({
    name: 'tallystick_append_commit_duration_seconds',
    help: 'From sending a batch to Postgres to its commit',
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15],
    registers,
  })
  return (entries: number, records: number, ms: number) => {
    inBatch.observe(entries)
    all.inc(records)
    seconds.observe(ms / 1000)
  }
}

export function watchQueue(metrics: Metrics, appender: Appender): void {
  const gauge = (name: string, help: string, read: () => number) =>
    readGauge(metrics, { name: `tallystick_append_${name}`, help }, read)
  gauge('queue_entries', 'Entries that wait for a batch', () => appender.queued.entries)
  gauge('queue_records', 'Records of the entries that wait', () => appender.queued.records)
  gauge('queue_bytes', 'Approximate bytes of the entries that wait', () => appender.queued.bytes)
  gauge('queue_entries_max', 'Limit of tallystick_append_queue_entries', () => APPEND_QUEUE_ENTRIES_MAX)
  gauge('queue_records_max', 'Limit of tallystick_append_queue_records', () => APPEND_QUEUE_RECORDS_MAX)
  gauge('queue_bytes_max', 'Limit of tallystick_append_queue_bytes', () => APPEND_QUEUE_BYTES_MAX)
  gauge('lanes_busy', 'Batches under way', () => appender.underWay.batches)
  gauge(
    'stalled_seconds',
    'Age of the oldest batch under way; 0: none',
    () => appender.underWay.oldestMs / 1_000,
  )
}
