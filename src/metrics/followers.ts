import type pg from 'pg'
import { Counter, Gauge, Histogram } from 'prom-client'
import type { FaultyLedgers } from '../checkpoints/faulty-ledgers.ts'
import type { RestoredLedgers } from '../checkpoints/restored-ledgers.ts'
import { readCheckpointLagSeconds } from '../db/checkpoints.ts'
import { countPendingErasures } from '../db/pending-erasures.ts'
import type { FollowerObserver } from '../follow/loop.ts'
import type { Refused } from '../follow/refused.ts'
import type { Metrics } from './metrics.ts'

/** What background work tells of its rounds, counted. */
export function makeFollowerObserver({ registry }: Metrics): FollowerObserver {
  const registers = [registry]
  const rounds = new Counter({
    name: 'tallystick_follower_rounds_total',
    help: 'Rounds of background work, by how they ended',
    labelNames: ['follower', 'result'],
    registers,
  })
  const seconds = new Histogram({
    name: 'tallystick_follower_round_duration_seconds',
    help: 'How long a round took',
    labelNames: ['follower'],
    buckets: [0.005, 0.025, 0.1, 0.5, 1, 5, 15, 60],
    registers,
  })
  return (follower, result, ms) => {
    rounds.inc({ follower, result })
    seconds.observe({ follower }, ms / 1000)
  }
}

/** Asked of the database when somebody reads; absent while it does not answer. */
export function watchCheckpoints({ registry }: Metrics, pool: pg.Pool, faulty: FaultyLedgers): void {
  const registers = [registry]
  new Gauge({
    name: 'tallystick_checkpoint_lag_seconds',
    help: 'Age of the oldest entry that no checkpoint covers, of all ledgers',
    registers,
    async collect() {
      try {
        this.set(await readCheckpointLagSeconds(pool))
      } catch {
        this.remove()
      }
    },
  })
  new Gauge({
    name: 'tallystick_checkpoint_faulty_ledgers',
    help: 'Ledgers that get no checkpoint because of a fault: see the log',
    registers,
    collect() {
      this.set(faulty.count)
    },
  })
}

/** Asked of the database when somebody reads; absent while it does not answer. */
export function watchErasures({ registry }: Metrics, pool: pg.Pool, refused: Refused): void {
  const registers = [registry]
  new Gauge({
    name: 'tallystick_erasures_pending',
    help: 'Documents that are erased and still stored, of all ledgers',
    registers,
    async collect() {
      try {
        this.set(await countPendingErasures(pool))
      } catch {
        this.remove()
      }
    },
  })
  new Gauge({
    name: 'tallystick_erasures_refused',
    help: 'Of those the ones that this worker refuses, because their entry does not order them: see the log',
    registers,
    collect() {
      this.set(refused.count)
    },
  })
}

export function watchRestoredLedgers({ registry }: Metrics, restored: RestoredLedgers): void {
  new Gauge({
    name: 'tallystick_contradicted_ledgers',
    help: 'Ledgers that are not what was published of them: closed until an operator acknowledges it, or gone whole',
    labelNames: ['finding'],
    registers: [registry],
    collect() {
      for (const finding of ['closed', 'gone'] as const) this.set({ finding }, restored.count(finding))
    },
  })
}
