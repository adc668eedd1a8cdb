import fc from 'fast-check'

const character = (min: number, max: number) =>
  fc.integer({ min, max }).map((code) => String.fromCodePoint(code))

/**
 * Any code point but half of a surrogate pair, as a unit of `fc.string`: ASCII as often as the rest. fast-check's own, 'binary',
 * takes a second of CPU in each process that uses it.
 */
export const codePoint: fc.Arbitrary<string> = fc.oneof(
  { weight: 2, arbitrary: character(0, 0x7f) },
  { weight: 1, arbitrary: character(0x80, 0xd7ff) },
  { weight: 1, arbitrary: character(0xe000, 0x10_ffff) },
)
