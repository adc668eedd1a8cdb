/*
 * Sends single records from a number of users without pauses between requests (a closed loop). The runner runs this
 * script on 1, 2 and 3 API processes of one CPU each, which share a database, and computes the ratios. Each user stays
 * with one process.
 */
import { check } from 'k6'
import exec from 'k6/execution'
import { makeRecordBodies } from './lib/data.js'
import { makeLedger } from './lib/deployment.js'
import { makeOptions, profileOf, watch, watchCount } from './lib/profile.js'
import { notarize } from './lib/requests.js'
import { makeSummary, measured } from './lib/summary.js'

const { users, warmUpSeconds, seconds: secondsDefault } = profileOf('replicas')
const seconds = Number(__ENV.SECONDS ?? secondsDefault)
/** Only every n-th answer is parsed, because parsing all answers would be most of k6's work. */
const READ_EVERY = 16

export const options = makeOptions({
  scenarios: {
    users: { executor: 'constant-vus', vus: users, duration: `${warmUpSeconds + seconds}s` },
  },
  thresholds: {
    ...watchCount('acknowledged_records', ['phase:measured']),
    ...watch('accepted', ['phase:measured']),
    unanswered_records: ['count==0'],
  },
})

const nextBody = makeRecordBodies()

export function setup() {
  return makeLedger('replicas')
}

/** @param {import('./lib/deployment.js').Ledger} ledger */
export default function ({ key }) {
  const keepBody = __ITER % READ_EVERY === 0
  const isWarm = Date.now() >= exec.scenario.startTime + warmUpSeconds * 1000
  const tags = { phase: isWarm ? 'measured' : 'warm-up' }
  const { outcome, body } = notarize(key, nextBody(), { keepBody, tags })
  if (!keepBody || outcome !== 'done') return
  const { id, state, entry } = JSON.parse(/** @type {string} */ (body))
  check(null, { 'an answer says what was recorded': () => !!id && state === 'RECORDED' && entry.seq >= 0 })
}

export const handleSummary = makeSummary('replicas', (data) => ({
  figures: { rate: (measured(data, 'acknowledged_records{phase:measured}', 'count') ?? 0) / seconds },
  extras: {
    users,
    warmUpSeconds,
    seconds,
    p50Ms: measured(data, 'accepted{phase:measured}', 'p(50)'),
    p99Ms: measured(data, 'accepted{phase:measured}', 'p(99)'),
  },
}))
