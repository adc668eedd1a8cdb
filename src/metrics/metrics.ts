import type pg from 'pg'
import { collectDefaultMetrics, Gauge, Registry } from 'prom-client'
import { VERSION } from '../config.ts'

/**
 * What a process counts about itself, for Prometheus. Each part adds its own to `registry`. A label MUST have few values, known
 * beforehand: never an id, never anything that a client sends.
 */
export class Metrics {
  readonly registry = new Registry()
  readonly #pools = new Map<string, pg.Pool>()

  constructor() {
    const registers = [this.registry]
    const info = new Gauge({
      name: 'tallystick_build_info',
      help: 'Always 1',
      labelNames: ['version'],
      registers,
    })
    info.set({ version: VERSION }, 1)
    const pools = this.#pools
    new Gauge({
      name: 'tallystick_database_connections',
      help: 'Connections of a pool: open and idle, open and used; and callers that wait for one',
      labelNames: ['pool', 'state'],
      registers,
      collect() {
        for (const [pool, { totalCount, idleCount, waitingCount }] of pools) {
          this.set({ pool, state: 'idle' }, idleCount)
          this.set({ pool, state: 'used' }, totalCount - idleCount)
          this.set({ pool, state: 'waiting' }, waitingCount)
        }
      },
    })
  }

  watchPool(name: string, pool: pg.Pool): void {
    this.#pools.set(name, pool)
  }

  /** Of the process itself (CPU, memory, event-loop lag, garbage collection): they cost something, so only when somebody reads. */
  watchProcess(): void {
    collectDefaultMetrics({ register: this.registry })
  }
}
