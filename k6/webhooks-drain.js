/*
 * Measures webhook deliveries.
 *
 * 1. The webhooks of some ledgers are paused, a backlog is recorded, and the webhooks are resumed. The rate is counted
 *    at the receiver, from the first arrival to the last.
 * 2. One ledger's records are written at a constant rate. Each lag is the time from the entry's `recordedAt` to the
 *    arrival of its event.
 *
 * The receiver is a process that the runner starts (RECEIVER_URL). It counts the arrivals.
 */
import { check, sleep } from 'k6'
import { Counter, Gauge, Trend } from 'k6/metrics'
import { makeRecordBodies } from './lib/data.js'
import { makeLedger, makeLedgers, post } from './lib/deployment.js'
import { makeOptions, PROFILE, profileOf } from './lib/profile.js'
import { addEndpoint, arrivals, beginWindow, countEndpoints, lags, rateOf, urlOf } from './lib/receiver.js'
import { notarize, notarizeLater, send } from './lib/requests.js'
import { makeSummary, measured } from './lib/summary.js'

const { ledgers, backlog, perSecond, followers, seconds: secondsDefault } = profileOf('webhooks-drain')
const seconds = Number(__ENV.SECONDS ?? secondsDefault)
const FILL_IN_FLIGHT = 32
/** Time in seconds for the other followers to process the backlog's entries before the backlog is drained. */
const CALM_SECONDS = 4
const LOOK_EVERY_SECONDS = 0.1
/**
 * Maximum number of polls for the state of deliveries. The server stores the result of a delivery after its arrival: on
 * a busy machine up to a minute later.
 */
const STANDING_LOOKS_MAX = 120
const STANDING_LOOK_EVERY_SECONDS = 0.5
/**
 * Maximum time in seconds for the whole backlog to arrive, and for the deliveries that are in progress when the
 * constant rate ends.
 */
const DRAIN_SECONDS_MAX = 180
const ARRIVE_SECONDS_MAX = 60

/** Acknowledged records minus their arrivals at the receiver. Each record must arrive at one endpoint. */
const undelivered = new Counter('undelivered_records')
const drainRate = new Gauge('drained_per_second')
const followRate = new Gauge('followed_per_second')
/** Lag of each delivery: whole milliseconds since the entry's `recordedAt`. */
const lagMs = new Trend('delivery_lag', true)
/**
 * Number of deliveries of an event that had arrived before. An event is delivered at least once, so it may arrive
 * again.
 */
const repeated = new Gauge('repeated_deliveries')

export const options = makeOptions({
  scenarios: {
    follow: {
      executor: 'constant-arrival-rate',
      exec: 'follow',
      rate: perSecond,
      timeUnit: '1s',
      duration: `${seconds}s`,
      preAllocatedVUs: followers,
    },
  },
  thresholds: {
    ...(PROFILE === 'full' && { dropped_iterations: ['count==0'] }),
    undelivered_records: ['count==0'],
    unanswered_records: ['count==0'],
  },
})

/**
 * @typedef {object} Endpoint a ledger, its only webhook, and the webhook's number at the receiver
 * @property {string} ledger
 * @property {string} key
 * @property {string} webhook
 * @property {number} number
 * @property {number} sizeBefore number of entries before the first record, for which no event arrives
 */

const nextBody = makeRecordBodies()

/**
 * The backlog is drained in `setup` and not in a scenario. k6 fixes the start times of scenarios, but the length of the
 * drain is only known at its end.
 */
export async function setup() {
  const first = countEndpoints()
  const arrivedBefore = arrivals().events
  const drained = makeLedgers('webhooks-drain', ledgers).map((ledger, i) => makeEndpoint(ledger, first + i))
  const followed = makeEndpoint(makeLedger('webhooks-follow'), first + ledgers)
  for (const { key, webhook } of drained) post(key, `/v1/webhooks/${webhook}/pause`, {})
  await fill(drained)
  sleep(CALM_SECONDS)
  drain(drained, arrivedBefore)
  return { drained, followed, arrivedBefore }
}

/**
 * Records the backlog, round-robin over the ledgers.
 *
 * @param {readonly Endpoint[]} endpoints
 */
async function fill(endpoints) {
  let begun = 0
  const send = async () => {
    while (begun < backlog) {
      const { key } = endpoints[begun++ % endpoints.length]
      const { outcome } = await notarizeLater(key, nextBody())
      if (outcome === 'done') undelivered.add(1)
    }
  }
  await Promise.all(Array.from({ length: FILL_IN_FLIGHT }, send))
}

