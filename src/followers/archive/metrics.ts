import type pg from 'pg'
import { Counter, Histogram } from 'prom-client'
import { readReleaseFigures } from '../../db/chain/archive-releases.ts'
import { readArchiveFigures } from '../../db/chain/archives.ts'
import type { Metrics } from '../../observe/metrics/metrics.ts'
import { queryGauges } from '../../observe/metrics/query-gauges.ts'
import { readGauge } from '../../observe/metrics/readings.ts'
import { ARCHIVE_READ_OUTCOMES, type ArchivedContentDeps } from '../../verify/archive/archived-content.ts'
import type { PausedLedgers } from '../checkpoints/faulty-ledgers.ts'
import type { ArchiveDeps } from './archive-ledgers.ts'
import type { ReleaseDeps } from './release-content.ts'

/** Adds gauges of archived ledgers. Returns observers of seals and objects. */
export function watchArchive(
  metrics: Metrics,
  pool: pg.Pool,
  unarchived: PausedLedgers,
): Required<Pick<ArchiveDeps, 'observeSeal' | 'observeObject'>> {
  queryGauges(metrics, () => readArchiveFigures(pool), [
    {
      name: 'tallystick_archive_lag_seconds',
      help: 'Age of the oldest entry that a checkpoint covers and that is not archived, of all ledgers',
      read: ({ lagSeconds }) => lagSeconds,
    },
    {
      name: 'tallystick_archive_entries',
      help: 'Entries that are archived, of all ledgers',
      read: ({ entries }) => entries,
    },
    {
      name: 'tallystick_archive_entries_behind',
      help: 'Entries that a checkpoint covers and that are not archived, of all ledgers',
      read: ({ behind }) => behind,
    },
  ])
  readGauge(
    metrics,
    {
      name: 'tallystick_archive_faulty_ledgers',
      help: 'Ledgers whose next prefix cannot be archived: see the log',
    },
    () => unarchived.count,
  )
  const counter = (name: string, help: string, labelNames: string[] = []) =>
    new Counter({ name, help, labelNames, registers: [metrics.registry] })
  const seals = counter(
    'tallystick_archive_seals_total',
    'Prefixes of ledgers, by whether they were archived',
    ['outcome'],
  )
  for (const outcome of ['sealed', 'failed']) seals.inc({ outcome }, 0)
  const objects = counter('tallystick_archive_objects_total', 'Objects that were written and read back')
  const bytes = counter('tallystick_archive_bytes_total', 'Bytes of objects that were written and read back')
  return {
    observeSeal: (outcome) => seals.inc({ outcome }),
    observeObject: (size) => {
      objects.inc()
      bytes.inc(size)
    },
  }
}

/** Returns an observer of reads from the archive. If server and worker run in one process, they share one histogram. */
export function watchArchiveReads(metrics: Metrics): NonNullable<ArchivedContentDeps['observe']> {
  const known = metrics.registry.getSingleMetric(READS) as Histogram<'outcome'> | undefined
  const reads = known ?? makeReads(metrics)
  return (outcome, seconds) => reads.observe({ outcome }, seconds)
}

const READS = 'tallystick_archive_read_duration_seconds'

function makeReads(metrics: Metrics): Histogram<'outcome'> {
  const reads = new Histogram({
    name: READS,
    help: 'Reads from the archive of record chunks and envelopes that have left Postgres, by outcome',
    labelNames: ['outcome'],
    buckets: READ_SECONDS,
    registers: [metrics.registry],
  })
  for (const outcome of ARCHIVE_READ_OUTCOMES) reads.zero({ outcome })
  return reads
}

const READ_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5]

/** Adds gauges of content that was removed from Postgres. Returns an observer that is called after each removal. */
export function watchRelease(
  metrics: Metrics,
  pool: pg.Pool,
  unreleased: PausedLedgers,
): Required<Pick<ReleaseDeps, 'observeRelease'>> {
  queryGauges(metrics, () => readReleaseFigures(pool), [
    {
      name: 'tallystick_archive_released_entries',
      help: 'Entries whose content has left Postgres for the archive, of all ledgers',
      read: ({ entries }) => entries,
    },
  ])
  readGauge(
    metrics,
    {
      name: 'tallystick_archive_unreleased_ledgers',
      help: 'Ledgers whose content stays in Postgres, because the archive cannot be read or differs: see the log',
    },
    () => unreleased.count,
  )
  const counter = (name: string, help: string) => new Counter({ name, help, registers: [metrics.registry] })
  const chunks = counter(
    'tallystick_archive_released_chunks_total',
    'Chunks of records whose content left Postgres',
  )
  const envelopes = counter(
    'tallystick_archive_released_envelopes_total',
    'Entries whose envelope left Postgres',
  )
  const bytes = counter(
    'tallystick_archive_released_bytes_total',
    'Bytes of chunks and envelopes that were compared with the archive before they left Postgres',
  )
  return {
    observeRelease: (released, size) => {
      chunks.inc(released.chunks)
      envelopes.inc(released.envelopes)
      bytes.inc(size)
    },
  }
}
