import { isTime } from '../../../proof/statement/fields.ts'
import {
  absolute,
  compareDecimals,
  type Decimal,
  parseDecimal,
  percentOf,
  subtractDecimals,
} from '../schema/exact-decimal.ts'
import type { ComparedValue } from './document-values.ts'
import type { Operator, Tolerance } from './rule.ts'

/**
 * Reasons why a rule fails. If several reasons apply, the first one is used. They are signed: 256 of them must fit into
 * an envelope, so each has at most 20 characters.
 */
export const RULE_CODES = [
  'expected_erased',
  'actual_erased',
  'expected_missing',
  'actual_missing',
  'expected_type',
  'actual_type',
  'currency_differs',
  'not_equal',
  'above_maximum',
  'below_minimum',
  'outside_tolerance',
  'not_one_of',
  'not_before',
  'not_after',
] as const

export type RuleCode = (typeof RULE_CODES)[number]

/**
 * Compares two values. Returns the reason why the rule fails, or null if the rule passes. `tolerance`: null for every
 * operator other than `within`.
 */
type Comparison = (
  expected: ComparedValue,
  actual: ComparedValue,
  tolerance: Tolerance | null,
) => RuleCode | null

/** Maps an operator to its comparison. A comparison is called only if both values exist. */
export const COMPARISONS: Readonly<Record<Operator, Comparison>> = {
  equals: compareEqual,
  atMost: ofAmounts((expected, actual) => compareDecimals(actual, expected) <= 0, 'above_maximum'),
  atLeast: ofAmounts((expected, actual) => compareDecimals(actual, expected) >= 0, 'below_minimum'),
  within: ofAmounts(isWithin, 'outside_tolerance'),
  oneOf: ({ choices }, { key }) => {
    if (choices === null) return 'expected_type'
    return choices.has(key) ? null : 'not_one_of'
  },
  before: ofTimes((expected, actual) => actual < expected, 'not_before'),
  after: ofTimes((expected, actual) => actual > expected, 'not_after'),
}

function compareEqual(expected: ComparedValue, actual: ComparedValue): RuleCode | null {
  if (expected.key === actual.key) return null
  const [currency, other] = [expected.amount?.currency, actual.amount?.currency]
  return currency && other && currency !== other ? 'currency_differs' : 'not_equal'
}

/**
 * Returns a comparison of amounts. Money is compared only with money of the same currency. Other amounts are compared
 * only with amounts that are not money.
 */
function ofAmounts(
  holds: (expected: Decimal, actual: Decimal, tolerance: Tolerance | null) => boolean,
  code: RuleCode,
): Comparison {
  return ({ amount: expected }, { amount: actual }, tolerance) => {
    if (expected === null) return 'expected_type'
    if (actual === null || (actual.currency === null) !== (expected.currency === null)) return 'actual_type'
    if (actual.currency !== expected.currency) return 'currency_differs'
    return holds(expected.decimal, actual.decimal, tolerance) ? null : code
  }
}

function isWithin(expected: Decimal, actual: Decimal, tolerance: Tolerance | null): boolean {
  const { measure, limit } = tolerance!
  const decimal = parseDecimal(limit)!
  const most = measure === 'percent' ? percentOf(decimal, absolute(expected)) : decimal
  return compareDecimals(absolute(subtractDecimals(actual, expected)), most) <= 0
}

/**
 * Returns a comparison of times. All times have the same form and length, so the order of the texts is the order of the
 * times.
 */
function ofTimes(holds: (expected: string, actual: string) => boolean, code: RuleCode): Comparison {
  return ({ value: expected }, { value: actual }) => {
    if (!isTime(expected)) return 'expected_type'
    if (!isTime(actual)) return 'actual_type'
    return holds(expected as string, actual as string) ? null : code
  }
}
