import { PATTERN_CHARS_MAX, PATTERN_INSTRUCTIONS_MAX } from './limits.ts'
import type { Meter } from './meter.ts'
import {
  ATOM,
  compileProgram,
  END,
  MATCH,
  type PatternProgram,
  SPLIT,
  START,
  WORD_EDGE,
} from './pattern-program.ts'
import { PatternError, parsePattern } from './pattern-syntax.ts'

/**
 * A regular expression. The time of a match is at most proportional to the length of the text times the length of the
 * pattern, because all paths through the automaton are followed at once (Thompson 1968). V8 tries one path after
 * another, and may need 2^n paths.
 *
 * Rejected alternative: re2js 2.10.0, a port of RE2. For a pattern of 48 instructions, `^[ab]*a[ab]{40}[^ab][^ab]`, and
 * a text of 60,000 characters, it took 90 to 200 ms and left 9 MB in its cache of states. A caller can neither measure
 * nor limit this time and memory. This class refuses the same text after a known number of steps and stores nothing.
 */
export class Pattern {
  readonly #program: PatternProgram
  readonly #startsAtStart: boolean

  /** Compiles a pattern. Throws PatternError. */
  constructor(pattern: string) {
    if (pattern.length > PATTERN_CHARS_MAX) {
      throw new PatternError(`has ${pattern.length} characters; at most ${PATTERN_CHARS_MAX} are allowed`)
    }
    this.#program = compileProgram(parsePattern(pattern), PATTERN_INSTRUCTIONS_MAX)
    this.#startsAtStart = this.#program.ops[0] === START
  }

  get instructions(): number {
    return this.#program.ops.length
  }

  /** Returns true if the pattern matches anywhere in `text`. Spends steps for each instruction that it visits. */
  test(text: string, meter: Meter): boolean {
    const threads = new Threads(this.#program, text)
    for (let at = 0; ; ) {
      if (at === 0 || !this.#startsAtStart) threads.begin(at)
      meter.spend(threads.takeWork())
      if (threads.matched) return true
      if (at >= text.length || (this.#startsAtStart && threads.count === 0)) return false
      at = threads.step(at)
    }
  }
}

/**
 * Number of steps that starting a search costs. In addition, each instruction of the pattern costs an eighth of a step.
 */
const STEPS_PER_SEARCH = 60

/** The instructions that wait for the next code point. Each instruction is listed at most once. */
class Threads {
  matched = false
  readonly #program: PatternProgram
  readonly #text: string
  #waiting: number[] = []
  #next: number[] = []
  /**
   * Maps each instruction to the position in the text at which it was last listed. So no instruction is processed twice
   * at one position.
   */
  readonly #seenAt: Int32Array
  readonly #todo: number[] = []
  #work = 0

  constructor(program: PatternProgram, text: string) {
    this.#program = program
    this.#text = text
    this.#seenAt = new Int32Array(program.ops.length).fill(-1)
    this.#work = STEPS_PER_SEARCH + (program.ops.length >> 3)
  }

  get count(): number {
    return this.#waiting.length
  }

  /** Returns the work since the last call, in steps: about one step for each visited instruction, plus one. */
  takeWork(): number {
    const work = this.#work + 1
    this.#work = 0
    return work
  }

  begin(at: number): void {
    this.#follow(0, at, this.#waiting)
  }

  /** Consumes the code point at position `at` of the text. Returns the position after it. */
  step(at: number): number {
    const codePoint = this.#text.codePointAt(at)!
    const after = at + (codePoint > 0xffff ? 2 : 1)
    const { ops, left, atoms } = this.#program
    // For a code point beyond ASCII, the test of an atom calls V8, which takes ten times as long. So this test runs
    // only once for each atom, although several instructions may use the same atom.
    const known: (boolean | undefined)[] | null = codePoint < 128 ? null : []
    for (const instruction of this.#waiting) {
      const atom = left[instruction]!
      let taken = known?.[atom]
      if (taken === undefined) {
        taken = atoms[atom]!(codePoint)
        if (known) {
          known[atom] = taken
          this.#work += 8
        }
      }
      if (!taken) continue
      const next = instruction + 1
      if (ops[next] !== ATOM) this.#follow(next, after, this.#next)
      else if (this.#seenAt[next] !== after) {
        this.#seenAt[next] = after
        this.#next.push(next)
      }
    }
    this.#work += this.#waiting.length
    const empty = this.#waiting
    empty.length = 0
    this.#waiting = this.#next
    this.#next = empty
    return after
  }

  /** Adds to `list` the instructions that `instruction` reaches without consuming a character. */
  #follow(instruction: number, at: number, list: number[]): void {
    const { ops, left, right } = this.#program
    const todo = this.#todo
    todo.push(instruction)
    while (todo.length > 0) {
      const i = todo.pop()!
      this.#work++
      if (this.#seenAt[i] === at) continue
      this.#seenAt[i] = at
      const op = ops[i]!
      if (op === ATOM) list.push(i)
      else if (op === MATCH) this.matched = true
      else if (op === SPLIT) {
        todo.push(left[i]!)
        if (right[i] !== left[i]) todo.push(right[i]!)
      } else if (this.#holds(op, at)) todo.push(i + 1)
    }
  }

  #holds(assertion: number, at: number): boolean {
    if (assertion === START) return at === 0
    if (assertion === END) return at === this.#text.length
    const isEdge = isWord(this.#text.charCodeAt(at - 1)) !== isWord(this.#text.charCodeAt(at))
    return isEdge === (assertion === WORD_EDGE)
  }
}

/**
 * Returns true for the WordCharacters of ECMA-262 22.2.2.9.3. Outside of the text `code` is NaN, which is not a word
 * character.
 */
function isWord(code: number): boolean {
  return (
    (code >= 0x30 && code <= 0x39) ||
    (code >= 0x41 && code <= 0x5a) ||
    code === 0x5f ||
    (code >= 0x61 && code <= 0x7a)
  )
}
