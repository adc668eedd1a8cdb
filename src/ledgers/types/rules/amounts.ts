import type { JsonObject, JsonValue } from '../../../proof/json/json-value.ts'
import { type Decimal, decimalOf, parseDecimal } from '../schema/exact-decimal.ts'
import { isJsonObject } from '../schema/schema-keywords.ts'

/**
 * A number, a decimal as a string, or an amount of money. Rules compare amounts by size. `currency`: null if the amount
 * is not money.
 */
export type Amount = { readonly decimal: Decimal; readonly currency: string | null }

const CURRENCY = /^[A-Z]{3}$/

export function parseAmount(value: JsonValue): Amount | null {
  const decimal = parseNumber(value)
  if (decimal) return { decimal, currency: null }
  return isJsonObject(value) ? parseMoney(value) : null
}

function parseNumber(value: JsonValue): Decimal | null {
  if (typeof value === 'number') return decimalOf(value)
  return typeof value === 'string' ? parseDecimal(value) : null
}

/**
 * Parses `{amount, currency}`. Returns null if there are other members, because they may change the meaning of the
 * amount, for example a unit or a tax.
 */
export function parseMoney(value: JsonObject): Amount | null {
  if (!Object.hasOwn(value, 'amount') || !Object.hasOwn(value, 'currency')) return null
  const { amount, currency } = value
  const decimal = parseNumber(amount!)
  if (!decimal || typeof currency !== 'string' || !CURRENCY.test(currency)) return null
  return Object.keys(value).length === 2 ? { decimal, currency } : null
}
