/*
 * What a script says at its end: a short table for people (published elsewhere, here, goal), and for the runner everything,
 * as JSON in the file that SUMMARY names.
 */
import { SEED } from './data.js'
import { PROFILE } from './profile.js'

/** Read once: k6 writes the summary in the virtual user that also runs `setup`, number 0. */
const PUBLISHED = __VU === 0 ? JSON.parse(open('../published.json')) : {}

/**
 * What a script measured, by the ids of its figures in published.json. null: not measured in this run.
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
 * The `handleSummary` of a script.
 * @param {string} name of the script, as in published.json
 * @param {(data: SummaryData) => { figures: Figures, extras?: Record<string, unknown> }} measure `extras`: what else the report
 *   should show
 * @returns {(data: SummaryData) => Record<string, string>}
 */
export function makeSummary(name, measure) {
  return (data) => {
    const { figures, extras = {} } = measure(data)
    const thresholds = listThresholds(data)
    const checks = listChecks(data.root_group)
    const summary = {
      script: name,
      profile: PROFILE,
      seed: SEED,
      durationMs: data.state.testRunDurationMs,
      ledgers: findLedgers(data.setup_data),
      figures,
      extras,
      thresholds,
      checks,
      metrics: Object.fromEntries(
        Object.entries(data.metrics).map(([metric, { type, contains, values }]) => [
          metric,
          { type, contains, ...values },
        ]),
      ),
    }
    const files = __ENV.SUMMARY ? { [__ENV.SUMMARY]: JSON.stringify(summary) } : {}
    return { stdout: describe(name, figures, thresholds, checks), ...files }
  }
}

/**
 * A metric's value, or null where it was never counted.
 * @param {SummaryData} data
 * @param {string} metric `accepted` or `accepted{scenario:two}`
 * @param {string} statistic `p(99)`, `count`, `rate`
 * @returns {number | null}
 */
export function measured({ metrics }, metric, statistic) {
  const values = metrics[metric]?.values
  // A trend that nothing was added to says 0 for each percentile.
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

/** Of what setup answered the ledgers, and nothing else: the rest holds keys. @param {unknown} data @returns {string[]} */
function findLedgers(data) {
  const found = JSON.stringify(data ?? null).match(/"led_[0-9a-z]{26}"/g) ?? []
  return [...new Set(found.map((text) => text.slice(1, -1)))]
}

/**
 * @param {string} name
 * @param {Figures} figures
 * @param {{ metric: string, expression: string, ok: boolean }[]} thresholds
 * @param {{ name: string, fails: number }[]} checks
 */
function describe(name, figures, thresholds, checks) {
  const published = PUBLISHED[name] ?? { what: '', figures: [] }
  const rows = published.figures
    .filter((/** @type {{ id: string }} */ { id }) => figures[id] !== undefined)
    .map((/** @type {any} */ figure) => [
      figure.name,
      format(figure.published, figure.unit),
      format(figures[figure.id], figure.unit),
      formatGoal(figure.goal, figure.unit),
    ])
  const table = [['', 'published elsewhere', 'here', 'goal'], ...rows]
  const lines = table.map((cells) => `  ${cells[0].padEnd(44)} ${cells.slice(1).map(pad).join(' ')}`)
  const broken = thresholds
    .filter(({ ok }) => !ok)
    .map(({ metric, expression }) => `${metric}: ${expression}`)
  const verdict =
    broken.length === 0
      ? `  all ${thresholds.length} thresholds hold`
      : `  THRESHOLDS BROKEN: ${broken.join(', ')}`
  const failing = checks
    .filter(({ fails }) => fails > 0)
    .map((failed) => `\n  not so, ${failed.fails} times: ${failed.name}`)
  return `\n${name} (${PROFILE}): ${published.what}\n${lines.join('\n')}\n${verdict}${failing.join('')}\n`
}

/** @param {string} text */
const pad = (text) => text.padStart(20)

/** @param {number | null | undefined} value @param {string} unit */
function format(value, unit) {
  if (value === null || value === undefined) return '–'
  const digits = Math.abs(value) >= 100 || Number.isInteger(value) ? 0 : Math.abs(value) >= 10 ? 1 : 2
  return `${value.toFixed(digits).replace(/\B(?=(\d{3})+$)/g, digits === 0 ? ',' : '')} ${unit}`.trim()
}

/** @param {{ atLeast?: number, atMost?: number } | undefined} goal @param {string} unit */
function formatGoal(goal, unit) {
  if (goal?.atLeast !== undefined) return `≥ ${format(goal.atLeast, unit)}`
  return goal?.atMost !== undefined ? `≤ ${format(goal.atMost, unit)}` : '–'
}
