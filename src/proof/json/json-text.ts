import { ProofError } from '../error.ts'
import { JSON_DEPTH_MAX, JSON_DIGITS_MAX } from '../limits.ts'
import { endFinderOf, endOfString, isSpace, parseWithEscapedNames } from './json-parser.ts'
import type { JsonObject, JsonValue } from './json-value.ts'

/*
 * Checks the text of requests and statements (docs/formats/documents.md). A parser that keeps the last of two equal
 * names, or that rounds a number, would sign something other than the sender's text. Two parsers could then see two
 * documents behind one signature.
 *
 * Every HTTP body is parsed here. First JSON.parse checks the grammar. Then one pass over the text finds what
 * JSON.parse hides. This pass may rely on the grammar. The pass counts colons instead of names: if the value has fewer
 * members than the text has colons, a name is duplicated.
 *
 * JSON.parse and the pass together take 1.5 times as long as JSON.parse alone (1.9 µs for a body of 419 bytes, 360 µs
 * for a batch of 84 KB). Reading strings character by character instead of by indexOf took 2.1 times as long.
 */

/**
 * `tokensMax`: maximum number of names, values, lists and objects together. It applies to texts of more than 64 KiB.
 * The number is unlimited if `tokensMax` is absent.
 */
export type JsonLimits = { readonly depthMax: number; readonly tokensMax?: number | undefined }

/**
 * Parses a JSON text (RFC 8259). `depthMax`: maximum nesting depth of arrays and objects.
 *
 * Throws the first of these codes that applies: `json_depth`, `json_syntax`, `json_number_lossy`, `json_surrogate`,
 * `json_nul`, `json_duplicate_member`. In a text of more than 64 KiB, `json_too_costly` may come before `json_depth`.
 * The Python verifier has the same order.
 */
export function parseJsonText(text: string, limits?: JsonLimits): JsonValue {
  const depthMax = limits?.depthMax ?? JSON_DEPTH_MAX
  if (text.length > COST_FIRST_CHARS) refuseCost(text, { depthMax, tokensMax: limits?.tokensMax })
  const { value, members } = parseAndScan(text, depthMax)
  if (!text.isWellFormed()) throw new ProofError('json_surrogate', 'the text has a lone surrogate')
  if (text.includes('\\u')) refuseBadStrings(value)
  if (countMembers(value) !== members) throw duplicateMember(text)
  return value
}

export function withoutBom(text: string): string {
  return text.charCodeAt(0) === 0xfeff ? text.slice(1) : text
}

/**
 * Parses and scans the text. A text that is too deep always gets `json_depth`, even if it has other faults or is not
 * JSON.
 */
function parseAndScan(text: string, depthMax: number): { value: JsonValue; members: number } {
  try {
    return { value: parseChecked(text, depthMax), members: scan(text, depthMax) }
  } catch (error) {
    refuseCost(text, { depthMax })
    throw error
  }
}

/** Parses a text, or a part of a text, that parseJsonText has already accepted. */
export function parseChecked(text: string, depthMax = JSON_DEPTH_MAX): JsonValue {
  return hasEscapedName(text) ? parseWithEscapedNames(text, depthMax) : parseGrammar(text)
}

/**
 * Parses a text if JSON.parse reads it exactly. Otherwise returns undefined, and the caller can use JsonReader to find
 * the reason. Possible reasons: the text is not JSON, is too deep, has a duplicate or escaped name, or has a long
 * number that is not spelled like its double.
 */
export function parseExact(text: string, depthMax: number): JsonValue | undefined {
  if (hasEscapedName(text)) return undefined
  try {
    // The scan comes first, because JSON.parse is slow on deep texts.
    const members = scan(text, depthMax, refuseRespelt)
    const value = parseGrammar(text)
    return countMembers(value) === members ? value : undefined
  } catch {
    return undefined
  }
}

function refuseRespelt(literal: string, at: number): void {
  if (`${Number(literal)}` !== literal)
    throw new ProofError('json_number_lossy', `a number at character ${at} would lose digits as a double`)
}

/**
 * Length in characters above which the cost of a text is checked before JSON.parse gets the text. JSON.parse takes 1.8
 * s and 160 MB for 4 MiB of brackets.
 */
const COST_FIRST_CHARS = 64 * 1024

