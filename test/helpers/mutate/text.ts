import { below, pick, type Random } from './random.ts'

/*
 * Texts and numbers that readers handle differently: code points of each class (control, white space, marks, lone
 * surrogates, beyond U+FFFF), lengths at limits in bytes, UTF-16 units and characters, and literals at the limits of
 * number types.
 */

const POINTS = [
  ...[0x00, 0x01, 0x07, 0x08, 0x09, 0x0a, 0x0b, 0x0c, 0x0d, 0x1b, 0x1c, 0x1d, 0x1e, 0x1f, 0x20, 0x22, 0x2b],
  ...[
    0x2e, 0x2f, 0x3d, 0x5c, 0x7e, 0x7f, 0x80, 0x84, 0x85, 0x86, 0x9f, 0xa0, 0xad, 0xe9, 0x130, 0x131, 0x17f,
  ],
  ...[0x301, 0x34f, 0x61c, 0x661, 0x115f, 0x1680, 0x180e, 0x2000, 0x200a, 0x200b, 0x200d, 0x200e, 0x2014],
  ...[0x2028, 0x2029, 0x202a, 0x202e, 0x202f, 0x205f, 0x2060, 0x2066, 0x2069, 0x2126, 0x212a, 0x3000, 0x3164],
  ...[0xd7ff, 0xd800, 0xdbff, 0xdc00, 0xdfff, 0xe000, 0xfdd0, 0xfe0f, 0xfeff, 0xff11, 0xfff9, 0xfffc, 0xfffd],
  ...[0xfffe, 0xffff, 0x10000, 0x1f600, 0x1fffe, 0xe0001, 0xe0100, 0xf0000, 0x10ffff],
] as const

/** Limits of texts, lists and files, in any unit. The tests use each limit, one less, and one more. */
const LENGTHS = [
  ...[1, 4, 8, 16, 32, 36, 41, 48, 53, 54, 63, 64, 100, 127, 128, 200, 255, 256, 300, 500, 512, 1_000, 1_024],
  ...[1_500, 2_000, 2_048, 4_096, 8_192, 16_384, 32_768],
] as const
const LONG_LENGTHS = [65_536, 102_400, 131_072] as const

/** JSON numbers, and texts that some readers accept as numbers. */
export const NUMBERS = [
  ...[
    '0',
    '-0',
    '1',
    '-1',
    '2',
    '1.0',
    '-0.0',
    '1e0',
    '1E0',
    '10e-1',
    '1e-1',
    '0.5',
    '1.5',
    '1e400',
    '-1e400',
  ],
  ...[
    '1e-400',
    '5e-324',
    '2.5e-324',
    '1e21',
    '1e23',
    '1e308',
    '1.7976931348623157e308',
    '1.7976931348623159e308',
  ],
  ...['2147483646', '2147483647', '2147483648', '-2147483648', '-2147483649', '4294967295', '4294967296'],
  ...['9007199254740990', '9007199254740991', '9007199254740992', '9007199254740993', '-9007199254740992'],
  ...['9007199254740991.0', '9007199254740993.0', '9.007199254740991e15', '9223372036854775806'],
  ...['9223372036854775807', '9223372036854775808', '-9223372036854775809', '18446744073709551615'],
  ...['18446744073709551616', '1152921504606847000', '1152921504606846976', '100000000000000000000', '0.1'],
  ...[
    '0.10000000000000001',
    '0.1000000000000000055511151231257827',
    '123456789012345678',
    '12345678901234567',
  ],
  ...[
    '1000000000000000000000000000000',
    '01',
    '-01',
    '+1',
    '.5',
    '1.',
    '-',
    '0x1',
    '0o1',
    '1e',
    '1e+',
    '1_0',
  ],
  ...['NaN', 'Infinity', '-Infinity', '\uff11', '\u0661', '1n', '00', '1e00', '1e+0', '1e-0', '0e1', '0E400'],
] as const

export const INTEGERS: readonly bigint[] = [
  ...[0n, 1n, 2n, 18n, 23n, 24n, 255n, 256n, 65_535n, 65_536n],
  ...[31n, 32n, 53n, 63n, 64n].flatMap((bits) => [-2n, -1n, 0n, 1n].map((step) => 2n ** bits + step)),
]

/** Encodes a text as bytes. A lone surrogate becomes three bytes, which UTF-8 forbids. */
export function encodeAny(text: string): Uint8Array {
  if (text.isWellFormed()) return Buffer.from(text)
  const parts = text.match(/[\ud800-\udbff][\udc00-\udfff]|[\s\S]/g) ?? []
  return Buffer.concat(
    parts.map((part) => {
      const unit = part.charCodeAt(0)
      if (part.isWellFormed()) return Buffer.from(part)
      return Buffer.of(0xe0 | (unit >> 12), 0x80 | ((unit >> 6) & 63), 0x80 | (unit & 63))
    }),
  )
}

export const pickPoint = (random: Random): string => String.fromCodePoint(pick(random, POINTS))

/** Picks a length near a limit. One of a hundred lengths is near a high limit. */
export const pickLength = (random: Random): number =>
  Math.max(0, pick(random, random() < 0.01 ? LONG_LENGTHS : LENGTHS) + pick(random, [-1, 0, 1]))

export function changeText(text: string, random: Random): string {
  const at = pick(random, [0, text.length, below(random, text.length + 1)])
  const kind = random()
  if (kind < 0.45) return text.slice(0, at) + pickPoint(random) + text.slice(at)
  if (kind < 0.55) return text.slice(0, at) + pickPoint(random) + text.slice(at + 1)
  if (kind < 0.62) return text.slice(0, at) + text.slice(at + 1)
  if (kind < 0.72) return stretched(text, random)
  if (kind < 0.77) return text.toUpperCase()
  if (kind < 0.8) return text.normalize('NFD')
  if (kind < 0.84) return text + text
  if (kind < 0.87) return text.slice(0, at)
  if (kind < 0.9) return ''
  return text.slice(0, at) + pick(random, [...'0123456789abcdefZ/:.=_-+ ']) + text.slice(at + 1)
}

function stretched(text: string, random: Random): string {
  const filler = pick(random, ['a', 'a', '\u00e9', '\u2014', '\u{1f600}'])
  const unit = pick(random, [1, filler.length, Buffer.byteLength(filler)])
  const start = random() < 0.7 ? text : ''
  return start + filler.repeat(Math.max(0, Math.floor((pickLength(random) - start.length) / unit)))
}
