import { ERROR_CODES, type ErrorCode } from '../errors.ts'
import { Durations } from '../observe/metrics/durations.ts'
import type { Metrics } from '../observe/metrics/metrics.ts'
import { type Reading, readCounter, readGauge, readHistogram, Tally } from '../observe/metrics/readings.ts'

const REQUEST_SECONDS = 'tallystick_http_request_duration_seconds'
const REQUEST_BOUNDS_MS = [1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000]

export class RouteDurations {
  readonly #labels: { readonly method: string; readonly route: string }
  readonly #byStatus = new Map<number, Durations>()

  constructor(method: string, route: string) {
    this.#labels = { method, route }
  }

  observe(status: number, ms: number): void {
    let durations = this.#byStatus.get(status)
    if (!durations) {
      durations = new Durations(REQUEST_BOUNDS_MS)
      this.#byStatus.set(status, durations)
    }
    durations.observe(ms)
  }

  readings(): Reading[] {
    return [...this.#byStatus].flatMap(([status, durations]) =>
      durations.readings(REQUEST_SECONDS, { ...this.#labels, status }),
    )
  }
}

/**
 * Metrics of the HTTP application. `connections` returns the number of open connections, or null if the server does not
 * listen.
 */
export class HttpMetrics {
  readonly #routes: RouteDurations[] = []
  readonly problems = new Tally<ErrorCode>(Object.keys(ERROR_CODES) as ErrorCode[])
  aborted = 0

  constructor(metrics: Metrics, connections: () => Promise<number | null>) {
    readHistogram(
      metrics,
      { name: REQUEST_SECONDS, help: 'From the headers of a request to the last byte of the answer' },
      () => this.#routes.flatMap((route) => route.readings()),
    )
    readCounter(
      metrics,
      { name: 'tallystick_http_problems_total', help: 'Answers that are problem documents, by code' },
      () => this.problems.readings('code'),
    )
    readCounter(
      metrics,
      {
        name: 'tallystick_http_requests_aborted_total',
        help: 'Requests whose client went away before the last byte of the answer',
      },
      () => this.aborted,
    )
    readGauge(
      metrics,
      { name: 'tallystick_http_connections', help: 'Open connections of clients' },
      async () => {
        const value = await connections()
        return value === null ? [] : [{ value }]
      },
    )
  }

  /**
   * Adds the histogram of one route and method. Must be called once for each route and method, so that requests need no
   * look-up.
   */
  addRoute(method: string, route: string): RouteDurations {
    const durations = new RouteDurations(method, route)
    this.#routes.push(durations)
    return durations
  }
}
