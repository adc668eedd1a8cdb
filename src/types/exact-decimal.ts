/** A number as the shortest decimal that reads back as it: digits × 10^exponent. */
type Decimal = { readonly digits: bigint; readonly exponent: number }

/**
 * Whether `value` is a whole multiple of `divisor`, as decimals: 0.3 is one of 0.1, which a division of doubles denies.
 * Both are finite, so neither has more than 17 digits, and the powers of ten no more than 650.
 */
export function isMultiple(value: number, divisor: number): boolean {
  const a = parse(value)
  const b = parse(divisor)
  const exponent = Math.min(a.exponent, b.exponent)
  return scaled(a, exponent) % scaled(b, exponent) === 0n
}

function scaled({ digits, exponent }: Decimal, to: number): bigint {
  return digits * 10n ** BigInt(exponent - to)
}

function parse(value: number): Decimal {
  const [mantissa, power] = value.toExponential().split('e') as [string, string]
  const [whole, fraction = ''] = mantissa.split('.') as [string, string?]
  return { digits: BigInt(whole + fraction), exponent: Number(power) - fraction.length }
}
