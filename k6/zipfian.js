/*
 * A key-value workload like that of YCSB, on an append-only ledger: 70 % reads, 25 % writes, 5 % erasures. Ledgers, and
 * the slots within each ledger, are drawn in a Zipf distribution with 0.99. A slot corresponds to a key. A write
 * notarizes a record into the slot. An erasure destroys the document of the slot's record, and a later read of that
 * record must show the erasure.
 */
import { check, sleep } from 'k6'
import exec from 'k6/execution'
import { makeBatchBodies, makeRecordBodies, rng, SEED } from './lib/data.js'
import { makeLedgers } from './lib/deployment.js'
import { makeOptions, profileOf, watch } from './lib/profile.js'
import { erasePayload, get, notarize, notarizeBatch } from './lib/requests.js'
import { makeSteps } from './lib/steps.js'
import { makeSummary, measured } from './lib/summary.js'
import { makeZipf, placeOf, rankAt } from './lib/zipf.js'

const profile = profileOf('zipfian')
const { ledgers: LEDGERS, places: PLACES, warmUpSeconds: WARM_UP_SECONDS } = profile
const USERS = Number(__ENV.USERS ?? profile.users)
const STEADY_SECONDS = Number(__ENV.SECONDS ?? profile.seconds)
/** Every n-th read is checked. Each read of an erased record is checked too. */
const CHECK_EVERY = 16
/**
 * Maximum number of draws to find a record that this user may erase. A user may erase its own records and its share of
 * the seeded records, so that no record is erased twice.
 */
const DRAWS_MAX = 64
const ERASURE = JSON.stringify({ code: 'measurement' })
const OPERATIONS = ['read', 'write', 'erase']

const steps = makeSteps([
  { name: 'steady', target: USERS, rampSeconds: WARM_UP_SECONDS, holdSeconds: STEADY_SECONDS },
])
const steadyTags = OPERATIONS.map((op) => `op:${op},phase:steady`)

export const options = makeOptions({
  scenarios: {
    users: { executor: 'constant-vus', vus: USERS, duration: `${steps.seconds}s`, gracefulStop: '60s' },
  },
  thresholds: { ...watch('accepted', steadyTags), 'http_reqs{status:503}': ['count>=0'] },
})

const nextBody = makeRecordBodies()
const random = rng(SEED, __VU)
/**
 * Maps a slot of a ledger to the record that this user wrote there, also if the record is erased. Users do not share
 * this map.
 *
 * @type {Map<number, { id: string, isErased: boolean }>}
 */
const written = new Map()

/**
 * @typedef {object} Seeded
 * @property {{ id: string, key: string, ids: string }[]} ledgers `ids`: concatenated ids of the record in each slot
 * @property {import('./lib/zipf.js').Zipf} overLedgers
 * @property {import('./lib/zipf.js').Zipf} overPlaces
 */

/** @returns {Seeded} */
export function setup() {
  const nextBatch = makeBatchBodies(PLACES)
  const ledgers = makeLedgers('zipfian', LEDGERS).map(({ id, key }) => {
    const { status, body } = notarizeBatch(key, nextBatch(), PLACES, { keepBody: true })
    if (status !== 201) throw new Error(`POST /v1/records/batch answered ${status}: ${body}`)
    const { records } = JSON.parse(/** @type {string} */ (body))
    return { id, key, ids: records.map((/** @type {{ id: string }} */ record) => record.id).join('') }
  })
  return { ledgers, overLedgers: makeZipf(LEDGERS), overPlaces: makeZipf(PLACES) }
}

/** @param {Seeded} seeded */
export default function (seeded) {
  exec.vu.metrics.tags['phase'] = steps.nameAt(Date.now() - exec.scenario.startTime)
  const choice = random.next()
  const answer = choice < 0.7 ? read(seeded) : choice < 0.95 ? write(seeded) : erase(seeded)
  if (answer.status === 503) sleep(answer.retryAfterSeconds || 1)
}

