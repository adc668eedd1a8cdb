/*
 * Loads the server with twice its ceiling. There are three phases:
 *
 * 1. A fifth of the ceiling, to measure the latency of an unloaded server.
 * 2. Twice the ceiling.
 * 3. Half the ceiling, to measure the time until the server accepts this rate again.
 *
 * Clients ignore Retry-After. CEILING is the ceiling in records a second, which the runner has measured on the same
 * machine. Without CEILING, this script only searches for the ceiling, with clients in a closed loop.
 */
import { check } from 'k6'
import exec from 'k6/execution'
import { makeRecordBodies } from './lib/data.js'
import { makeLedger } from './lib/deployment.js'
import { makeOptions, PROFILE, profileOf, watch, watchCount, watchRate } from './lib/profile.js'
import { findRecovery } from './lib/recovery.js'
import { notarize } from './lib/requests.js'
import { makeSteps } from './lib/steps.js'
import { makeSummary, measured } from './lib/summary.js'

const CEILING = __ENV.CEILING === undefined ? null : Number(__ENV.CEILING)
const profile = profileOf('overload')
const PHASES = {
  unloaded: { share: 0.2, seconds: profile.unloadedSeconds },
  overload: { share: 2, seconds: Number(__ENV.SECONDS ?? profile.seconds) },
  recovery: { share: 0.5, seconds: profile.recoverySeconds },
}
const SEARCH_SECONDS = profile.searchSeconds
/** Warm-up of the search in seconds. A process that has just started runs code that is not compiled yet. */
const SEARCH_WARM_UP_SECONDS = profile.searchWarmUpSeconds
/**
 * Number of users of the search. It is less than the number of requests that the server admits at the same time, so
 * that the server refuses none of them.
 */
const SEARCH_USERS = 128
/**
 * Maximum number of users. Each request in progress occupies a user. There must be enough users for the requests that
 * the server admits (256, or once 2,048 in a burst), and for further requests that it refuses. With fewer users, k6
 * could not send the load. `short` has fewer, because it only shows that the script works.
 */
const USERS_MAX = profile.usersMax
/**
 * Minimum number of users, for a low ceiling. The server admits 256 requests at a time, so it would never refuse a
 * request of fewer users.
 */
const USERS_MIN = 320
/** Share of the offered load that must be accepted each second for the rate to count as recovered. */
const BACK_SHARE = 0.95
/** Only every n-th answer is parsed, because parsing all answers would be most of k6's work. */
const READ_EVERY = 16

const search = makeSteps([
  { name: 'search', target: SEARCH_USERS, rampSeconds: SEARCH_WARM_UP_SECONDS, holdSeconds: SEARCH_SECONDS },
])
const RECOVERY_SECONDS = Array.from({ length: PHASES.recovery.seconds }, (_, second) => second)

export const options = CEILING === null ? optionsOfSearch() : optionsOfOverload(CEILING)

function optionsOfSearch() {
  return makeOptions({
    scenarios: {
      search: {
        executor: 'constant-vus',
        vus: SEARCH_USERS,
        duration: `${search.seconds}s`,
        gracefulStop: '60s',
      },
    },
    thresholds: watch('accepted', ['phase:search']),
  })
}

/** @param {number} ceiling */
function optionsOfOverload(ceiling) {
  let startsAt = 0
  const scenarios = Object.entries(PHASES).map(([phase, { share, seconds }]) => {
    const rate = Math.max(1, Math.round(ceiling * share))
    const scenario = {
      executor: 'constant-arrival-rate',
      rate,
      timeUnit: '1s',
      duration: `${seconds}s`,
      startTime: `${startsAt}s`,
      preAllocatedVUs: Math.min(USERS_MAX, Math.max(USERS_MIN, rate)),
      // Requests in progress at the end of a phase are answered during the next phase. If k6 cut them off, their
      // outcome would be unknown.
      gracefulStop: '60s',
    }
    startsAt += seconds
    return [phase, scenario]
  })
  const tags = Object.keys(PHASES).map((phase) => `scenario:${phase}`)
  const bySecond = RECOVERY_SECONDS.map((second) => `second:${second}`)
  return makeOptions({
    scenarios: Object.fromEntries(scenarios),
    thresholds: {
      ...watch('accepted', [...tags, ...bySecond]),
      ...watch('rejected', [...tags, ...bySecond]),
      ...watchRate('failed', tags),
      ...watchCount('http_reqs', tags),
      ...watchCount('dropped_iterations', tags),
      // No answer may be other than a 2xx or a 503. `failed` also requires that a 503 is quick. `short` does not check
      // `failed`, because the machine may be busy.
      http_req_failed: ['rate==0'],
      ...(PROFILE === 'short' ? { failed: [] } : {}),
    },
  })
}

