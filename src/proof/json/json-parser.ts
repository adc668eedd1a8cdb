import { ProofError } from '../error.ts'
import type { JsonValue } from './json-value.ts'

/**
 * RFC 8259 without JSON.parse's objects, for texts in which a member's name holds an escape.
 *
 * V8 13.6 to 14.6 at least (Node 24, 26) can give such a member another name: after some object had a member called
 * `\`, `{"x":0,"\u0061":1}` may come back as `{"x":0,"\\":1}` (nodejs/node#63785, open). The state is the process's, so
 * one caller could change what another one's document says, and hide a doubled name. Names without an escape, and
 * strings by themselves, are not concerned.
 *
 * `depthMax` as in parseJsonText. Throws `json_syntax`, `json_depth`. The last of equal names counts.
 */
export function parseWithEscapedNames(text: string, depthMax: number): JsonValue {
  const reader = new Reader(text, depthMax)
  return reader.readText()
}

/** The index of the quote that ends a string of which `start` is any character; the text's length if none does. */
export function endOfString(text: string, start: number): number {
  let i = start
  for (; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code === QUOTE) break
    if (code === BACKSLASH) i++
  }
  return i
}

/** endOfString, or where nothing in the text is escaped what is faster. */
export function endFinderOf(text: string): typeof endOfString {
  return text.includes('\\') ? endOfString : endOfPlainString
}

function endOfPlainString(text: string, start: number): number {
  const end = text.indexOf('"', start)
  return end < 0 ? text.length : end
}

const QUOTE = 0x22
const BACKSLASH = 0x5c

const NUMBER = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y
const LITERAL = /true|false|null/y

export function isSpace(code: number): boolean {
  return code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09
}

class Reader {
  readonly #text: string
  readonly #depthMax: number
  #at = 0

  constructor(text: string, depthMax: number) {
    this.#text = text
    this.#depthMax = depthMax
  }

  readText(): JsonValue {
    const value = this.#readValue(0)
    if (this.#at < this.#text.length) throw this.#unexpected()
    return value
  }

  /** With the spaces around it. */
  #readValue(depth: number): JsonValue {
    this.#skipSpace()
    const value = this.#readBare(depth)
    this.#skipSpace()
    return value
  }

  #readBare(depth: number): JsonValue {
    const char = this.#text[this.#at]
    if (char === '"') return this.#readString()
    if (char === '{') return this.#readObject(depth + 1)
    if (char === '[') return this.#readArray(depth + 1)
    const token = this.#match(LITERAL) || this.#match(NUMBER)
    if (token === '') throw this.#unexpected()
    return JSON.parse(token) as JsonValue
  }

  #readObject(depth: number): JsonValue {
    const members: [string, JsonValue][] = []
    this.#readList(depth, '}', () => {
      this.#skipSpace()
      const name = this.#readString()
      this.#skipSpace()
      this.#expect(':')
      members.push([name, this.#readValue(depth)])
    })
    return Object.fromEntries(members) // sets a member called __proto__ like any other
  }

  #readArray(depth: number): JsonValue {
    const elements: JsonValue[] = []
    this.#readList(depth, ']', () => elements.push(this.#readValue(depth)))
    return elements
  }

  #readList(depth: number, close: string, readMember: () => void): void {
    if (depth > this.#depthMax) {
      throw new ProofError('json_depth', `deeper than ${this.#depthMax} at character ${this.#at}`)
    }
    this.#at++
    this.#skipSpace()
    if (this.#text[this.#at] === close) {
      this.#at++
      return
    }
    readMember()
    while (this.#text[this.#at] === ',') {
      this.#at++
      readMember()
    }
    this.#expect(close)
  }

  /** JSON.parse knows what a string may hold, and a string by itself has no name. */
  #readString(): string {
    const start = this.#at
    this.#expect('"')
    this.#at = endOfString(this.#text, this.#at) + 1
    try {
      return JSON.parse(this.#text.slice(start, this.#at)) as string
    } catch (error) {
      throw new ProofError('json_syntax', `${(error as SyntaxError).message} at character ${start}`)
    }
  }

  /** In a loop: as a pattern it took half of the time of all. */
  #skipSpace(): void {
    while (isSpace(this.#text.charCodeAt(this.#at))) this.#at++
  }

  /** Match of the sticky pattern here; '' if there is none. */
  #match(pattern: RegExp): string {
    pattern.lastIndex = this.#at
    const [found] = pattern.exec(this.#text) ?? ['']
    this.#at += found.length
    return found
  }

  #expect(char: string): void {
    if (this.#text[this.#at] !== char) throw this.#unexpected()
    this.#at++
  }

  #unexpected(): ProofError {
    const char = this.#text[this.#at]
    const what = char === undefined ? 'the text ends' : `unexpected ${JSON.stringify(char)}`
    return new ProofError('json_syntax', `${what} at character ${this.#at}`)
  }
}
