import type pg from 'pg'
import { Counter, Histogram } from 'prom-client'
import { readFollowerLag } from '../../db/audit/audit-cursors.ts'
import { readAuditFigures } from '../../db/audit/audit-work.ts'
import { countOpenFaults } from '../../db/ledgers/ledger-faults.ts'
import type { Metrics } from '../../observe/metrics/metrics.ts'
import { queryGauges } from '../../observe/metrics/query-gauges.ts'
import { type Reading, readCounter, readGauge, Tally } from '../../observe/metrics/readings.ts'
import type { PausedLedgers } from '../checkpoints/faulty-ledgers.ts'
import { AUDIT_RESULTS, type AuditResult } from './run-audit.ts'

/** Adds gauges of background verification. helm/tallystick/files/alerts.yaml defines which gauges raise an alert. */
export function watchAudits(metrics: Metrics, pool: pg.Pool, paused: PausedLedgers): void {
  queryGauges(metrics, () => countOpenFaults(pool), [
    {
      name: 'tallystick_ledger_faults',
      help: 'Ledgers that do not verify: they get no checkpoints until an operator clears the fault',
      read: (count) => count,
    },
  ])
  readGauge(
    metrics,
    {
      name: 'tallystick_entry_verification_failing_ledgers',
      help: 'Ledgers whose entries could not be verified for a reason other than a fault: see the log',
    },
    () => paused.count,
  )
  watchFollower(metrics, pool)
  watchResults(metrics, pool)
}

function watchFollower(metrics: Metrics, pool: pg.Pool): void {
  queryGauges(metrics, () => readFollowerLag(pool), [
    {
      name: 'tallystick_entry_verification_lag_entries',
      help: 'Appended entries that are not verified yet, of all ledgers without a fault',
      read: ({ entries }) => entries,
    },
    {
      name: 'tallystick_entry_verification_lag_seconds',
      help: 'Age of the oldest entry that is not verified yet; 0: none',
      read: ({ seconds }) => Math.max(0, seconds),
    },
  ])
}

function watchResults(metrics: Metrics, pool: pg.Pool): void {
  queryGauges(metrics, () => readAuditFigures(pool), [
    {
      name: 'tallystick_audit_last_timestamp_seconds',
      help: 'When an audit last ended with this result, in seconds since the epoch; absent: never',
      read: ({ lastGoodAt, lastBadAt }) => [...timeOf('good', lastGoodAt), ...timeOf('bad', lastBadAt)],
    },
    {
      name: 'tallystick_audits_open',
      help: 'Audits that wait or run',
      read: ({ open }) => open,
    },
  ])
}

function timeOf(result: string, at: Date | null): Reading[] {
  return at === null ? [] : [{ labels: { result }, value: at.getTime() / 1_000 }]
}

/** Returns an observer that counts finished audits and measures their duration. */
export function makeAuditObserver(metrics: Metrics): (result: AuditResult, ms: number) => void {
  const results = new Tally(AUDIT_RESULTS)
  readCounter(
    metrics,
    {
      name: 'tallystick_audits_total',
      help: 'Audits by outcome; failed: the ledger could not be read; interrupted: the worker stopped',
    },
    () => results.readings('result'),
  )
  const seconds = new Histogram({
    name: 'tallystick_audit_duration_seconds',
    help: 'Duration of audits that have a result',
    buckets: [0.5, 1, 5, 30, 60, 300, 900, 3_600, 14_400],
    registers: [metrics.registry],
  })
  return (result, ms) => {
    results.add(result)
    if (result === 'good' || result === 'bad') seconds.observe(ms / 1_000)
  }
}

export function makeEntryObserver({ registry }: Metrics): (entries: number) => void {
  const verified = new Counter({
    name: 'tallystick_entries_verified_total',
    help: 'Entries that were verified after their append',
    registers: [registry],
  })
  return (entries) => verified.inc(entries)
}