/**
 * Returns true if the text is within the limits and has no escaped name. An escaped name needs the slow parser. A text
 * of 512 KiB with 32,768 tokens takes 18 ms on a core of 2.5 GHz. The text may still be invalid JSON.
 */
export function isCheap(text: string, limits: JsonLimits): boolean {
  try {
    refuseCost(text, limits)
  } catch {
    return false
  }
  return !hasEscapedName(text)
}

/**
 * Throws `json_depth` or `json_too_costly` if a text exceeds the limits. The text may be invalid JSON. Then the ends of
 * its strings are only guessed, and the grammar check refuses the text later.
 */
export function refuseCost(text: string, { depthMax, tokensMax = Infinity }: JsonLimits): void {
  const findEnd = endFinderOf(text)
  let depth = 0
  let tokens = 0
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code === QUOTE) i = findEnd(text, i + 1)
    else if (code === CLOSE_OBJECT || code === CLOSE_ARRAY) depth--
    else if (isTokenBefore(code)) {
      if ((code === OPEN_OBJECT || code === OPEN_ARRAY) && ++depth > depthMax)
        throw new ProofError(
          'json_depth',
          `the JSON is nested more than ${depthMax} levels deep at character ${i}`,
        )
      if (++tokens > tokensMax)
        throw new ProofError('json_too_costly', `the JSON has more than ${tokensMax} names and values`)
    }
  }
}

/**
 * Returns true for a comma, a colon and an opening bracket. The number of these characters is the number of tokens,
 * except that an object or list and its first element together count as one token.
 */
export function isTokenBefore(code: number): boolean {
  return code === COMMA || code === COLON || code === OPEN_OBJECT || code === OPEN_ARRAY
}

/**
 * Returns true if JSON.parse could give a member of the text another name (see json-parser.ts). Valid JSON has
 * backslashes only in strings.
 */
function hasEscapedName(text: string): boolean {
  for (let slash = text.indexOf('\\'); slash >= 0; ) {
    const end = endOfString(text, slash)
    if (isColonNext(text, end + 1)) return true
    slash = text.indexOf('\\', end)
  }
  return false
}

function isColonNext(text: string, from: number): boolean {
  let i = from
  while (isSpace(text.charCodeAt(i))) i++
  return text.charCodeAt(i) === COLON
}

function parseGrammar(text: string): JsonValue {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new ProofError('json_syntax', (error as SyntaxError).message)
  }
}

const QUOTE = 0x22
const PLUS = 0x2b
const COMMA = 0x2c
const MINUS = 0x2d
const DIGIT_0 = 0x30
const DIGIT_9 = 0x39
const COLON = 0x3a
const OPEN_ARRAY = 0x5b
const CLOSE_ARRAY = 0x5d
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d

/**
 * Number of characters up to which a number without an exponent needs no check, because a double has 15 reliable
 * digits.
 */
const SAFE_NUMBER_CHARS = 15

/**
 * Returns the number of members in the text, duplicates included. Throws for excessive depth, and for numbers that a
 * double would change.
 */
function scan(text: string, depthMax: number, checkNumber = refuseLossy): number {
  // `findEnd` is chosen before the loop. When a boolean inside the loop made this choice, V8's optimizer searched the
  // whole text again for each string: 14 s instead of 10 ms for a body of 4 MiB (Node 24).
  const findEnd = endFinderOf(text)
  let members = 0
  let depth = 0
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code === QUOTE) i = findEnd(text, i + 1)
    else if (code === COLON) members++
    else if (code === OPEN_OBJECT || code === OPEN_ARRAY) {
      if (++depth > depthMax)
        throw new ProofError(
          'json_depth',
          `the JSON is nested more than ${depthMax} levels deep at character ${i}`,
        )
    } else if (code === CLOSE_OBJECT || code === CLOSE_ARRAY) depth--
    else if ((code >= DIGIT_0 && code <= DIGIT_9) || code === MINUS) i = scanNumber(text, i, checkNumber)
  }
  return members
}

const LETTER_E = 0x65
const LOWER_CASE = 0x20

/**
 * Returns the index of the number's last character. The grammar was checked before, so the number ends at a comma, a
 * closing bracket or white space.
 */
