export type Random = {
  /** Returns an integer. Both bounds are inclusive. */
  integer(from: number, to: number): number
  pick<T>(choices: readonly T[]): T
  hex(digits: number): string
  /** Returns words and spaces, exactly `length` ASCII characters. */
  words(length: number): string
}

const WORDS =
  'order checked against contract and delivery note price within tolerance sent to buyer for review'.split(
    ' ',
  )

/** Returns a small seeded random generator (mulberry32). The same seed gives the same load. Not for secrets. */
export function randomFrom(seed: number): Random {
  let state = seed >>> 0
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
  const integer = (from: number, to: number) => from + Math.floor(next() * (to - from + 1))
  return {
    integer,
    pick: (choices) => choices[integer(0, choices.length - 1)]!,
    hex: (digits) => Array.from({ length: digits }, () => integer(0, 15).toString(16)).join(''),
    words(length) {
      let text = ''
      while (text.length < length) text += `${WORDS[integer(0, WORDS.length - 1)]!} `
      return text.slice(0, length)
    },
  }
}
