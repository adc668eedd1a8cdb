/*
 * Users who send the next request as soon as the last one is answered. 70 % of the requests get a record, 20 % notarize
 * a record, 10 % list the newest records. The number of users rises in steps, and each step has its own figures. A
 * refused user waits for the time of `Retry-After`.
 */
import { check, sleep } from 'k6'
import exec from 'k6/execution'
import { makeBatchBodies, makeRecordBodies, rng, SEED } from './lib/data.js'
import { makeLedger } from './lib/deployment.js'
import { makeOptions, PROFILE, profileOf, watch, watchCount, watchRate } from './lib/profile.js'
import { get, list, notarize, notarizeBatch } from './lib/requests.js'
import { makeSteps } from './lib/steps.js'
import { makeSummary, measured } from './lib/summary.js'

const { users, seconds } = profileOf('mixed-users')
/** The variable STEPS sets other numbers of users. */
const USERS = __ENV.STEPS?.split(',').map(Number) ?? users
const HOLD_SECONDS = Number(__ENV.SECONDS ?? seconds)
/**
 * Maximum number of new users per second. With more new connections in a second, the server's accept queue would be
 * full. The refused connections would be tried again a second later.
 */
const USERS_PER_SECOND = 400
const SEEDED = 10_000
const SEEDED_PER_BATCH = 1_000
/**
 * Each user has the ids of every tenth seeded record, and of the last record that it wrote. k6 gives each user a copy
 * of the result of `setup`, and 10,000 copies of all the ids would be 3 GB.
 */
const KNOWN_EVERY = 10
const ID_CHARS = 'rec_'.length + 26
const PAGE = 'limit=20'
/** Only every n-th answer is parsed, because parsing all answers would be most of k6's work. */
const READ_EVERY = 16
const P99_MS_MAX = 1_000

const steps = makeSteps(
  USERS.map((users, i) => ({
    name: String(users),
    target: users,
    rampSeconds: Math.max(1, Math.ceil((users - (USERS[i - 1] ?? 0)) / USERS_PER_SECOND)),
    holdSeconds: HOLD_SECONDS,
  })),
)
const tags = USERS.map((users) => `step:${users}`)

export const options = makeOptions({
  scenarios: {
    users: {
      executor: 'ramping-vus',
      startVUs: 0,
      stages: steps.stages,
      gracefulStop: '120s',
    },
  },
  thresholds: {
    ...watch('accepted', tags),
    ...watch('rejected', tags),
    ...watchRate('failed', tags),
    ...watchCount('http_reqs', tags),
    ...(PROFILE === 'full'
      ? Object.fromEntries(tags.map((tag) => [`accepted{${tag}}`, [`p(99)<${P99_MS_MAX}`]]))
      : {}),
  },
})

const nextBody = makeRecordBodies()
const random = rng(SEED, __VU)
/** @type {string | null} */
let ownRecord = null

/** @typedef {{ ledger: import('./lib/deployment.js').Ledger, ids: string }} Seeded `ids`: concatenated */

/** @returns {Seeded} */
export function setup() {
  const ledger = makeLedger('mixed-users')
  const nextBatch = makeBatchBodies(SEEDED_PER_BATCH)
  let ids = ''
  for (let made = 0; made < SEEDED; made += SEEDED_PER_BATCH) {
    const { status, body } = notarizeBatch(ledger.key, nextBatch(), SEEDED_PER_BATCH, { keepBody: true })
    if (status !== 201) throw new Error(`POST /v1/records/batch answered ${status}: ${body}`)
    const { records } = JSON.parse(/** @type {string} */ (body))
    for (let i = 0; i < records.length; i += KNOWN_EVERY) ids += records[i].id
  }
  return { ledger, ids }
}

/** @param {Seeded} seeded */
export default function ({ ledger: { key }, ids }) {
  exec.vu.metrics.tags['step'] = steps.nameAt(Date.now() - exec.scenario.startTime)
  const keepBody = exec.vu.iterationInScenario % READ_EVERY === 0
  const choice = random.next()
  const answer =
    choice < 0.7 ? getOne(key, ids, keepBody) : choice < 0.9 ? notarizeOne(key) : listNewest(key, keepBody)
  if (answer.status === 503) sleep(answer.retryAfterSeconds || 1)
}

/** @param {string} key @param {string} ids @param {boolean} keepBody */
function getOne(key, ids, keepBody) {
  const known = ids.length / ID_CHARS
  // An index after the last known id means the record that the user wrote.
  const at = random.integer(0, known)
  const id =
    at < known ? ids.slice(at * ID_CHARS, (at + 1) * ID_CHARS) : (ownRecord ?? ids.slice(0, ID_CHARS))
  const answer = get(key, id, { keepBody })
  if (answer.body !== null && answer.outcome === 'done')
    check(answer.body, { 'get answers the record': (body) => body.startsWith(`{"id":"${id}"`) })
  return answer
}

/** @param {string} key */
function notarizeOne(key) {
  const answer = notarize(key, nextBody(), { keepBody: true })
  if (answer.outcome !== 'done') return answer
  const id = /^\{"id":"(rec_[0-9a-z]{26})"/.exec(/** @type {string} */ (answer.body))?.[1] ?? null
  check(id, { 'notarize answers an id': () => id !== null })
  ownRecord = id
  return answer
}

/** @param {string} key @param {boolean} keepBody */
function listNewest(key, keepBody) {
  const answer = list(key, PAGE, { keepBody })
  if (answer.body !== null && answer.outcome === 'done')
    check(answer.body, { 'list answers a whole page': (body) => JSON.parse(body).data.length === 20 })
  return answer
}

export const handleSummary = makeSummary('mixed-users', (data) => {
  const reached = USERS.map((users) => measureStep(data, users))
  // The published figure is for 6,000 users. If that step did not run, the largest step is compared.
  const compared = reached.find(({ users }) => users === 6000) ?? reached[reached.length - 1]
  return {
    figures: {
      users: Math.max(0, ...reached.filter(({ failedShare }) => failedShare === 0).map(({ users }) => users)),
      rate: compared.acceptedPerSecond,
      p99: compared.p99,
      failedPercent: compared.failedShare === null ? null : compared.failedShare * 100,
    },
    extras: {
      tried: { users: Math.max(...USERS) },
      comparedUsers: compared.users,
      holdSeconds: HOLD_SECONDS,
      steps: reached,
    },
  }
})

/** @param {import('./lib/summary.js').SummaryData} data @param {number} users */
function measureStep(data, users) {
  /** @param {string} metric @param {string} statistic */
  const value = (metric, statistic) => measured(data, `${metric}{step:${users}}`, statistic)
  const requests = value('http_reqs', 'count') ?? 0
  const refused = value('rejected', 'count') ?? 0
  return {
    users,
    requestsPerSecond: requests / HOLD_SECONDS,
    acceptedPerSecond: (value('accepted', 'count') ?? 0) / HOLD_SECONDS,
    p50: value('accepted', 'p(50)'),
    p99: value('accepted', 'p(99)'),
    p999: value('accepted', 'p(99.9)'),
    max: value('accepted', 'max'),
    refusedShare: requests === 0 ? 0 : refused / requests,
    refusedP50: value('rejected', 'p(50)'),
    refusedP99: value('rejected', 'p(99)'),
    failedShare: value('failed', 'rate'),
  }
}
