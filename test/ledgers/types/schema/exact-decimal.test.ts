import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  absolute,
  compareDecimals,
  type Decimal,
  decimalOf,
  parseDecimal,
  percentOf,
  subtractDecimals,
} from '../../../../src/ledgers/types/schema/exact-decimal.ts'
import { runs } from '../../../helpers/runs.ts'

/** Reference implementation: a fraction. It parses numbers in another way than the tested code. */
type Fraction = { readonly n: bigint; readonly d: bigint }

function fractionOf(text: string): Fraction {
  const [mantissa, power = '0'] = text.split('e') as [string, string?]
  const places = (mantissa.split('.')[1] ?? '').length
  const n = BigInt(mantissa.replace('.', ''))
  const shift = BigInt(power) - BigInt(places)
  return shift >= 0n ? { n: n * 10n ** shift, d: 1n } : { n, d: 10n ** -shift }
}

const toFraction = ({ digits, exponent }: Decimal): Fraction => fractionOf(`${digits}e${exponent}`)
const sign = (n: bigint | number) => (n > 0 ? 1 : n < 0 ? -1 : 0)
const compare = (a: Fraction, b: Fraction) => sign(a.n * b.d - b.n * a.d)
const isSame = (a: Fraction, b: Fraction) => compare(a, b) === 0

const digits = (min: number, max: number) =>
  fc.array(fc.integer({ min: 0, max: 9 }), { minLength: min, maxLength: max }).map((list) => list.join(''))
const decimalText = fc
  .tuple(fc.constantFrom('', '-'), digits(1, 30), fc.option(digits(1, 30)))
  .map(
    ([minus, whole, fraction]) =>
      minus + whole.replace(/^0+(?=.)/, '') + (fraction === null ? '' : `.${fraction}`),
  )
const number = fc.double({ noNaN: true, noDefaultInfinity: true })
const operand = fc.oneof(
  decimalText.map((text): [Decimal, Fraction] => [parseDecimal(text)!, fractionOf(text)]),
  number.map((value): [Decimal, Fraction] => [decimalOf(value), fractionOf(`${value}`.replace('e+', 'e'))]),
)

test('comparison, difference, percentage and absolute value equal those of exact fractions', () => {
  fc.assert(
    fc.property(operand, operand, ([a, p], [b, q]) => {
      assert.equal(sign(compareDecimals(a, b)), compare(p, q))
      assert.ok(
        isSame(toFraction(subtractDecimals(a, b)), { n: p.n * q.d - q.n * p.d, d: p.d * q.d }),
        'difference',
      )
      assert.ok(isSame(toFraction(percentOf(a, b)), { n: p.n * q.n, d: 100n * p.d * q.d }), 'percent')
      assert.ok(isSame(toFraction(absolute(a)), { n: p.n < 0n ? -p.n : p.n, d: p.d }), 'absolute')
    }),
    { numRuns: runs(2000) },
  )
})

test('different spellings of a number parse to the same decimal', () => {
  const zeros = fc.nat(5).map((n) => '0'.repeat(n))
  fc.assert(
    fc.property(fc.integer(), fc.integer({ min: 0, max: 99_999 }), zeros, (whole, fraction, more) => {
      const text = `${whole}.${`${fraction}`.padStart(5, '0')}`
      assert.deepEqual(parseDecimal(text + more), parseDecimal(text))
      assert.deepEqual(parseDecimal(text), decimalOf(Number(text)))
    }),
  )
  for (const [text, value] of [
    ['1000000000000000000000', 1e21],
    ['-0', 0],
    ['-0.00', -0],
    ['0.0000001', 1e-7],
  ] as const)
    assert.deepEqual(parseDecimal(text), decimalOf(value), text)
})

test('parses only plain decimals, with at most 30 digits before and after the point', () => {
  for (const text of ['0', '-1', '0.0', `${'9'.repeat(30)}.${'0'.repeat(30)}`])
    assert.ok(parseDecimal(text), text)
  for (const text of [
    '',
    '-',
    '.5',
    '5.',
    '+1',
    '01',
    '-01',
    '1e3',
    ' 1',
    '1\n',
    '1,0',
    '٣',
    '0x10',
    'NaN',
    'Infinity',
    '9'.repeat(31),
    `0.${'0'.repeat(31)}`,
  ])
    assert.equal(parseDecimal(text), null, JSON.stringify(text))
})
