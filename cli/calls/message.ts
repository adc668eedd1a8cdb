import { type ContentOptions, contentOf, digestMember } from '../../sdk/actions/content.ts'
import { ProofError } from '../../src/proof/error.ts'
import { endOfString, isSpace } from '../../src/proof/json/json-parser.ts'
import { parseJsonText } from '../../src/proof/json/json-text.ts'
import { TRACEPARENT } from '../../src/proof/statement/traceparent.ts'
import { MESSAGE_DEPTH_MAX, MESSAGE_EXACT_CHARS_MAX } from './limits.ts'

/** JSON that somebody else wrote. */
export type Message = {
  readonly text: string
  readonly value: unknown
  /** null: JSON.parse shows all that the text says. Otherwise why not: a doubled name, a number that a double changes. */
  readonly inexact: string | null
}

/** null: it is no JSON. */
export function readMessage(text: string): Message | null {
  if (text.length > MESSAGE_EXACT_CHARS_MAX)
    return parseInexact(text, 'it is too long to be looked at closely')
  try {
    return { text, value: parseJsonText(text, { depthMax: MESSAGE_DEPTH_MAX }), inexact: null }
  } catch (error) {
    if (!(error instanceof ProofError)) throw error
    return parseInexact(text, error.detail)
  }
}

function parseInexact(text: string, inexact: string): Message | null {
  try {
    return { text, value: JSON.parse(text), inexact }
  } catch {
    return null
  }
}

/**
 * A value of a message, for a record. The digest of what is not exact is that of its bytes as they came; a text is exact where it is JSON
 * at all.
 */
export function contentAt(
  name: 'arguments' | 'result',
  { text, value, inexact }: Message,
  path: readonly string[],
  options: ContentOptions,
): Record<string, unknown> {
  const found = valueAt(value, path)
  if (found === undefined || inexact === null) return contentOf(name, found, options)
  return typeof found === 'string' && found.isWellFormed()
    ? digestMember(name, found, 'bytes', options.sha256)
    : digestMember(name, textAt(text, path), 'bytes', options.sha256)
}

export function valueAt(value: unknown, path: readonly string[]): unknown {
  let found = value
  for (const name of path) {
    if (found === null || typeof found !== 'object' || !Object.hasOwn(found, name)) return undefined
    found = (found as Record<string, unknown>)[name]
  }
  return found
}

/** Text of the value at the path, of the last of equal names: as JSON.parse has it. The text is JSON, and the value is there. */
function textAt(text: string, path: readonly string[]): string {
  let from = skipSpace(text, 0)
  let to = text.length
  for (const name of path) {
    let found = -1
    let end = -1
    for (let at = skipSpace(text, from + 1); text[at] === '"'; ) {
      const nameEnd = endOfString(text, at + 1) + 1
      const valueAt = skipSpace(text, skipSpace(text, nameEnd) + 1)
      const valueEnd = endOfValue(text, valueAt)
      if (JSON.parse(text.slice(at, nameEnd)) === name) {
        found = valueAt
        end = valueEnd
      }
      const next = skipSpace(text, valueEnd)
      if (text[next] !== ',') break
      at = skipSpace(text, next + 1)
    }
    if (found < 0) return ''
    from = found
    to = end
  }
  return text.slice(from, to)
}

function skipSpace(text: string, from: number): number {
  let at = from
  while (isSpace(text.charCodeAt(at))) at++
  return at
}

function endOfValue(text: string, from: number): number {
  if (text[from] === '"') return endOfString(text, from + 1) + 1
  let depth = 0
  for (let at = from; at < text.length; at++) {
    const char = text[at]!
    if (char === '"') at = endOfString(text, at + 1)
    else if (char === '{' || char === '[') depth++
    else if (char === '}' || char === ']') {
      if (depth === 0) return at
      if (--depth === 0) return at + 1
    } else if (depth === 0 && (char === ',' || isSpace(text.charCodeAt(at)))) return at
  }
  return text.length
}

export function traceparentOf(value: unknown): string | undefined {
  return typeof value === 'string' && TRACEPARENT.test(value) ? value : undefined
}
