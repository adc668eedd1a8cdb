/*
 * Sends single records at a rate that rises from 1 to 100 requests a second within 30 s, however the server behaves (an
 * open model). PEAK sets another maximum. RATE sets a constant rate instead. The runner uses RATE to find the ceiling.
 */
import { check } from 'k6'
import { makeRecordBodies } from './lib/data.js'
import { makeLedger } from './lib/deployment.js'
import { makeOptions, PROFILE, profileOf, watchCount } from './lib/profile.js'
import { notarize } from './lib/requests.js'
import { makeSummary, measured } from './lib/summary.js'

const { seconds, peak: peakDefault, usersMax } = profileOf('notarize-ramp')
const FROM = 1
const peak = Number(__ENV.PEAK ?? peakDefault)
const held = __ENV.RATE === undefined ? null : Number(__ENV.RATE)
const runSeconds = Number(__ENV.SECONDS ?? seconds)
/**
 * Each request occupies one user until it is answered. If a request takes 1 s, there must be as many users as requests
 * per second.
 */
const users = Math.min(usersMax, Math.max(64, Math.ceil(held ?? peak)))
/** Only every n-th answer is parsed, because parsing all answers would be most of k6's work. */
const READ_EVERY = 16

export const options = makeOptions({
  scenarios: {
    ramp: {
      executor: 'ramping-arrival-rate',
      startRate: held ?? FROM,
      timeUnit: '1s',
      stages: [{ duration: `${runSeconds}s`, target: held ?? peak }],
      preAllocatedVUs: users,
      gracefulStop: '30s',
    },
  },
  // Above the ceiling, refusals, failures and dropped iterations are expected, and the runner judges them. A ramp below
  // the ceiling must have none of them. The short profile allows dropped iterations, because a slow machine may start
  // k6 late.
  thresholds: __ENV.SEARCHING
    ? { failed: [], ...watchCount('http_reqs', ['status:503']) }
    : {
        'http_reqs{status:503}': ['count==0'],
        ...(PROFILE === 'full' && { dropped_iterations: ['count==0'] }),
      },
})

const nextBody = makeRecordBodies()

export function setup() {
  return makeLedger('notarize-ramp')
}

/** @param {import('./lib/deployment.js').Ledger} ledger */
export default function ({ key }) {
  const keepBody = __ITER % READ_EVERY === 0
  const { outcome, body } = notarize(key, nextBody(), { keepBody })
  if (!keepBody || outcome !== 'done') return
  const { id, state, entry } = JSON.parse(/** @type {string} */ (body))
  check(null, { 'an answer says what was recorded': () => !!id && state === 'RECORDED' && entry.seq >= 0 })
}

export const handleSummary = makeSummary('notarize-ramp', (data) => ({
  figures: {
    rate: (measured(data, 'acknowledged_records', 'count') ?? 0) / runSeconds,
    p50: measured(data, 'accepted', 'p(50)'),
    p99: measured(data, 'accepted', 'p(99)'),
  },
  extras: {
    peakPerSecond: held ?? peak,
    dropped: measured(data, 'dropped_iterations', 'count') ?? 0,
    refused: measured(data, 'http_reqs{status:503}', 'count') ?? 0,
  },
}))
