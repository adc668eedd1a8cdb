/*
 * Writes a script's summary as JSON to the file that SUMMARY names. The runner prints the summary beside the figures
 * published elsewhere (bench/k6/print.ts).
 */
import { SEED } from './data.js'
import { PROFILE } from './profile.js'

/**
 * Measurements of a script, by the ids in published.json. A figure is null if this run did not measure it.
 *
 * @typedef {Record<string, number | null>} Figures
 */

/**
 * @typedef {object} SummaryData what k6 hands to handleSummary
 * @property {Record<string, { type: string, contains: string, values: Record<string, number>, thresholds?: Record<string, { ok: boolean }> }>} metrics
 * @property {{ testRunDurationMs: number }} state
 * @property {unknown} [setup_data]
 * @property {Group} root_group
 */

/**
 * @typedef {object} Group
 * @property {{ name: string, passes: number, fails: number }[]} checks
 * @property {Group[]} groups `setup` and `teardown` are groups
 */

/**
 * Returns the `handleSummary` of a script.
 *
 * @param {string} name of the script in published.json
 * @param {(data: SummaryData) => { figures: Figures, extras?: Record<string, unknown> }} measure `extras`: shown in
 * the report too
 * @returns {(data: SummaryData) => Record<string, string>}
 */
export function makeSummary(name, measure) {
  return (data) => {
    const { figures, extras = {} } = measure(data)
    const summary = {
      script: name,
      profile: PROFILE,
      seed: SEED,
      durationMs: data.state.testRunDurationMs,
      ledgers: findLedgers(data.setup_data),
      figures,
      extras,
      thresholds: listThresholds(data),
      checks: listChecks(data.root_group),
      metrics: Object.fromEntries(
        Object.entries(data.metrics).map(([metric, { type, contains, values }]) => [
          metric,
          { type, contains, ...values },
        ]),
      ),
    }
    return { [__ENV.SUMMARY ?? 'stdout']: JSON.stringify(summary) }
  }
}

/**
 * Returns a metric's value, or null if it was never counted.
 *
 * @param {SummaryData} data
 * @param {string} metric `accepted` or `accepted{scenario:two}`
 * @param {string} statistic `p(99)`, `count`, `rate`
 * @returns {number | null}
 */
export function measured({ metrics }, metric, statistic) {
  const values = metrics[metric]?.values
  // A trend without samples has 0 for each percentile.
  if (values === undefined || values['count'] === 0) return null
  return values[statistic] ?? null
}

/** @param {SummaryData} data */
function listThresholds({ metrics }) {
  return Object.entries(metrics).flatMap(([metric, { thresholds = {} }]) =>
    Object.entries(thresholds).map(([expression, { ok }]) => ({ metric, expression, ok })),
  )
}

/** @param {Group} group @returns {{ name: string, passes: number, fails: number }[]} */
function listChecks({ checks, groups }) {
  return [
    ...checks.map(({ name, passes, fails }) => ({ name, passes, fails })),
    ...groups.flatMap(listChecks),
  ]
}

/**
 * Returns the ids of ledgers in the result of `setup`. Everything else is left out, because it contains keys.
 *
 * @param {unknown} data
 * @returns {string[]}
 */
function findLedgers(data) {
  const found = JSON.stringify(data ?? null).match(/"led_[0-9a-z]{26}"/g) ?? []
  return [...new Set(found.map((text) => text.slice(1, -1)))]
}
