import { ApiError } from '../../../errors.ts'
import { canonicalize } from '../../../proof/json/jcs.ts'
import type { JsonObject, JsonValue } from '../../../proof/json/json-value.ts'
import { isRuleId } from '../../../proof/statement/fields.ts'
import { TOLERANCES_BYTES_MAX } from '../limits.ts'
import { compareDecimals, parseDecimal } from '../schema/exact-decimal.ts'
import { formatPointer } from '../schema/json-pointer.ts'
import { isJsonObject } from '../schema/schema-keywords.ts'
import type { Rule, Tolerance } from './rule.ts'

/**
 * Tolerances that a record sets in place of the tolerances of its type. `value`: the JSON value as it was given.
 * `canonical`: the text that is stored.
 */
export type Tolerances = {
  readonly value: JsonObject
  readonly canonical: string
  readonly byRule: ReadonlyMap<string, Tolerance>
}

export function isTolerance(value: JsonValue): value is string {
  return typeof value === 'string' && !value.startsWith('-') && parseDecimal(value) !== null
}

/**
 * Parses `tolerances`, for example `{"<rule id>":{"percent":"5"}}`. A record may set tolerances only for rules with a
 * maximum in the type, and only up to this maximum. They may be stricter than the tolerances of the type. Throws
 * `invalid_request` with a `path` below /tolerances.
 */
export function parseTolerances(rules: readonly Rule[], tolerances: JsonValue): Tolerances {
  if (!isJsonObject(tolerances)) throw refused([], 'must be an object whose names are ids of rules')
  const canonical = canonicalTolerances(tolerances)
  const known = new Map(rules.map((rule) => [rule.id, rule]))
  const byRule = new Map<string, Tolerance>()
  for (const [id, value] of Object.entries(tolerances)) {
    if (!isRuleId(id)) throw refused([], 'has a name that is not the id of a rule')
    const rule = known.get(id)
    if (!rule) throw refused([id], `the type has no rule ${id}`)
    byRule.set(id, parseTolerance(rule, value))
  }
  return { value: tolerances, canonical, byRule }
}

/** Returns the canonical text of tolerances. Throws `invalid_request` if the text is too large. */
export function canonicalTolerances(tolerances: object): string {
  const canonical = canonicalize(tolerances as JsonObject)
  const bytes = Buffer.byteLength(canonical)
  if (bytes <= TOLERANCES_BYTES_MAX) return canonical
  throw refused([], `has ${bytes} bytes in canonical form; at most ${TOLERANCES_BYTES_MAX} are allowed`)
}

function parseTolerance(rule: Rule, value: JsonValue): Tolerance {
  const { id } = rule
  if (rule.operator !== 'within' || rule.toleranceMax === null)
    throw refused([id], `rule ${id}: the type does not allow a record to set its tolerance`)
  const { measure } = rule.tolerance
  if (!isJsonObject(value) || Object.keys(value).length !== 1 || !Object.hasOwn(value, measure))
    throw refused([id], `rule ${id}: must be an object with only ${measure}, the measure of the type`)
  const limit = value[measure]!
  if (!isTolerance(limit)) throw refused([id, measure], `rule ${id}: must be a decimal ≥ 0, as a string`)
  if (compareDecimals(parseDecimal(limit)!, parseDecimal(rule.toleranceMax)!) > 0)
    throw refused([id, measure], `rule ${id}: must be at most ${rule.toleranceMax}`)
  return { measure, limit }
}

function refused(segments: readonly string[], detail: string): ApiError {
  const path = formatPointer(['tolerances', ...segments])
  return new ApiError('invalid_request', `${path}: ${detail}`, { members: { path } })
}
