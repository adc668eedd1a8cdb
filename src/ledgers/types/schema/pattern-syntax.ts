/*
 * Parses the regular expressions of JSON Schema: ECMA-262 with the flag `u`. V8 checks the syntax first, so this parser
 * may rely on valid syntax. It refuses constructs that cannot become an automaton: look-around, back references and
 * modifiers.
 */

export type PatternNode =
  /**
   * `text`: a part of the pattern that matches one code point. `literal`: the code point if only one code point
   * matches, otherwise null.
   */
  | { readonly kind: 'atom'; readonly text: string; readonly literal: number | null }
  | { readonly kind: 'assertion'; readonly at: Assertion }
  | { readonly kind: 'sequence'; readonly nodes: readonly PatternNode[] }
  | { readonly kind: 'choice'; readonly nodes: readonly PatternNode[] }
  | { readonly kind: 'repeat'; readonly node: PatternNode; readonly min: number; readonly max: number }

export type Assertion = 'start' | 'end' | 'word edge' | 'no word edge'

export class PatternError extends Error {}

/** Parses a pattern. Throws PatternError. */
export function parsePattern(pattern: string): PatternNode {
  try {
    new RegExp(pattern, 'u')
  } catch (error) {
    throw new PatternError(
      `is not a regular expression: ${(error as SyntaxError).message.split(': ').at(-1)}`,
    )
  }
  return new PatternParser(pattern).readChoice()
}

const CLASS = /\[(?:[^\]\\]|\\.)*\]/suy
const ESCAPE =
  /\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u\{[0-9a-fA-F]+\}|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|c[A-Za-z]|[pP]\{[^}]*\}|.)/suy
const COUNT = /\{(\d+)(?:(,)(\d*))?\}/y
const GROUP = /\((?:\?(?::|<[^=!>][^>]*>))?(?!\?)/y

class PatternParser {
  readonly #pattern: string
  #at = 0

  constructor(pattern: string) {
    this.#pattern = pattern
  }

  readChoice(): PatternNode {
    const nodes = [this.#readSequence()]
    while (this.#pattern[this.#at] === '|') {
      this.#at++
      nodes.push(this.#readSequence())
    }
    return nodes.length === 1 ? nodes[0]! : { kind: 'choice', nodes }
  }

  #readSequence(): PatternNode {
    const nodes: PatternNode[] = []
    while (this.#at < this.#pattern.length && !'|)'.includes(this.#pattern[this.#at]!)) {
      nodes.push(this.#readRepeat(this.#readOne()))
    }
    return { kind: 'sequence', nodes }
  }

  #readRepeat(node: PatternNode): PatternNode {
    const char = this.#pattern[this.#at]
    let repeat: PatternNode
    if (char === '*' || char === '+' || char === '?') {
      this.#at++
      repeat = { kind: 'repeat', node, min: char === '+' ? 1 : 0, max: char === '?' ? 1 : Infinity }
    } else if (char === '{') {
      const [, min, comma, max] = this.#match(COUNT)!
      const last = comma === undefined ? Number(min) : max === '' ? Infinity : Number(max)
      repeat = { kind: 'repeat', node, min: Number(min), max: last }
    } else return node
    // Lazy and greedy repetitions match the same texts, so the difference is ignored.
    if (this.#pattern[this.#at] === '?') this.#at++
    return repeat
  }

  #readOne(): PatternNode {
    const char = this.#pattern[this.#at]!
    if (char === '(') return this.#readGroup()
    if (char === '[') return { kind: 'atom', text: this.#match(CLASS)![0], literal: null }
    if (char === '\\') return this.#readEscape()
    const literal = this.#pattern.codePointAt(this.#at)!
    const text = String.fromCodePoint(literal)
    this.#at += text.length
    if (char === '^') return { kind: 'assertion', at: 'start' }
    if (char === '$') return { kind: 'assertion', at: 'end' }
    return { kind: 'atom', text, literal: char === '.' ? null : literal }
  }

  #readGroup(): PatternNode {
    if (!this.#match(GROUP)) throw new PatternError('must not use lookahead, lookbehind or flags')
    const node = this.readChoice()
    this.#at++ // This skips the closing bracket, which V8 has checked.
    return node
  }

  #readEscape(): PatternNode {
    const [text] = this.#match(ESCAPE)!
    if (text === '\\b') return { kind: 'assertion', at: 'word edge' }
    if (text === '\\B') return { kind: 'assertion', at: 'no word edge' }
    if (/^\\[1-9k]/.test(text)) throw new PatternError('must not use backreferences')
    return { kind: 'atom', text, literal: null }
  }

  #match(pattern: RegExp): RegExpExecArray | null {
    pattern.lastIndex = this.#at
    const found = pattern.exec(this.#pattern)
    if (found) this.#at += found[0].length
    return found
  }
}
