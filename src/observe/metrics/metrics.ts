import { collectDefaultMetrics, Gauge, Registry } from 'prom-client'
import { VERSION } from '../version.ts'

/**
 * Default metrics of prom-client that are left out. Reading them lists every handle of the process, and Prometheus
 * takes their gauges for counters, because the names end in _total.
 */
const OMITTED = ['resources', 'handles', 'requests'].flatMap((what) => [
  `nodejs_active_${what}`,
  `nodejs_active_${what}_total`,
])

/**
 * Metrics of a process for Prometheus. Modules add their own metrics to `registry`. The values of a label MUST be few
 * and known in advance. So a label is never an id, and nothing that a client sends. docs/operate/observe.md lists each
 * metric, and test/observe/metrics compares this list with the code.
 */
export class Metrics {
  readonly registry = new Registry()
  readonly #parts = new Map<string, Map<string, unknown>>()

  constructor() {
    const info = new Gauge({
      name: 'tallystick_build_info',
      help: 'Always 1; the labels say what runs',
      labelNames: ['version'],
      registers: [this.registry],
    })
    info.set({ version: VERSION }, 1)
  }

  /**
   * Adds one of several parts of the same kind, for example one of several database pools. `define` is called once for
   * each kind. It must define the metrics with a label for the part.
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
   * Adds metrics of the process itself: CPU, memory, event-loop lag and garbage collection. They are measured only when
   * they are read, because measuring takes time. `name`: label of the process, if several processes are read together.
   */
  watchProcess(name?: string): void {
    collectDefaultMetrics({
      register: this.registry,
      ...(name !== undefined && { labels: { process: name } }),
    })
    for (const name of OMITTED) this.registry.removeSingleMetric(name)
  }
}
