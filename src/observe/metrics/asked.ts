import { METRICS_ANSWER_TIMEOUT_MS } from '../limits.ts'
import type { Metrics } from './metrics.ts'
import { type Definition, type Reading, readGauge } from './readings.ts'

/**
 * Gauges of what one question to the database answers: asked when somebody reads them, and absent where there is no answer. A
 * database that hangs holds up no reading of the others for longer than METRICS_ANSWER_TIMEOUT_MS, and while a question is open
 * it is not asked again: each would hold a connection.
 */
export function askGauges<T>(
  metrics: Metrics,
  ask: () => Promise<T>,
  gauges: readonly (Definition & { readonly read: (answer: T) => number | readonly Reading[] })[],
): void {
  const asked = makeAsked(ask)
  for (const { name, help, read } of gauges) {
    readGauge(metrics, { name, help }, async () => {
      const answer = await asked()
      if (answer === null) return []
      const found = read(answer)
      return typeof found === 'number' ? [{ value: found }] : found
    })
  }
}

/** All who ask before there is an answer share it; null: there is none, or not in time. */
function makeAsked<T>(ask: () => Promise<T>): () => Promise<T | null> {
  let asking: Promise<T | null> | null = null
  return async () => {
    asking ??= ask()
      .catch(() => null)
      .finally(() => {
        asking = null
      })
    const late = Promise.withResolvers<null>()
    const timer = setTimeout(() => late.resolve(null), METRICS_ANSWER_TIMEOUT_MS)
    try {
      return await Promise.race([asking, late.promise])
    } finally {
      clearTimeout(timer)
    }
  }
}