/** @param {Seeded} seeded */
function read(seeded) {
  const { key, id, isErased, isOwn } = draw(seeded)
  const keepBody = isErased || exec.vu.iterationInScenario % CHECK_EVERY === 0
  const answer = get(key, id, { keepBody, tags: { op: 'read' } })
  if (answer.body === null || answer.outcome !== 'done') return answer
  const { body } = answer
  check(body, { 'a read answers the record': () => body.startsWith(`{"id":"${id}"`) })
  if (isErased) check(body, { 'a read of an erased record says so': () => saysErased(body) })
  else if (isOwn) check(body, { 'a read of another record does not': () => !saysErased(body) })
  return answer
}

/** @param {Seeded} seeded */
function write(seeded) {
  const { key, at } = draw(seeded)
  const answer = notarize(key, nextBody(), { keepBody: true, tags: { op: 'write' } })
  if (answer.outcome !== 'done') return answer
  const id = /^\{"id":"(rec_[0-9a-z]{26})"/.exec(/** @type {string} */ (answer.body))?.[1]
  check(id, { 'a write answers an id': () => id !== undefined })
  if (id !== undefined) written.set(at, { id, isErased: false })
  return answer
}

/**
 * Erases a record. If no draw finds a record that this user may erase, writes a record instead.
 *
 * @param {Seeded} seeded
 */
function erase(seeded) {
  for (let draws = 0; draws < DRAWS_MAX; draws++) {
    const { key, id, at, isErased, isOwn } = draw(seeded)
    if (isErased || !isOwn) continue
    const answer = erasePayload(key, id, ERASURE, { tags: { op: 'erase' } })
    // After a request without an answer the state of the record is unknown. The map then stays unchanged.
    if (answer.outcome === 'done') written.set(at, { id, isErased: true })
    return answer
  }
  return write(seeded)
}

/**
 * Draws a slot, and returns it with the newest record of the slot that this user knows. `isOwn`: this user, and no
 * other user, may erase the record.
 *
 * @param {Seeded} seeded
 */
function draw({ ledgers, overLedgers, overPlaces }) {
  const ledger = placeOf(overLedgers, rankAt(overLedgers, random.next()))
  const place = placeOf(overPlaces, rankAt(overPlaces, random.next()))
  const at = ledger * PLACES + place
  const { key, ids } = ledgers[ledger]
  const own = written.get(at)
  if (own) return { key, at, ...own, isOwn: true }
  const id = ids.slice(place * ID_CHARS, (place + 1) * ID_CHARS)
  return { key, at, id, isErased: false, isOwn: at % USERS === __VU % USERS }
}

const ID_CHARS = 'rec_'.length + 26

/** @param {string} body */
const saysErased = (body) => body.includes('"payload":null') && body.includes('"erasure":{')

export const handleSummary = makeSummary('zipfian', (data) => {
  const byOperation = Object.fromEntries(OPERATIONS.map((op) => [op, measure(data, op)]))
  const [reads, writes, erasures] = OPERATIONS.map((op) => byOperation[op])
  const count = Object.values(byOperation).reduce((sum, operation) => sum + (operation.count ?? 0), 0)
  return {
    figures: {
      rate: count / STEADY_SECONDS,
      readP99: reads.p99,
      readP999: reads.p999,
      writeP99: writes.p99,
      writeP999: writes.p999,
      eraseP99: erasures.p99,
    },
    extras: {
      ledgers: LEDGERS,
      placesPerLedger: PLACES,
      users: USERS,
      steadySeconds: STEADY_SECONDS,
      byOperation,
    },
  }
})

/** @param {import('./lib/summary.js').SummaryData} data @param {string} op */
function measure(data, op) {
  /** @param {string} statistic */
  const value = (statistic) => measured(data, `accepted{op:${op},phase:steady}`, statistic)
  return {
    count: value('count'),
    p50: value('p(50)'),
    p90: value('p(90)'),
    p99: value('p(99)'),
    p999: value('p(99.9)'),
    max: value('max'),
  }
}
