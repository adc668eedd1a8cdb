import type pg from 'pg'
import { Counter } from 'prom-client'
import { readArchiveFigures } from '../../db/chain/archives.ts'
import type { ArchiveDeps } from '../../followers/archive/archive-ledgers.ts'
import type { FaultyLedgers } from '../../followers/checkpoints/faulty-ledgers.ts'
import { askGauges } from './asked.ts'
import type { Metrics } from './metrics.ts'
import { readGauge } from './readings.ts'

/** How far ledgers are archived, and what hears of prefixes and objects. */
export function watchArchive(
  metrics: Metrics,
  pool: pg.Pool,
  unarchived: FaultyLedgers,
): Required<Pick<ArchiveDeps, 'observeSeal' | 'observeObject'>> {
  askGauges(metrics, () => readArchiveFigures(pool), [
    {
      name: 'tallystick_archive_lag_seconds',
      help: 'Age of the oldest entry under a checkpoint that is not archived, of all ledgers',
      read: ({ lagSeconds }) => lagSeconds,
    },
    {
      name: 'tallystick_archive_entries',
      help: 'Entries that are archived, of all ledgers',
      read: ({ entries }) => entries,
    },
    {
      name: 'tallystick_archive_entries_behind',
      help: 'Entries under a checkpoint that are not archived, of all ledgers',
      read: ({ behind }) => behind,
    },
  ])
  readGauge(
    metrics,
    {
      name: 'tallystick_archive_faulty_ledgers',
      help: 'Ledgers whose archive does not take their next prefix: see the log',
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
