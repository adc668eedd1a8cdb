/** Returns a number from 0 to 1, exclusive. `makeRandom` makes a seeded generator (Mulberry32). */
export type Random = () => number

export function makeRandom(seed: number): Random {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

export const below = (random: Random, count: number): number => Math.floor(random() * count)
export const pick = <T>(random: Random, from: readonly T[]): T => from[below(random, from.length)]!

/** Returns the seed of one case, so that the case can be repeated without the cases before it. */
export const caseSeed = (seed: number, index: number): number =>
  (Math.imul(seed | 0, 0x9e3779b1) ^ Math.imul(index + 1, 0x85ebca6b)) >>> 0
