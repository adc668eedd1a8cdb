import { METRICS_ANSWER_TIMEOUT_MS } from '../limits.ts'
import type { Metrics } from './metrics.ts'
import { type Definition, type Reading, readGauge } from './readings.ts'

/**
 * Adds gauges that share one database query. The query runs when the gauges are read. If the query has no result, the
 * gauges are absent.
 *
 * A database that does not answer delays the other metrics by at most METRICS_ANSWER_TIMEOUT_MS. While a query is
 * running, no second query is started, because each query takes a connection.
 */
export function queryGauges<T>(
  metrics: Metrics,
  query: () => Promise<T>,
  gauges: readonly (Definition & { readonly read: (answer: T) => number | readonly Reading[] })[],
): void {
  const sharedQuery = makeSharedQuery(query)
  for (const { name, help, read } of gauges) {
    readGauge(metrics, { name, help }, async () => {
      const answer = await sharedQuery()
      if (answer === null) return []
      const found = read(answer)
      return typeof found === 'number' ? [{ value: found }] : found
    })
  }
}

/**
 * Returns a function that runs `query`. Concurrent callers of the function share one query. The function returns null
 * if the query failed or took too long.
 */
function makeSharedQuery<T>(query: () => Promise<T>): () => Promise<T | null> {
  let running: Promise<T | null> | null = null
  return async () => {
    running ??= query()
      .catch(() => null)
      .finally(() => {
        running = null
      })
    const late = Promise.withResolvers<null>()
    const timer = setTimeout(() => late.resolve(null), METRICS_ANSWER_TIMEOUT_MS)
    try {
      return await Promise.race([running, late.promise])
    } finally {
      clearTimeout(timer)
    }
  }
}
