/*
 * Sends batches of 1,000 records for ten minutes, then batches of 2,000 for ten more minutes. Two producers work in a
 * closed loop: each sends its next batch after the answer to the last batch. The runner checks from k6's five-second
 * series whether the rate stays constant.
 */
import { check, sleep } from 'k6'
import exec from 'k6/execution'
import { makeBatchBodies } from './lib/data.js'
import { makeLedger } from './lib/deployment.js'
import { makeOptions, profileOf, watch, watchCount } from './lib/profile.js'
import { notarizeBatch } from './lib/requests.js'
import { makeSummary, measured } from './lib/summary.js'

const seconds = Number(__ENV.SECONDS ?? profileOf('batch-sustained').seconds)
const producers = 2
const sizes = [1_000, 2_000]
/** Pause in seconds before the next size begins, so that the last batches of the size before are answered. */
const PAUSE_SECONDS = 2
/** Only every n-th answer is parsed, because an answer for 1,000 records is 150 KB. */
const READ_EVERY = 64

const nameOf = (/** @type {number} */ items) => `batches_of_${items}`

export const options = makeOptions({
  scenarios: Object.fromEntries(
    sizes.map((items, i) => [
      nameOf(items),
      {
        executor: 'constant-vus',
        vus: producers,
        startTime: `${i * (seconds + PAUSE_SECONDS)}s`,
        duration: `${seconds}s`,
        gracefulStop: '30s',
        env: { ITEMS: String(items) },
      },
    ]),
  ),
  thresholds: {
    ...watch(
      'accepted',
      sizes.map((items) => `scenario:${nameOf(items)}`),
    ),
    ...watchCount(
      'acknowledged_records',
      sizes.map((items) => `scenario:${nameOf(items)}`),
    ),
  },
})

/**
 * Maps a batch size to this producer's generator of bodies.
 *
 * @type {Map<number, () => string>}
 */
const bodies = new Map()

export function setup() {
  return makeLedger('batch-sustained')
}

/** @param {import('./lib/deployment.js').Ledger} ledger */
export default function ({ key }) {
  const items = Number(__ENV.ITEMS)
  if (!bodies.has(items)) bodies.set(items, makeBatchBodies(items))
  const nextBody = /** @type {() => string} */ (bodies.get(items))
  const keepBody = exec.vu.iterationInScenario % READ_EVERY === 0
  const { outcome, body, retryAfterSeconds } = notarizeBatch(key, nextBody(), items, { keepBody })
  if (outcome === 'refused') sleep(retryAfterSeconds)
  if (!keepBody || outcome !== 'done') return
  const { batch, entry, records } = JSON.parse(/** @type {string} */ (body))
  check(null, {
    'an answer names each record': () => !!batch && entry.seq >= 0 && records.length === items,
  })
}

export const handleSummary = makeSummary('batch-sustained', (data) => {
  const [first, second] = sizes.map((items) => ({
    rate: (measured(data, `acknowledged_records{scenario:${nameOf(items)}}`, 'count') ?? 0) / seconds,
    p99: measured(data, `accepted{scenario:${nameOf(items)}}`, 'p(99)'),
  }))
  return {
    figures: {
      rate1000: first.rate,
      p99of1000: first.p99,
      rate2000: second.rate,
      p99of2000: second.p99,
      rateGain: percentMore(first.rate, second.rate),
      tailGain: percentMore(first.p99, second.p99),
    },
    extras: { producers, secondsEach: seconds },
  }
})

/** @param {number | null} from @param {number | null} to @returns {number | null} */
function percentMore(from, to) {
  return from && to ? (to / from - 1) * 100 : null
}
