/*
 * Measures how fast the records that two organisations share reach the guest.
 *
 * 1. The home suspends the peering, a backlog is created, and the peering is resumed. The rate is counted in the
 *    guest's chain until the guest has received the whole backlog.
 * 2. Records are created at a constant rate.
 *
 * For each shared entry of the home, the guest appends a signed receipt. The runner counts the entries again in both
 * chains. It computes each lag, which is the guest's `recordedAt` minus the home's `recordedAt`.
 */
import { check, sleep } from 'k6'
import { Counter, Gauge } from 'k6/metrics'
import { makeRecordBodies } from './lib/data.js'
import { post } from './lib/deployment.js'
import { makePeering, peeredOf, readOf } from './lib/guest.js'
import { makeOptions, PROFILE, profileOf } from './lib/profile.js'
import { notarize, notarizeLater } from './lib/requests.js'
import { makeSummary, measured } from './lib/summary.js'

const { backlog, perSecond, followers, seconds: secondsDefault } = profileOf('federation-drain')
const seconds = Number(__ENV.SECONDS ?? secondsDefault)
const FILL_IN_FLIGHT = 32
/** Time in seconds for the other followers to process the backlog's entries before the backlog is drained. */
const CALM_SECONDS = 4
const LOOK_EVERY_SECONDS = 0.05
const DRAIN_SECONDS_MAX = 240
const ARRIVE_SECONDS_MAX = 60

/** Number of acknowledged records minus number of the guest's entries that received such a record. */
const unreceived = new Counter('unreceived_records')
const drainRate = new Gauge('drained_per_second')
const followRate = new Gauge('followed_per_second')

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
    unreceived_records: ['count==0'],
    unanswered_records: ['count==0'],
  },
})

const nextBody = makeRecordBodies()

/**
 * Returns the body of a shared record. It is the body of a single record with the members about sharing inserted at the
 * start.
 *
 * @param {import('./lib/guest.js').Peering} peering
 */
function nextShared({ id, performer }) {
  const members = { performer: performer.name, share: [{ peer: id, documents: 'whole' }] }
  return `${JSON.stringify(members).slice(0, -1)},${nextBody().replace('"generic/1"', '"task/1"').slice(1)}`
}

/**
 * The backlog is drained in `setup` and not in a scenario. k6 fixes the start times of scenarios, but the length of the
 * drain is only known at its end.
 */
export async function setup() {
  const peering = makePeering('federation-drain')
  const sizeBefore = sizeOf(peering.guest)
  post(peering.home.key, `/v1/peers/${peering.id}/suspend`, {})
  const filled = await fill(peering)
  sleep(CALM_SECONDS)
  const beganAt = Date.now()
  post(peering.home.key, `/v1/peers/${peering.id}/resume`, {})
  check(null, {
    'the backlog is received': () => awaitSize(peering.guest, sizeBefore + filled, DRAIN_SECONDS_MAX),
  })
  drainRate.add((filled * 1000) / (Date.now() - beganAt))
  return { peering, sizeBefore, filled }
}

/**
 * @param {import('./lib/guest.js').Peering} peering
 * @returns {Promise<number>} number of acknowledged records
 */
async function fill(peering) {
  let begun = 0
  let filled = 0
  const send = async () => {
    while (begun++ < backlog) {
      const { outcome } = await notarizeLater(peering.home.key, nextShared(peering))
      if (outcome === 'done') filled++
    }
  }
  await Promise.all(Array.from({ length: FILL_IN_FLIGHT }, send))
  unreceived.add(filled)
  return filled
}

/** @param {Awaited<ReturnType<typeof setup>>} data */
export function follow({ peering }) {
  if (notarize(peering.home.key, nextShared(peering)).outcome === 'done') unreceived.add(1)
}

/** @param {Awaited<ReturnType<typeof setup>>} data */
export function teardown({ peering, sizeBefore, filled }) {
  const { home, guest, id } = peering
  const all = sizeOf(home) - readOf(home, `/v1/peers/${id}`).addedSeq - ENTRIES_OF_NO_RECORD
  check(null, {
    'all that was shared is received': () => awaitSize(guest, sizeBefore + all, ARRIVE_SECONDS_MAX),
    // This state is polled. The sender learns that its last entry was received only after the receiver has appended the
    // receipt.
    'nothing is behind, dead or forked, on either side': () =>
      [home, guest].every((ledger) =>
        awaitThat(() => {
          const { behind, deadLetters, forks } = readOf(ledger, `/v1/peers/${id}`).drain
          return behind + deadLetters + forks === 0
        }, ARRIVE_SECONDS_MAX),
      ),
  })
  const received = sizeOf(guest) - sizeBefore
  unreceived.add(-received)
  followRate.add((received - filled) / seconds)
}

/**
 * Number of the home's entries that share no record: `peer-added` itself, the guest's half of the handshake, a
 * suspension and a resumption.
 */
const ENTRIES_OF_NO_RECORD = 4

/** @param {import('./lib/deployment.js').Ledger} ledger @param {number} wanted @param {number} secondsMax */
function awaitSize(ledger, wanted, secondsMax) {
  return awaitThat(() => sizeOf(ledger) >= wanted, secondsMax)
}

/** @param {() => boolean} isSo @param {number} secondsMax */
function awaitThat(isSo, secondsMax) {
  for (let looks = secondsMax / LOOK_EVERY_SECONDS; looks > 0; looks--) {
    if (isSo()) return true
    sleep(LOOK_EVERY_SECONDS)
  }
  return false
}

/** @param {import('./lib/deployment.js').Ledger} ledger @returns {number} entries */
function sizeOf(ledger) {
  return readOf(ledger, '/v1/ledger').size
}

export const handleSummary = makeSummary('federation-drain', (data) => ({
  figures: {
    drainRate: measured(data, 'drained_per_second', 'value'),
    rate: measured(data, 'followed_per_second', 'value'),
  },
  extras: {
    peered: peeredOf(/** @type {Awaited<ReturnType<typeof setup>> | undefined} */ (data.setup_data)?.peering),
    recorded: measured(data, 'acknowledged_records', 'count') ?? 0,
    drained: /** @type {Awaited<ReturnType<typeof setup>> | undefined} */ (data.setup_data)?.filled ?? 0,
    perSecond,
  },
}))