/** @param {readonly Endpoint[]} endpoints @param {number} arrivedBefore */
function drain(endpoints, arrivedBefore) {
  beginWindow()
  for (const { key, webhook } of endpoints) post(key, `/v1/webhooks/${webhook}/resume`, {})
  check(null, { 'the backlog arrives': () => awaitArrivals(endpoints, arrivedBefore, DRAIN_SECONDS_MAX) })
  drainRate.add(rateOf(endpoints.map(({ number }) => number)))
  beginWindow()
}

/** @param {Awaited<ReturnType<typeof setup>>} data */
export function follow({ followed }) {
  if (notarize(followed.key, nextBody()).outcome === 'done') undelivered.add(1)
}

/** @param {Awaited<ReturnType<typeof setup>>} data */
export function teardown({ drained, followed, arrivedBefore }) {
  const all = [...drained, followed]
  check(null, {
    'all that was recorded arrives': () => awaitArrivals(all, arrivedBefore, ARRIVE_SECONDS_MAX),
    'no webhook has anything left to deliver, or dead': () => all.every(isDone),
  })
  const { requests, events, signaturesBad, signaturesChecked } = arrivals()
  check(null, { 'what arrives is signed': () => signaturesBad === 0 && signaturesChecked > 0 })
  undelivered.add(arrivedBefore - events)
  repeated.add(requests - events)
  followRate.add(rateOf([followed.number]))
  for (const lag of lags()) lagMs.add(lag)
}

/** @param {import('./lib/deployment.js').Ledger} ledger @param {number} number @returns {Endpoint} */
function makeEndpoint({ id, key }, number) {
  const asked = { url: urlOf(number), events: ['record.recorded'] }
  const { id: webhook, secret } = post(key, '/v1/webhooks', asked)
  addEndpoint(secret)
  return { ledger: id, key, webhook, number, sizeBefore: sizeOf(key) }
}

/**
 * Waits for the events of all records in the endpoints' ledgers. Returns whether all of them arrive in time.
 *
 * @param {readonly Endpoint[]} endpoints
 * @param {number} arrivedBefore number of events that had arrived before the ledgers were created
 * @param {number} secondsMax
 */
function awaitArrivals(endpoints, arrivedBefore, secondsMax) {
  const due = endpoints.reduce((sum, { key, sizeBefore }) => sum + sizeOf(key) - sizeBefore, arrivedBefore)
  for (let looks = secondsMax / LOOK_EVERY_SECONDS; looks > 0; looks--) {
    if (arrivals().events >= due) return true
    sleep(LOOK_EVERY_SECONDS)
  }
  return false
}

/**
 * Returns whether a webhook has processed its whole ledger.
 *
 * @param {Endpoint} endpoint
 */
function isDone({ key, webhook }) {
  for (let look = 0; look < STANDING_LOOKS_MAX; look++) {
    const { behind, pending, held, dead } = read(key, `/v1/webhooks/${webhook}`).standing
    if (behind + pending + held + dead === 0) return true
    sleep(STANDING_LOOK_EVERY_SECONDS)
  }
  return false
}

/** @param {string} key @returns {number} entries */
function sizeOf(key) {
  return read(key, '/v1/ledger').size
}

/** @param {string} key @param {string} path */
function read(key, path) {
  const name = `GET ${path.replace(/whk_[0-9a-z]+/, '{id}')}`
  const { status, body, response } = send({ method: 'GET', path, name, key, keepBody: true })
  if (status !== 200) throw new Error(`${name} answered ${status}: ${body ?? response.error}`)
  return JSON.parse(/** @type {string} */ (body))
}

export const handleSummary = makeSummary('webhooks-drain', (data) => ({
  figures: {
    drainRate: measured(data, 'drained_per_second', 'value'),
    rate: measured(data, 'followed_per_second', 'value'),
    lagP50: measured(data, 'delivery_lag', 'p(50)'),
    lagP99: measured(data, 'delivery_lag', 'p(99)'),
  },
  extras: {
    ledgers,
    recorded: measured(data, 'acknowledged_records', 'count') ?? 0,
    perSecond,
    lagMaxMs: measured(data, 'delivery_lag', 'max'),
    repeated: measured(data, 'repeated_deliveries', 'value'),
  },
}))
