import type pg from 'pg'
import { Counter, Gauge, Histogram } from 'prom-client'
import { countOverdue } from '../db/expiry-work.ts'
import { readWaitingFigures } from '../db/verification-work.ts'
import type { Refused } from '../follow/refused.ts'
import type { VerificationObserver } from '../verification/verify-completions.ts'
import type { Metrics } from './metrics.ts'

/** What the worker tells of each completion, counted. */
export function makeVerificationObserver({ registry }: Metrics): VerificationObserver {
  const registers = [registry]
  const verified = new Counter({
    name: 'tallystick_completions_verified_total',
    help: 'Completions by what was found; refused: what is stored is not what was signed',
    labelNames: ['outcome'],
    registers,
  })
  for (const outcome of ['pass', 'fail', 'refused']) verified.inc({ outcome }, 0)
  const seconds = new Histogram({
    name: 'tallystick_completion_verification_seconds',
    help: 'From the submission of a completion to the entry that says what was found',
    buckets: [0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 30, 300],
    registers,
  })
  return (outcome, ms) => {
    verified.inc({ outcome })
    if (outcome !== 'refused') seconds.observe(ms / 1000)
  }
}

/** Asked of the database when somebody reads; absent while it does not answer. */
export function watchVerification({ registry }: Metrics, pool: pg.Pool): void {
  new Gauge({
    name: 'tallystick_completions_waiting',
    help: 'Completions that are not verified yet, of all open ledgers, and the age of the oldest in seconds',
    labelNames: ['unit'],
    registers: [registry],
    async collect() {
      try {
        const { count, oldestSeconds } = await readWaitingFigures(pool)
        this.set({ unit: 'completions' }, count)
        this.set({ unit: 'seconds' }, oldestSeconds)
      } catch {
        this.reset()
      }
    },
  })
}

/** Hears of each record that was expired. */
export function makeExpiryObserver({ registry }: Metrics): () => void {
  const expired = new Counter({
    name: 'tallystick_records_expired_total',
    help: 'Records that were expired, because their deadline had passed',
    registers: [registry],
  })
  return () => expired.inc()
}

/** The first is asked of the database when somebody reads; absent while it does not answer. */
export function watchExpiry({ registry }: Metrics, pool: pg.Pool, refused: Refused): void {
  const registers = [registry]
  new Gauge({
    name: 'tallystick_records_overdue',
    help: 'Records whose deadline has passed and that are not expired yet, of all open ledgers',
    registers,
    async collect() {
      try {
        this.set(await countOverdue(pool))
      } catch {
        this.remove()
      }
    },
  })
  new Gauge({
    name: 'tallystick_expiries_refused',
    help: 'Of those the ones that this worker refuses, because they are not what was signed: see the log',
    registers,
    collect() {
      this.set(refused.count)
    },
  })
}
