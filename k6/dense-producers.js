/*
 * Compares 64 producers of 100-record batches on one ledger with one producer of 1,000-record batches on another
 * ledger. The result is the ratio of the two rates. The two sides run one after the other, as closed loops. Each side
 * has a warm-up that does not count.
 */
import { check, sleep } from 'k6'
import exec from 'k6/execution'
import { makeBatchBodies } from './lib/data.js'
import { makeLedgers } from './lib/deployment.js'
import { makeOptions, profileOf, watch, watchCount } from './lib/profile.js'
import { notarizeBatch } from './lib/requests.js'
import { makeSummary, measured } from './lib/summary.js'

const { seconds: secondsDefault, warmUpSeconds } = profileOf('dense-producers')
const seconds = Number(__ENV.SECONDS ?? secondsDefault)
const PAUSE_SECONDS = 2
/** One in 64 answers is parsed. */
const READ_EVERY = 64

const SIDES = [
  { name: 'dense', vus: 64, items: 100 },
  { name: 'one', vus: 1, items: 1_000 },
]

/** Makes two scenarios for each side: the warm-up and the measurement. */
function makeScenarios() {
  const sideSeconds = warmUpSeconds + seconds + 2 * PAUSE_SECONDS
  return SIDES.flatMap(({ name, vus, items }, side) => {
    const make = (/** @type {number} */ startsAt, /** @type {number} */ lasts) => ({
      executor: 'constant-vus',
      vus,
      startTime: `${side * sideSeconds + startsAt}s`,
      duration: `${lasts}s`,
      gracefulStop: '30s',
      env: { ITEMS: String(items), SIDE: String(side) },
    })
    return [
      [`${name}_warm_up`, make(0, warmUpSeconds)],
      [name, make(warmUpSeconds + PAUSE_SECONDS, seconds)],
    ]
  })
}

const tags = SIDES.map(({ name }) => `scenario:${name}`)

export const options = makeOptions({
  scenarios: Object.fromEntries(makeScenarios()),
  thresholds: { ...watch('accepted', tags), ...watchCount('acknowledged_records', tags) },
})

/**
 * Maps a batch size to this producer's generator of bodies.
 *
 * @type {Map<number, () => string>}
 */
const bodies = new Map()

export function setup() {
  return makeLedgers('dense-producers', SIDES.length)
}

/** @param {import('./lib/deployment.js').Ledger[]} ledgers */
export default function (ledgers) {
  const size = Number(__ENV.ITEMS)
  if (!bodies.has(size)) bodies.set(size, makeBatchBodies(size))
  const nextBody = /** @type {() => string} */ (bodies.get(size))
  const { key } = ledgers[Number(__ENV.SIDE)]
  const keepBody = exec.vu.iterationInScenario % READ_EVERY === 0
  const { outcome, body, retryAfterSeconds } = notarizeBatch(key, nextBody(), size, { keepBody })
  if (outcome === 'refused') sleep(retryAfterSeconds)
  if (!keepBody || outcome !== 'done') return
  const { entry, records } = JSON.parse(/** @type {string} */ (body))
  check(null, { 'an answer names each record': () => entry.seq >= 0 && records.length === size })
}

export const handleSummary = makeSummary('dense-producers', (data) => {
  const [dense, one] = SIDES.map(
    ({ name }) => (measured(data, `acknowledged_records{scenario:${name}}`, 'count') ?? 0) / seconds,
  )
  return {
    figures: {
      rate: dense,
      p99: measured(data, 'accepted{scenario:dense}', 'p(99)'),
      referenceRate: one,
      ratio: one === 0 ? null : (dense / one) * 100,
    },
    extras: {
      producers: SIDES[0].vus,
      p50: measured(data, 'accepted{scenario:dense}', 'p(50)'),
      referenceP99: measured(data, 'accepted{scenario:one}', 'p(99)'),
    },
  }
})