function scanNumber(text: string, start: number, check: typeof refuseLossy): number {
  let end = start + 1
  let exponent = false
  for (; end < text.length; end++) {
    const code = text.charCodeAt(end)
    if (code <= COMMA ? code !== PLUS : code === CLOSE_ARRAY || code === CLOSE_OBJECT) break
    if ((code | LOWER_CASE) === LETTER_E) exponent = true
  }
  if (exponent || end - start > SAFE_NUMBER_CHARS) check(text.slice(start, end), start)
  return end - 1
}

/**
 * Throws if a double would change the number. Leading and trailing zeros are not significant. `100.0` and fractions of
 * 17 digits pass although they come back in another spelling, because nobody could have meant another number.
 *
 * An integer that no double represents passes only if it is spelled as RFC 8785 writes the nearest double. For example,
 * 2^60 is written `1152921504606847000`. The text of such an integer does not change. Every canonical text must pass,
 * because exports are parsed again.
 */
function refuseLossy(literal: string, at: number): void {
  const value = Number(literal)
  const significant = countSignificantDigits(literal)
  const lossy =
    !Number.isFinite(value) ||
    significant > JSON_DIGITS_MAX ||
    (value === 0 && significant > 0) ||
    (INTEGER.test(literal) && literal !== `${value}` && BigInt(literal) !== BigInt(value))
  if (lossy) {
    const shown = literal.length > SHOWN_CHARS_MAX ? `${literal.slice(0, SHOWN_CHARS_MAX)}…` : literal
    throw new ProofError('json_number_lossy', `${shown} at character ${at} would change as a double`)
  }
}

/**
 * Counts the significant digits of a number, in one pass, because a literal may be as long as a body. A regular
 * expression such as /0+$/ takes time quadratic in the number of zeros.
 */
function countSignificantDigits(literal: string): number {
  let seen = 0
  let significant = 0
  for (let i = 0; i < literal.length; i++) {
    const code = literal.charCodeAt(i)
    if ((code | LOWER_CASE) === LETTER_E) break
    if (code < DIGIT_0) continue // skips the sign and the point
    if (seen > 0 || code > DIGIT_0) seen++
    if (code > DIGIT_0) significant = seen
  }
  return significant
}

const INTEGER = /^-?[0-9]+$/
const SHOWN_CHARS_MAX = 40

function countMembers(value: JsonValue): number {
  if (value === null || typeof value !== 'object') return 0
  let members = 0
  if (Array.isArray(value)) {
    for (const element of value) members += countMembers(element)
    return members
  }
  const object = value as JsonObject
  for (const name in object) members += 1 + countMembers(object[name]!)
  return members
}

/**
 * Throws if a string contains a lone surrogate or U+0000. If the text is well-formed, only escapes can produce them.
 */
function refuseBadStrings(value: JsonValue): void {
  const strings = [...stringsOf(value)]
  const half = strings.find((text) => !text.isWellFormed())
  if (half !== undefined)
    throw new ProofError(
      'json_surrogate',
      `a string has a lone surrogate: ${JSON.stringify(half.slice(0, SHOWN_CHARS_MAX))}`,
    )
  const nul = strings.find((text) => text.includes('\u0000'))
  if (nul !== undefined)
    throw new ProofError('json_nul', `a string has U+0000: ${JSON.stringify(nul.slice(0, SHOWN_CHARS_MAX))}`)
}

function* stringsOf(value: JsonValue): Generator<string> {
  if (typeof value === 'string') yield value
  else if (Array.isArray(value)) for (const element of value) yield* stringsOf(element)
  else if (value !== null && typeof value === 'object') {
    for (const [name, member] of Object.entries(value)) {
      yield name
      yield* stringsOf(member)
    }
  }
}

/** Makes the error that names the duplicate member. Must be called only if the text has a duplicate member. */
function duplicateMember(text: string): ProofError {
  const open: Set<string>[] = []
  let name = ''
  for (let i = 0; i < text.length; i++) {
    const char = text[i]!
    if (char === '{' || char === '[') open.push(new Set())
    else if (char === '}' || char === ']') open.pop()
    else if (char === '"') {
      const end = endOfString(text, i + 1)
      name = text.slice(i, end + 1)
      i = end
    } else if (char === ':') {
      const names = open.at(-1)!
      const size = names.size
      if (names.add(JSON.parse(name) as string).size === size) break
    }
  }
  return new ProofError('json_duplicate_member', `${name} occurs twice in one object`)
}
