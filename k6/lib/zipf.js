/*
 * Numbers in a Zipf distribution: the probability of rank r, counted from 0, is proportional to 1 / (r + 1)^theta. The
 * generator is that of YCSB, from Gray et al., "Quickly Generating Billion-Record Synthetic Databases" (SIGMOD 1994).
 * It takes constant time per number and is exact for the first two ranks. For later ranks, the cumulative frequency is
 * too high by at most 2 % of all draws (test/bench/k6/zipf.test.ts).
 */

/** YCSB's constant. Of 1,000 items, the first gets 13 % of all draws and the first 10 % get 69 %. */
const THETA = 0.99
/** Maximum number of items. k6 computes a sum over all ranks once, which takes about a microsecond per item. */
const ITEMS_MAX = 1_000_000

/**
 * Constants of the generator for a number of items. They are plain numbers, so that `setup` can return them.
 *
 * @typedef {{ items: number, theta: number, zeta: number, eta: number, stride: number }} Zipf
 */

/** @param {number} items @param {number} [theta] at least 0 and less than 1 @returns {Zipf} */
export function makeZipf(items, theta = THETA) {
  if (!(Number.isInteger(items) && items >= 2 && items <= ITEMS_MAX))
    throw new Error(`items: ${items}, must be from 2 to ${ITEMS_MAX}`)
  if (!(theta >= 0 && theta < 1)) throw new Error(`theta: ${theta}, must be at least 0 and less than 1`)
  const zeta = sum(items, theta)
  const eta = items === 2 ? 0 : (1 - (2 / items) ** (1 - theta)) / (1 - sum(2, theta) / zeta)
  return { items, theta, zeta, eta, stride: strideOf(items) }
}

/** @param {Zipf} zipf @param {number} uniform at least 0 and less than 1 @returns {number} from 0 to items - 1 */
export function rankAt({ items, theta, zeta, eta }, uniform) {
  const scaled = uniform * zeta
  if (scaled < 1) return 0
  if (scaled < 1 + 0.5 ** theta) return 1
  const rank = Math.floor(items * (eta * uniform - eta + 1) ** (1 / (1 - theta)))
  // Rounding may move the last draw past the end.
  return Math.min(items - 1, rank)
}

/**
 * Returns the position of the item with this rank. Consecutive ranks have positions far apart, so that popular items
 * are not neighbours in the database. No two ranks have the same position.
 *
 * @param {Zipf} zipf
 * @param {number} rank
 */
export function placeOf({ items, stride }, rank) {
  return (rank * stride) % items
}

/**
 * Returns a stride near the golden section of `items`. The stride and `items` have no common divisor.
 *
 * @param {number} items
 */
function strideOf(items) {
  let found = Math.max(1, Math.round(items * 0.618034))
  while (divisor(found, items) !== 1) found++
  return found
}

/** @param {number} a @param {number} b @returns {number} */
function divisor(a, b) {
  return b === 0 ? a : divisor(b, a % b)
}

/** @param {number} items @param {number} theta */
function sum(items, theta) {
  let total = 0
  for (let rank = 1; rank <= items; rank++) total += 1 / rank ** theta
  return total
}
