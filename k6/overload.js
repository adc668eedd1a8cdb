/*
 * Twice what the server can do, and what becomes of it: first a fifth of the ceiling, for the latency of a server that has time; then
 * twice the ceiling; then half of it, and how long until that much is accepted again. Clients obey no Retry-After here. The
 * ceiling is CEILING, in records a second, which the runner finds on the same machine before; without it this script only looks for it,
 * with clients in a closed loop.
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
/** A process that has just begun runs code that is not compiled yet. */
const SEARCH_WARM_UP_SECONDS = profile.searchWarmUpSeconds
/** Fewer than the server lets in at once, so that it refuses none of them. */
const SEARCH_USERS = 128
/**
 * A request holds one while it is under way: as many as the server lets in (256, and once a burst of 2,048), and those that it is
 * about to refuse. With fewer k6 could not offer what it should; `short` only shows that all works.
 */
const USERS_MAX = profile.usersMax
/** Also where the ceiling is low: fewer than 256 would never be refused. */
const USERS_MIN = 320
/** Share of the offered load that must be accepted each second: then the throughput is back. */
const BACK_SHARE = 0.95
/** Every n-th answer is read: parsing all of them would be most of what k6 does. */
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
      // Requests under way when a phase ends are answered beside the next one: cut off, nobody would know their outcome.
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
      // Answers other than a 2xx and a 503. How quickly a 503 comes is measured; in `short`, beside whatever else the machine
      // does.
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
    /** Less than what was due where k6 could send no more. */
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
