import type pg from 'pg'
import { Counter } from 'prom-client'
import { countSweeps } from '../../db/records/retention-work.ts'
import type { Metrics } from '../../observe/metrics/metrics.ts'
import { queryGauges } from '../../observe/metrics/query-gauges.ts'

/** Adds gauges of retention sweeps. Returns an observer of erased documents. */
export function watchRetention(metrics: Metrics, pool: pg.Pool): (documents: number) => void {
  queryGauges(metrics, () => countSweeps(pool), [
    {
      name: 'tallystick_retention_ledgers_due',
      help: 'Ledgers that wait for, or are in, a search for documents whose retention has ended',
      read: ({ due }) => due,
    },
    {
      name: 'tallystick_retention_failing_ledgers',
      help: 'Ledgers whose search failed at the last attempt, so that later documents are not erased',
      read: ({ failing }) => failing,
    },
  ])
  const erased = new Counter({
    name: 'tallystick_retention_erasures_total',
    help: 'Documents that were erased by a retention rule',
    registers: [metrics.registry],
  })
  return (documents) => erased.inc(documents)
}