const nextBody = makeRecordBodies()

export function setup() {
  return makeLedger('overload')
}

/** @param {import('./lib/deployment.js').Ledger} ledger */
export default function ({ key }) {
  const { name, startTime } = exec.scenario
  const ms = Date.now() - startTime
  if (name === 'search') exec.vu.metrics.tags['phase'] = search.nameAt(ms)
  if (name === 'recovery') exec.vu.metrics.tags['second'] = String(Math.floor(ms / 1_000))
  const keepBody = exec.vu.iterationInScenario % READ_EVERY === 0
  const { outcome, body } = notarize(key, nextBody(), { keepBody })
  if (body === null || outcome !== 'done') return
  const { id, state, entry } = JSON.parse(body)
  check(null, { 'an answer says what was recorded': () => !!id && state === 'RECORDED' && entry.seq >= 0 })
}

export const handleSummary = makeSummary('overload', (data) =>
  CEILING === null ? found(data) : suffered(data, CEILING),
)

/** @param {import('./lib/summary.js').SummaryData} data */
function found(data) {
  const accepted = measured(data, 'accepted{phase:search}', 'count') ?? 0
  return { figures: { ceiling: accepted / SEARCH_SECONDS }, extras: { searchUsers: SEARCH_USERS } }
}

/** @param {import('./lib/summary.js').SummaryData} data @param {number} ceiling */
function suffered(data, ceiling) {
  const phases = Object.keys(PHASES).map((phase) =>
    measurePhase(data, /** @type {keyof typeof PHASES} */ (phase), ceiling),
  )
  const [unloaded, overload] = phases
  const acceptedBySecond = RECOVERY_SECONDS.map(
    (second) => measured(data, `accepted{second:${second}}`, 'count') ?? 0,
  )
  return {
    figures: {
      ceiling,
      offered: overload.offeredPerSecond,
      rate: overload.acceptedPerSecond,
      rejectedP50: overload.rejectedP50,
      rejectedP99: overload.rejectedP99,
      tailRatio: unloaded.p99 && overload.p99 ? overload.p99 / unloaded.p99 : null,
      recoverySeconds: findRecovery(acceptedBySecond, ceiling * PHASES.recovery.share * BACK_SHARE),
    },
    extras: { phases, acceptedBySecond },
  }
}

/** @param {import('./lib/summary.js').SummaryData} data @param {keyof typeof PHASES} phase @param {number} ceiling */
function measurePhase(data, phase, ceiling) {
  const { share, seconds } = PHASES[phase]
  /** @param {string} metric @param {string} statistic */
  const value = (metric, statistic) => measured(data, `${metric}{scenario:${phase}}`, statistic)
  return {
    phase,
    duePerSecond: ceiling * share,
    /** This is below the intended rate if k6 could not send more requests. */
    offeredPerSecond: (value('http_reqs', 'count') ?? 0) / seconds,
    dropped: value('dropped_iterations', 'count') ?? 0,
    acceptedPerSecond: (value('accepted', 'count') ?? 0) / seconds,
    p50: value('accepted', 'p(50)'),
    p99: value('accepted', 'p(99)'),
    p999: value('accepted', 'p(99.9)'),
    rejected: value('rejected', 'count') ?? 0,
    rejectedP50: value('rejected', 'p(50)'),
    rejectedP99: value('rejected', 'p(99)'),
    failedShare: value('failed', 'rate'),
  }
}
