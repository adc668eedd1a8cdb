import {
  type ContentDigest,
  type ContentOptions,
  contentOf,
  type ErrorMembers,
  errorOf,
  jsonDigest,
} from '../../sdk/actions/content.ts'
import { ProofError } from '../../src/proof/error.ts'
import { endOfString, isSpace } from '../../src/proof/json/json-parser.ts'
import { parseJsonText, withoutBom } from '../../src/proof/json/json-text.ts'
import { TRACEPARENT } from '../../src/proof/statement/traceparent.ts'
import { MESSAGE_DEPTH_MAX, MESSAGE_EXACT_CHARS_MAX } from './limits.ts'

/** JSON text that another program wrote. */
export type Message = {
  readonly text: string
  readonly value: unknown
  /**
   * Reason why parsing loses a part of the text: a duplicate name, or a number that a double changes. null if nothing
   * is lost.
   */
  readonly inexact: string | null
}

/** Parses a JSON text, which may begin with a byte order mark. Returns null if the text is not JSON. */
export function readMessage(written: string): Message | null {
  const text = withoutBom(written)
  if (text.length > MESSAGE_EXACT_CHARS_MAX) return parseInexact(text, 'it is too long to be parsed')
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
 * Returns the record members for a value of a message. The digest covers the JSON text of the value if parsing loses a
 * part of the value, or if the value is too deep or too large. Parsing never changes a string.
 */
export function contentAt(
  name: 'arguments' | 'result',
  message: Message,
  path: readonly string[],
  options: ContentOptions,
): Record<string, unknown> {
  const found = valueAt(message.value, path)
  const ofText = () => jsonDigest(name, textAt(message.text, path), options.sha256)
  if (!isExact(message, found))
    return typeof found === 'string' ? contentOf(name, found, { ...options, include: false }) : ofText()
  const content = contentOf(name, found, options)
  return isNone(content[`${name}Digest`]) ? ofText() : content
}

/** Returns the record members for an error of a message. The text of the error counts as content. */
export function errorAt(message: Message, path: readonly string[], options: ContentOptions): ErrorMembers {
  const found = valueAt(message.value, path)
  const isRead = isExact(message, found) || typeof found === 'string'
  const error = isRead ? errorOf(found, options) : undefined
  return error === undefined || isNone(error.errorDigest)
    ? jsonDigest('error', textAt(message.text, path), options.sha256)
    : error
}

function isNone(digest: unknown): boolean {
  return (digest as ContentDigest | undefined)?.of === 'none'
}

function isExact({ inexact }: Message, found: unknown): boolean {
  return inexact === null || found === undefined
}

/** Returns the messages of a list, each with its own range of the text. */
export function elementsOf({ text, value, inexact }: Message): Message[] {
  let at = skipSpace(text, 0)
  return (value as readonly unknown[]).map((each) => {
    const from = skipSpace(text, at + 1)
    const to = endOfValue(text, from)
    at = skipSpace(text, to)
    return { text: text.slice(from, to), value: each, inexact }
  })
}

export function valueAt(value: unknown, path: readonly string[]): unknown {
  let found = value
  for (const name of path) {
    if (found === null || typeof found !== 'object' || !Object.hasOwn(found, name)) return undefined
    found = (found as Record<string, unknown>)[name]
  }
  return found
}

/**
 * Returns the JSON text of the value at the path. If a name occurs twice, its last value counts, as in JSON.parse. The
 * text must be JSON and contain the value.
 */
function textAt(text: string, path: readonly string[]): string {
  let from = skipSpace(text, 0)
  let to = text.length
  for (const name of path) {
    let found = -1
    let end = -1
    for (const member of membersOf(text, from)) {
      if (member.name !== name) continue
      found = member.from
      end = member.to
    }
    if (found < 0) return ''
    from = found
    to = end
  }
  return text.slice(from, to)
}

/** Yields the members of an object in a JSON text, with the range of each value. `from`: start of the object. */
function* membersOf(text: string, from: number): Generator<{ name: unknown; from: number; to: number }> {
  if (text[from] !== '{') return
  for (let at = skipSpace(text, from + 1); text[at] === '"'; ) {
    const nameEnd = endOfString(text, at + 1) + 1
    const start = skipSpace(text, skipSpace(text, nameEnd) + 1)
    const end = endOfValue(text, start)
    yield { name: JSON.parse(text.slice(at, nameEnd)), from: start, to: end }
    const next = skipSpace(text, end)
    if (text[next] !== ',') return
    at = skipSpace(text, next + 1)
  }
}

/**
 * Returns whether a name occurs twice: one of `names` in the object at the path, or a name of the path in the object
 * that contains it. JSON parsers differ in which of two equal names they use.
 */
export function hasTwice(message: Message, path: readonly string[], names: readonly string[]): boolean {
  if (message.inexact === null) return false
  const { text } = message
  let from = skipSpace(text, 0)
  for (const name of path) {
    const found = [...membersOf(text, from)].filter((member) => member.name === name)
    if (found.length !== 1) return found.length > 1
    from = found[0]!.from
  }
  const seen = new Set<unknown>()
  for (const { name } of membersOf(text, from)) {
    if (seen.has(name)) return true
    if (names.includes(name as string)) seen.add(name)
  }
  return false
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
