import { collectDefaultMetrics, Gauge, Registry } from 'prom-client'
import { VERSION } from '../version.ts'

/** Each reading of these lists every handle of the process, and gauges that end in _total are read as counters. */
const LEFT_OUT = ['resources', 'handles', 'requests'].flatMap((what) => [
  `nodejs_active_${what}`,
  `nodejs_active_${what}_total`,
])

/**
 * Figures of a process for Prometheus. Each part adds its own to `registry`. A label MUST have few values, known beforehand:
 * never an id, never anything that a client sends. docs/metrics.md has each, and test/observe/metrics holds both to it.
 */
export class Metrics {
  readonly registry = new Registry()
  readonly #parts = new Map<string, Map<string, unknown>>()

  constructor() {
    const info = new Gauge({
      name: 'tallystick_build_info',
      help: 'Always 1; what runs stands in the label',
      labelNames: ['version'],
      registers: [this.registry],
    })
    info.set({ version: VERSION }, 1)
  }

  /**
   * Where a process has several of a kind (pools; with `npm start` also what a server and a worker both have), the metrics are
   * defined once, with a label that names each.
   */
  addPart<T>(kind: string, name: string, part: T, define: (parts: ReadonlyMap<string, T>) => void): void {
    let parts = this.#parts.get(kind) as Map<string, T> | undefined
    if (!parts) {
      parts = new Map()
      this.#parts.set(kind, parts)
      define(parts)
    }
    parts.set(name, part)
  }

  /**
   * Figures of the process itself (CPU, memory, event-loop lag, garbage collection). They cost something, so they are taken
   * only when somebody reads them. `name`: of several processes that are read together.
   */
  watchProcess(name?: string): void {
    collectDefaultMetrics({
      register: this.registry,
      ...(name !== undefined && { labels: { process: name } }),
    })
    for (const name of LEFT_OUT) this.registry.removeSingleMetric(name)
  }
}
