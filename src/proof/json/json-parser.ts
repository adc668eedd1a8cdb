import { ProofError } from '../error.ts'
import type { JsonObject, JsonValue } from './json-value.ts'

/**
 * Parses JSON (RFC 8259) without calling JSON.parse for objects. It is for texts in which a member name has an escape.
 *
 * V8 13.6 to at least 14.6 (Node 24, 26) can give such a member another name. After some object had a member called
 * `\`, `{"x":0,"\u0061":1}` may come back as `{"x":0,"\\":1}` (nodejs/node#63785, open). All callers of the process
 * share this state of V8. So one caller could change the content of another caller's document, and hide a duplicate
 * name. Names without an escape, and single strings, are not affected.
 *
 * `depthMax` has the same meaning as in parseJsonText. Throws `json_syntax` or `json_depth`. If an object has a name
 * twice, the last value counts.
 */
export function parseWithEscapedNames(text: string, depthMax: number): JsonValue {
  return new JsonReader(text, depthMax).readText()
}

/**
 * Returns the index of the quote that ends the string. `start`: an index within the string. Returns the text's length
 * if the string does not end.
 */
export function endOfString(text: string, start: number): number {
  let i = start
  for (; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code === QUOTE) break
    if (code === BACKSLASH) i++
  }
  return i
}

/** Returns `endOfString`. If the text has no backslash, returns a faster function with the same results. */
export function endFinderOf(text: string): typeof endOfString {
  return text.includes('\\') ? endOfString : endOfPlainString
}

function endOfPlainString(text: string, start: number): number {
  const end = text.indexOf('"', start)
  return end < 0 ? text.length : end
}

const QUOTE = 0x22
const COMMA = 0x2c
const COLON = 0x3a
const OPEN_ARRAY = 0x5b
const BACKSLASH = 0x5c
const CLOSE_ARRAY = 0x5d
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d

const NUMBER = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y
const LITERAL = /true|false|null/y

export function isSpace(code: number): boolean {
  return code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09
}

/**
 * Matches characters that need decoding or that are forbidden in a JSON string. A string that contains none of them is
 * used unchanged.
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const NEEDS_PARSING = /[\\\u0000-\u001f]/

/**
 * JSON parser. A subclass may change the handling of numbers, duplicate names and depth, which JSON leaves open
 * (src/records/otlp/read-json.ts).
 */
export class JsonReader {
  protected readonly text: string
  readonly #depthMax: number
  protected at = 0

  constructor(text: string, depthMax: number) {
    this.text = text
    this.#depthMax = depthMax
  }

  readText(): JsonValue {
    const value = this.#readValue(0)
    if (this.at < this.text.length) throw this.unexpected()
    return value
  }

  protected number(literal: string): JsonValue {
    return Number(literal)
  }

  /** Called for a name that occurs twice in an object. */
  protected doubled(_object: JsonObject, _name: string): void {}

  /**
   * Called if an array or object at `at` is nested too deep. Returns a value for this array or object, and MUST move
   * `at` to its end. This implementation throws `json_depth`.
   */
  protected tooDeep(): JsonValue {
    throw new ProofError(
      'json_depth',
      `the JSON is nested more than ${this.#depthMax} levels deep at character ${this.at}`,
    )
  }

  /** Reads a value and the white space around it. */
  #readValue(depth: number): JsonValue {
    this.#skipSpace()
    const value = this.#readBare(depth)
    this.#skipSpace()
    return value
  }

  #readBare(depth: number): JsonValue {
    const code = this.text.charCodeAt(this.at)
    if (code === QUOTE) return this.#readString()
    if (code === OPEN_OBJECT || code === OPEN_ARRAY) {
      if (depth >= this.#depthMax) return this.tooDeep()
      return code === OPEN_OBJECT ? this.#readObject(depth + 1) : this.#readArray(depth + 1)
    }
    const literal = this.#match(NUMBER)
    if (literal !== '') return this.number(literal)
    const token = this.#match(LITERAL)
    if (token === '') throw this.unexpected()
    return JSON.parse(token) as JsonValue
  }

  #readObject(depth: number): JsonValue {
    const object: Record<string, JsonValue> = {}
    this.#readList(CLOSE_OBJECT, () => {
      this.#skipSpace()
      const name = this.#readString()
      this.#skipSpace()
      this.#expect(COLON)
      const value = this.#readValue(depth)
      if (Object.hasOwn(object, name)) this.doubled(object, name)
      if (name === '__proto__') Object.defineProperty(object, name, { value, ...PLAIN_MEMBER })
      else object[name] = value
    })
    return object
  }

  #readArray(depth: number): JsonValue {
    const elements: JsonValue[] = []
    this.#readList(CLOSE_ARRAY, () => elements.push(this.#readValue(depth)))
    return elements
  }

  #readList(close: number, readMember: () => void): void {
    this.at++
    this.#skipSpace()
    if (this.text.charCodeAt(this.at) === close) {
      this.at++
      return
    }
    readMember()
    while (this.text.charCodeAt(this.at) === COMMA) {
      this.at++
      readMember()
    }
    this.#expect(close)
  }

  /**
   * JSON.parse is safe here. It checks and decodes a single string, and V8's bug (see parseWithEscapedNames) affects
   * only member names of objects.
   */
  #readString(): string {
    const start = this.at
    this.#expect(QUOTE)
    const end = endOfString(this.text, this.at)
    this.at = end + 1
    const inner = this.text.slice(start + 1, end)
    if (end < this.text.length && !NEEDS_PARSING.test(inner)) return inner
    try {
      return JSON.parse(this.text.slice(start, this.at)) as string
    } catch (error) {
      throw new ProofError('json_syntax', `${(error as SyntaxError).message} at character ${start}`)
    }
  }

  /** Uses a loop, because a regular expression here took half of the parser's time. */
  #skipSpace(): void {
    while (isSpace(this.text.charCodeAt(this.at))) this.at++
  }

  /** Matches a sticky pattern at `at` and returns the matched text, or ''. Moves `at` behind the match. */
  #match(pattern: RegExp): string {
    pattern.lastIndex = this.at
    const [found] = pattern.exec(this.text) ?? ['']
    this.at += found.length
    return found
  }

  #expect(code: number): void {
    if (this.text.charCodeAt(this.at) !== code) throw this.unexpected()
    this.at++
  }

  protected unexpected(): ProofError {
    const char = this.text[this.at]
    const what = char === undefined ? 'the text ends' : `unexpected ${JSON.stringify(char)}`
    return new ProofError('json_syntax', `${what} at character ${this.at}`)
  }
}

const PLAIN_MEMBER = { enumerable: true, configurable: true, writable: true }
