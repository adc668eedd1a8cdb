import type { JsonObject, JsonValue } from '../../../proof/json/json-value.ts'
import { isRuleId, isTime } from '../../../proof/statement/fields.ts'
import { RULE_VALUES_MAX, TYPE_RULES_MAX } from '../limits.ts'
import { isPointer } from '../schema/json-pointer.ts'
import { SchemaError } from '../schema/schema-error.ts'
import { isJsonObject } from '../schema/schema-keywords.ts'
import { parseAmount } from './amounts.ts'
import { MEASURES, type Operator, type Rule, type Tolerance } from './rule.ts'
import { isTolerance } from './tolerances.ts'

/*
 * Parses the rules of a type. judge.ts evaluates them. A rule compares one value of the evidence (`actual`) with one
 * value of the payload (`expected`) or with a constant (`value`).
 */

const AMOUNT = 'a number, a decimal as a string, or {"amount","currency"}'
const TIME = 'a time, RFC 3339 in UTC with milliseconds'

/** Maps an operator to the constants that it accepts. */
const CONSTANTS: Readonly<Record<Operator, { is: (value: JsonValue) => boolean; what: string }>> = {
  equals: { is: () => true, what: 'a value' },
  atMost: { is: isAmount, what: AMOUNT },
  atLeast: { is: isAmount, what: AMOUNT },
  within: { is: isAmount, what: AMOUNT },
  oneOf: { is: isChoice, what: `an array of 1 to ${RULE_VALUES_MAX} values` },
  before: { is: isTime, what: TIME },
  after: { is: isTime, what: TIME },
}

const MEMBERS = ['id', 'op', 'expected', 'value', 'actual', 'tolerance', 'overridable']

/** Parses the member `rules` of a definition. Throws SchemaError. */
export function parseRules(rules: JsonValue): Rule[] {
  if (!Array.isArray(rules)) throw new SchemaError(['rules'], 'must be an array')
  if (rules.length > TYPE_RULES_MAX)
    throw new SchemaError(['rules'], `there are more than ${TYPE_RULES_MAX} rules`)
  const ids = new Set<string>()
  return (rules as JsonValue[]).map((value, i) => {
    const rule = new RuleReader(value, ['rules', `${i}`]).read()
    if (ids.has(rule.id)) throw new SchemaError(['rules', `${i}`, 'id'], `another rule has the id ${rule.id}`)
    ids.add(rule.id)
    return rule
  })
}

class RuleReader {
  readonly #rule: JsonObject
  readonly #path: readonly string[]

  constructor(rule: JsonValue, path: readonly string[]) {
    if (!isJsonObject(rule)) throw new SchemaError(path, 'a rule must be an object')
    this.#rule = rule
    this.#path = path
  }

  read(): Rule {
    for (const name of Object.keys(this.#rule))
      if (!MEMBERS.includes(name)) throw this.#error([name], 'unknown member of a rule')
    const id = this.#member(
      'id',
      isRuleId,
      'an id: 1 to 63 letters, digits, dots, hyphens, underscores',
    ) as string
    const operator = this.#member('op', isOperator, `one of ${Object.keys(CONSTANTS).join(', ')}`) as Operator
    const actual = this.#member('actual', isPointerText, 'a JSON Pointer into the evidence') as string
    const common = { id, expected: this.#expected(operator), actual }
    if (operator === 'within') return { ...common, operator, ...this.#tolerance() }
    for (const name of ['tolerance', 'overridable'])
      if (this.#has(name)) throw this.#error([name], 'is allowed only with the operator within')
    return { ...common, operator }
  }

  #expected(operator: Operator): Rule['expected'] {
    if (this.#has('expected') === this.#has('value'))
      throw this.#error(
        [],
        'must have either expected (a JSON Pointer into the payload) or value (a constant)',
      )
    if (this.#has('expected'))
      return { pointer: this.#member('expected', isPointerText, 'a JSON Pointer into the payload') as string }
    return { constant: this.#member('value', CONSTANTS[operator].is, CONSTANTS[operator].what) }
  }

  #tolerance(): { tolerance: Tolerance; toleranceMax: string | null } {
    const tolerance = this.#measured('tolerance', MEASURES)
    if (!this.#has('overridable')) return { tolerance, toleranceMax: null }
    const { limit } = this.#measured('overridable', [`${tolerance.measure}Max`])
    return { tolerance, toleranceMax: limit }
  }

  /**
   * Reads a member whose value is an object such as `{"percent":"5"}`. The object has one member, whose value is a
   * decimal of at least 0 as a string.
   */
  #measured<N extends string>(name: string, measures: readonly N[]): { measure: N; limit: string } {
    const value = this.#rule[name]
    const [measure, ...more] = value !== undefined && isJsonObject(value) ? Object.keys(value) : []
    if (measure === undefined || more.length > 0 || !measures.includes(measure as N))
      throw this.#error([name], `must be an object with ${measures.join(' or ')}`)
    const limit = (value as JsonObject)[measure]!
    if (!isTolerance(limit)) throw this.#error([name, measure], 'must be a decimal ≥ 0, as a string')
    return { measure: measure as N, limit }
  }

  #member(name: string, is: (value: JsonValue) => boolean, what: string): JsonValue {
    if (!this.#has(name) || !is(this.#rule[name]!)) throw this.#error([name], `must be ${what}`)
    return this.#rule[name]!
  }

  #has(name: string): boolean {
    return Object.hasOwn(this.#rule, name)
  }

  /** Makes an error that names the rule by its id. The author of two hundred rules then need not count them. */
  #error(path: readonly string[], detail: string): SchemaError {
    const id = this.#has('id') ? this.#rule['id']! : null
    return new SchemaError([...this.#path, ...path], isRuleId(id) ? `rule ${id}: ${detail}` : detail)
  }
}

function isOperator(value: JsonValue): boolean {
  return typeof value === 'string' && Object.hasOwn(CONSTANTS, value)
}

function isPointerText(value: JsonValue): boolean {
  return typeof value === 'string' && isPointer(value)
}

function isAmount(value: JsonValue): boolean {
  return parseAmount(value) !== null
}

function isChoice(value: JsonValue): boolean {
  return Array.isArray(value) && value.length > 0 && value.length <= RULE_VALUES_MAX
}
