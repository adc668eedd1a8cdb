/*
 * Reference implementation of docs/formats/documents.md, to compare parseJsonText with. It is simple rather than
 * fast: RFC 8259 by recursive descent, numbers by exact arithmetic.
 */

/**
 * Returns the reason for a refusal, or the value. JSON.parse cannot be the reference, for the reason in
 * src/proof/json/json-parser.ts.
 */
export function slowCheck(text: string, depthMax: number): { refusal: string } | { value: unknown } {
  if (Buffer.from(text).toString() !== text) return { refusal: 'no UTF-8 encodes it' }
  try {
    const parser = new Parser(text, depthMax)
    return { value: parser.document() }
  } catch (error) {
    if (error instanceof Refused) return { refusal: error.message }
    throw error
  }
}

class Refused extends Error {}

class Parser {
  readonly #text: string
  readonly #depthMax: number
  #at = 0

  constructor(text: string, depthMax: number) {
    this.#text = text
    this.#depthMax = depthMax
  }

  document(): unknown {
    this.#space()
    const value = this.#value(0)
    this.#space()
    if (this.#at < this.#text.length) throw new Refused('trailing text')
    return value
  }

  #value(depth: number): unknown {
    const char = this.#text[this.#at]
    if (char === '{' || char === '[') {
      if (depth === this.#depthMax) throw new Refused('depth')
      if (char === '{') return this.#object(depth + 1)
      const elements: unknown[] = []
      this.#list(']', () => elements.push(this.#value(depth + 1)))
      return elements
    }
    if (char === '"') return this.#string()
    if (this.#take('true')) return true
    if (this.#take('false')) return false
    if (this.#take('null')) return null
    return this.#number()
  }

  #object(depth: number): unknown {
    const members = {}
    this.#list('}', () => {
      const name = this.#string()
      if (Object.hasOwn(members, name)) throw new Refused('duplicate')
      this.#space()
      this.#expect(':')
      this.#space()
      const value = this.#value(depth)
      Object.defineProperty(members, name, { value, enumerable: true, writable: true, configurable: true })
    })
    return members
  }

  #list(close: string, member: () => void): void {
    this.#at++
    this.#space()
    if (this.#take(close)) return
    for (;;) {
      this.#space()
      member()
      this.#space()
      if (this.#take(close)) return
      this.#expect(',')
    }
  }

  #string(): string {
    this.#expect('"')
    const units: number[] = []
    for (;;) {
      const unit = this.#text.charCodeAt(this.#at++)
      if (Number.isNaN(unit) || unit < 0x20) throw new Refused('string')
      if (unit === 0x22) break
      units.push(unit === 0x5c ? this.#escape() : unit)
    }
    for (const [i, unit] of units.entries()) {
      if (unit === 0) throw new Refused('nul')
      const high = unit >= 0xd800 && unit <= 0xdbff
      const low = unit >= 0xdc00 && unit <= 0xdfff
      const next = units[i + 1] ?? 0
      const before = units[i - 1] ?? 0
      if (high && !(next >= 0xdc00 && next <= 0xdfff)) throw new Refused('surrogate')
      if (low && !(before >= 0xd800 && before <= 0xdbff)) throw new Refused('surrogate')
    }
    return String.fromCharCode(...units)
  }

  #escape(): number {
    const char = this.#text[this.#at++] ?? ''
    const simple = '"\\/bfnrt'.indexOf(char)
    if (char !== '' && simple >= 0) return '"\\/\b\f\n\r\t'.charCodeAt(simple)
    const hex = this.#text.slice(this.#at, this.#at + 4)
    if (char !== 'u' || !/^[0-9a-fA-F]{4}$/.test(hex)) throw new Refused('escape')
    this.#at += 4
    return Number.parseInt(hex, 16)
  }

  #number(): number {
    const match = /^(-?)(0|[1-9][0-9]*)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]+))?/.exec(this.#text.slice(this.#at))
    if (!match) throw new Refused('no value')
    this.#at += match[0].length
    const [literal, , whole = '', fraction, exponent] = match
    const digits = (whole + (fraction ?? '')).replace(/^0+/, '').replace(/0+$/, '')
    if (digits === '') return Number(literal)
    if (digits.length > 17) throw new Refused('digits')
    if (fraction === undefined && exponent === undefined && !isExact(literal) && !isCanonical(literal))
      throw new Refused('inexact integer')
    const power = Number(exponent ?? 0) - (fraction ?? '').length
    if (overflows(BigInt(whole + (fraction ?? '')), power)) throw new Refused('overflow')
    if (vanishes(BigInt(whole + (fraction ?? '')), power)) throw new Refused('underflow')
    return Number(literal)
  }

  #space(): void {
    while (' \t\n\r'.includes(this.#text[this.#at] ?? 'x')) this.#at++
  }

  #take(word: string): boolean {
    if (!this.#text.startsWith(word, this.#at)) return false
    this.#at += word.length
    return true
  }

  #expect(char: string): void {
    if (!this.#take(char)) throw new Refused(`no ${char}`)
  }
}

/** True if a double represents the integer exactly: a 53-bit number times a power of two, below 2^1024. */
function isExact(literal: string): boolean {
  let value = BigInt(literal)
  if (value < 0n) value = -value
  if (value >= 2n ** 1024n) return false
  while (value >= 2n ** 53n && value % 2n === 0n) value /= 2n
  return value < 2n ** 53n
}

/**
 * True if RFC 8785 writes the double with this literal. Of several integers that round to one double, only one is
 * canonical.
 */
function isCanonical(literal: string): boolean {
  return String(Number(literal)) === literal
}

/** True if coefficient × 10^power rounds to infinity. The limit is halfway between the largest double and 2^1024. */
function overflows(coefficient: bigint, power: number): boolean {
  const limit = 2n ** 1024n - 2n ** 970n
  if (power > 400) return true
  return power >= 0
    ? coefficient * 10n ** BigInt(power) >= limit
    : coefficient >= limit * 10n ** BigInt(-power)
}

/** True if coefficient × 10^power rounds to zero. The limit is half of 2^-1074, which rounds to even, so to zero. */
function vanishes(coefficient: bigint, power: number): boolean {
  if (power >= 0) return false
  if (power < -2_000) return true
  return coefficient * 2n ** 1075n <= 10n ** BigInt(-power)
}
