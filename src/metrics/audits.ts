import type pg from 'pg'
import { Gauge } from 'prom-client'
import type { FaultyLedgers } from '../checkpoints/faulty-ledgers.ts'
import { readFollowerLag } from '../db/audit-cursors.ts'
import { readAuditFigures } from '../db/audit-work.ts'
import { countJobs } from '../db/job-queues.ts'
import { countOpenFaults } from '../db/ledger-faults.ts'
import type { Metrics } from './metrics.ts'

/** What verification in the background found, and how far it is. docs/operations.md says which of it is an alarm. */
export function watchAudits(metrics: Metrics, pool: pg.Pool, unverified: FaultyLedgers): void {
  watchFaults(metrics, pool)
  watchUnverified(metrics, unverified)
  watchFollower(metrics, pool)
  watchResults(metrics, pool)
  watchJobs(metrics, pool)
}

function watchFaults({ registry }: Metrics, pool: pg.Pool): void {
  new Gauge({
    name: 'tallystick_ledger_faults',
    help: 'Ledgers that were found not to verify, and get no checkpoints until an operator has looked',
    registers: [registry],
    collect: asked(async (gauge) => gauge.set(await countOpenFaults(pool))),
  })
}

function watchUnverified({ registry }: Metrics, unverified: FaultyLedgers): void {
  new Gauge({
    name: 'tallystick_entry_verification_failing_ledgers',
    help: 'Ledgers whose entries could not be verified for another reason than a fault: see the log',
    registers: [registry],
    collect() {
      this.set(unverified.count)
    },
  })
}

function watchFollower({ registry }: Metrics, pool: pg.Pool): void {
  new Gauge({
    name: 'tallystick_entry_verification_lag',
    help: 'Entries that are appended and not verified yet, of all ledgers, and the age of the oldest in seconds',
    labelNames: ['unit'],
    registers: [registry],
    collect: asked(async (gauge) => {
      const lag = await readFollowerLag(pool)
      gauge.set({ unit: 'entries' }, lag.entries)
      gauge.set({ unit: 'seconds' }, lag.seconds)
    }),
  })
}

function watchResults({ registry }: Metrics, pool: pg.Pool): void {
  const registers = [registry]
  new Gauge({
    name: 'tallystick_audit_last_timestamp_seconds',
    help: 'When an audit last found a ledger good, or bad, in seconds since the epoch; absent: never',
    labelNames: ['result'],
    registers,
    collect: asked(async (gauge) => {
      const { lastGoodAt, lastBadAt } = await readAuditFigures(pool)
      if (lastGoodAt) gauge.set({ result: 'good' }, lastGoodAt.getTime() / 1_000)
      if (lastBadAt) gauge.set({ result: 'bad' }, lastBadAt.getTime() / 1_000)
    }),
  })
  new Gauge({
    name: 'tallystick_audits_open',
    help: 'Audits that wait or are at work',
    registers,
    collect: asked(async (gauge) => gauge.set((await readAuditFigures(pool)).open)),
  })
}

function watchJobs({ registry }: Metrics, pool: pg.Pool): void {
  new Gauge({
    name: 'tallystick_jobs',
    help: 'Jobs that wait or are at work; those of the queue dead-letters were given up',
    labelNames: ['queue', 'state'],
    registers: [registry],
    collect: asked(async (gauge) => {
      for (const { queue, waiting, working } of await countJobs(pool)) {
        gauge.set({ queue, state: 'waiting' }, waiting)
        gauge.set({ queue, state: 'working' }, working)
      }
    }),
  })
}

/** Asked of the database when somebody reads; absent while it does not answer. */
function asked<L extends string>(read: (gauge: Gauge<L>) => Promise<void>) {
  return async function (this: Gauge<L>): Promise<void> {
    await read(this).catch(() => this.reset())
  }
}
