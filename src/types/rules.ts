import { RULE_VALUES_MAX, TYPE_RULES_MAX } from '../limits.ts'
import { isRuleId, isTime } from '../proof/fields.ts'
import type { JsonObject, JsonValue } from '../proof/json-text.ts'
import { isPointer } from './json-pointer.ts'
import { SchemaError } from './schema-error.ts'
import { isJsonObject } from './schema-keywords.ts'

/*
 * Tolerance rules compare one value of the evidence, `actual`, with one of the payload, `expected`, or with a constant,
 * `value`. Here only their form is checked; what they find out is judged when evidence is there.
 */

type Operator = 'equals' | 'atMost' | 'atLeast' | 'within' | 'oneOf' | 'before' | 'after'

const AMOUNT = 'a number, a decimal as a string, or {"amount","currency"}'

/** Which constants an operator compares with. */
const CONSTANTS: Readonly<Record<Operator, { is: (value: JsonValue) => boolean; what: string }>> = {
  equals: { is: () => true, what: 'a value' },
  atMost: { is: isAmount, what: AMOUNT },
  atLeast: { is: isAmount, what: AMOUNT },
  within: { is: isAmount, what: AMOUNT },
  oneOf: { is: isChoice, what: `an array of 1 to ${RULE_VALUES_MAX} values` },
  before: { is: isTime, what: 'a time, RFC 3339 in UTC with milliseconds' },
  after: { is: isTime, what: 'a time, RFC 3339 in UTC with milliseconds' },
}

const MEMBERS = ['id', 'op', 'expected', 'value', 'actual', 'tolerance', 'overridable']
const DECIMAL = /^-?(0|[1-9]\d{0,29})(\.\d{1,30})?$/
const CURRENCY = /^[A-Z]{3}$/

/** Throws SchemaError. `rules` is the definition's member. */
export function verifyRules(rules: JsonValue): void {
  if (!Array.isArray(rules)) throw new SchemaError(['rules'], 'must be an array')
  if (rules.length > TYPE_RULES_MAX)
    throw new SchemaError(['rules'], `there are more than ${TYPE_RULES_MAX} rules`)
  const ids = new Set<JsonValue>()
  for (const [i, rule] of (rules as JsonValue[]).entries()) {
    const path = ['rules', `${i}`]
    if (!isJsonObject(rule)) throw new SchemaError(path, 'a rule is an object')
    verifyRule(rule, path)
    if (ids.has(rule['id']!)) throw new SchemaError([...path, 'id'], 'another rule has this id')
    ids.add(rule['id']!)
  }
}

function verifyRule(rule: JsonObject, path: string[]): void {
  for (const name of Object.keys(rule))
    if (!MEMBERS.includes(name)) throw new SchemaError([...path, name], 'this member is not taken')
  require(rule, path, 'id', isRuleId, 'an id: 1 to 63 letters, digits, dots, hyphens, underscores')
  require(rule, path, 'op', isOperator, `one of ${Object.keys(CONSTANTS).join(', ')}`)
  require(rule, path, 'actual', isPlace, 'a JSON Pointer into the evidence')
  if (Object.hasOwn(rule, 'expected') === Object.hasOwn(rule, 'value'))
    throw new SchemaError(path, 'has either expected, a JSON Pointer into the payload, or value, a constant')
  const operator = rule['op'] as Operator
  if (Object.hasOwn(rule, 'expected'))
    require(rule, path, 'expected', isPlace, 'a JSON Pointer into the payload')
  else require(rule, path, 'value', CONSTANTS[operator].is, CONSTANTS[operator].what)
  verifyTolerance(rule, operator, path)
}

/** `overridable`: how far a record may widen the tolerance, in the same measure. */
function verifyTolerance(rule: JsonObject, operator: Operator, path: string[]): void {
  if (operator !== 'within') {
    for (const name of ['tolerance', 'overridable'])
      if (Object.hasOwn(rule, name))
        throw new SchemaError([...path, name], 'means nothing without the operator within')
    return
  }
  const measure = measureOf(rule['tolerance'], ['absolute', 'percent'], [...path, 'tolerance'])
  if (Object.hasOwn(rule, 'overridable'))
    measureOf(rule['overridable'], [`${measure}Max`], [...path, 'overridable'])
}

/** The one member of `value`, a decimal ≥ 0 as a string. */
function measureOf(value: JsonValue | undefined, names: readonly string[], path: string[]): string {
  const [name, ...more] = value !== undefined && isJsonObject(value) ? Object.keys(value) : []
  if (name === undefined || more.length > 0 || !names.includes(name))
    throw new SchemaError(path, `must be an object with ${names.join(' or ')}`)
  const decimal = (value as JsonObject)[name]
  if (!isDecimal(decimal!) || (decimal as string).startsWith('-'))
    throw new SchemaError([...path, name], 'must be a decimal ≥ 0, as a string')
  return name
}

function require(
  rule: JsonObject,
  path: string[],
  name: string,
  is: (value: JsonValue) => boolean,
  what: string,
): void {
  if (!Object.hasOwn(rule, name) || !is(rule[name]!))
    throw new SchemaError([...path, name], `must be ${what}`)
}

function isOperator(value: JsonValue): boolean {
  return typeof value === 'string' && Object.hasOwn(CONSTANTS, value)
}

function isPlace(value: JsonValue): boolean {
  return typeof value === 'string' && isPointer(value)
}

function isDecimal(value: JsonValue): boolean {
  return typeof value === 'string' && DECIMAL.test(value)
}

function isAmount(value: JsonValue): boolean {
  if (typeof value === 'number' || isDecimal(value)) return true
  if (!isJsonObject(value) || Object.keys(value).length !== 2) return false
  const { amount, currency } = value
  return isDecimal(amount ?? null) && typeof currency === 'string' && CURRENCY.test(currency)
}

function isChoice(value: JsonValue): boolean {
  return Array.isArray(value) && value.length > 0 && value.length <= RULE_VALUES_MAX
}
