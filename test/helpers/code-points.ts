import fc from 'fast-check'

const character = (min: number, max: number) =>
  fc.integer({ min, max }).map((code) => String.fromCodePoint(code))

/**
 * Generates any code point except surrogates, as a unit of `fc.string`. Half of the code points are ASCII. fast-check's
 * own 'binary' unit takes a second of CPU in each process that uses it.
 */
export const codePoint: fc.Arbitrary<string> = fc.oneof(
  { weight: 2, arbitrary: character(0, 0x7f) },
  { weight: 1, arbitrary: character(0x80, 0xd7ff) },
  { weight: 1, arbitrary: character(0xe000, 0x10_ffff) },
)
