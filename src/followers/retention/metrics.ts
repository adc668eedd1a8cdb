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
      help: 'Ledgers that are to be looked through, or are, for documents whose time is over',
      read: ({ due }) => due,
    },
    {
      name: 'tallystick_retention_failing_ledgers',
      help: 'Ledgers of which a page could not be looked through when it was last tried, so that nothing behind it is erased',
      read: ({ failing }) => failing,
    },
  ])
  const erased = new Counter({
    name: 'tallystick_retention_erasures_total',
    help: 'Documents whose erasure was signed by a rule of retention',
    registers: [metrics.registry],
  })
  return (documents) => erased.inc(documents)
}
