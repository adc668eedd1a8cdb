import { type Assertion, PatternError, type PatternNode } from './pattern-syntax.ts'

/** Returns true if an atom matches a code point. */
type AtomTest = (codePoint: number) => boolean

/**
 * A pattern as an automaton. Instruction i is `ops[i]`:
 *
 * - ATOM consumes one code point that the atom `left[i]` matches, and continues at i + 1.
 * - SPLIT continues at both `left[i]` and `right[i]`.
 * - An assertion continues at i + 1 if it is true at the current position of the text. Otherwise this path ends.
 * - MATCH is the end: the text matches.
 */
export type PatternProgram = {
  readonly ops: Uint8Array
  readonly left: Int32Array
  readonly right: Int32Array
  readonly atoms: readonly AtomTest[]
}

export const ATOM = 0
export const SPLIT = 1
export const MATCH = 2
export const START = 3
export const END = 4
export const WORD_EDGE = 5
const NO_WORD_EDGE = 6

const OP_OF_ASSERTION: Readonly<Record<Assertion, number>> = {
  start: START,
  end: END,
  'word edge': WORD_EDGE,
  'no word edge': NO_WORD_EDGE,
}

/**
 * Compiles a pattern. Repetitions are written out. Throws PatternError if the pattern then has more than
 * `instructionsMax` instructions.
 */
export function compileProgram(root: PatternNode, instructionsMax: number): PatternProgram {
  const writer = new ProgramWriter(instructionsMax)
  writer.write(root)
  return writer.finish()
}

class ProgramWriter {
  readonly #instructionsMax: number
  readonly #ops: number[] = []
  readonly #left: number[] = []
  readonly #right: number[] = []
  readonly #atoms = new Map<string, { index: number; test: AtomTest }>()

  constructor(instructionsMax: number) {
    this.#instructionsMax = instructionsMax
  }

  write(node: PatternNode): void {
    switch (node.kind) {
      case 'atom':
        this.#emit(ATOM, this.#atomIndex(node.text, node.literal))
        break
      case 'assertion':
        this.#emit(OP_OF_ASSERTION[node.at])
        break
      case 'sequence':
        for (const one of node.nodes) this.write(one)
        break
      case 'choice':
        this.#writeChoice(node.nodes)
        break
      case 'repeat':
        this.#writeRepeat(node)
    }
  }

  finish(): PatternProgram {
    this.#emit(MATCH)
    return {
      ops: Uint8Array.from(this.#ops),
      left: Int32Array.from(this.#left),
      right: Int32Array.from(this.#right),
      atoms: [...this.#atoms.values()].map((atom) => atom.test),
    }
  }

  #writeChoice(nodes: readonly PatternNode[]): void {
    const ends: number[] = []
    for (const [i, node] of nodes.entries()) {
      const isLast = i === nodes.length - 1
      const split = isLast ? -1 : this.#emit(SPLIT)
      if (!isLast) this.#left[split] = this.#ops.length
      this.write(node)
      if (isLast) break
      ends.push(this.#emit(SPLIT))
      this.#right[split] = this.#ops.length
    }
    for (const end of ends) this.#left[end] = this.#right[end] = this.#ops.length
  }

  /**
   * Writes repetitions out: x{2,4} becomes x x (x (x)?)?. If the node has no instructions, such as (?:){9999}, it is
   * written only once.
   */
  #writeRepeat({ node, min, max }: PatternNode & { kind: 'repeat' }): void {
    for (let i = 0; i < min; i++) {
      const before = this.#ops.length
      this.write(node)
      if (this.#ops.length === before) return
    }
    if (max === Infinity) this.#writeLoop(node)
    else this.#writeOptional(node, max - min)
  }

  /**
   * Writes a loop. Instead of a jump to its beginning, the loop has a second SPLIT at its end. This saves one step for
   * each character of a long text.
   */
  #writeLoop(node: PatternNode): void {
    const enter = this.#emit(SPLIT)
    this.#left[enter] = this.#ops.length
    this.write(node)
    const again = this.#emit(SPLIT, enter + 1)
    this.#right[enter] = this.#right[again] = this.#ops.length
  }

  #writeOptional(node: PatternNode, times: number): void {
    const splits: number[] = []
    for (let i = 0; i < times; i++) {
      const split = this.#emit(SPLIT)
      splits.push(split)
      this.#left[split] = this.#ops.length
      this.write(node)
    }
    for (const split of splits) this.#right[split] = this.#ops.length
  }

  #emit(op: number, left = 0, right = 0): number {
    if (this.#ops.length >= this.#instructionsMax) {
      throw new PatternError(`has more than ${this.#instructionsMax} steps with its repetitions written out`)
    }
    this.#left.push(left)
    this.#right.push(right)
    return this.#ops.push(op) - 1
  }

  #atomIndex(text: string, literal: number | null): number {
    let atom = this.#atoms.get(text)
    if (!atom) {
      const test = literal === null ? classTest(text) : (codePoint: number) => codePoint === literal
      atom = { index: this.#atoms.size, test }
      this.#atoms.set(text, atom)
    }
    return atom.index
  }
}

const ASCII_END = 128

/**
 * Returns a test that uses a regular expression of V8, because V8 knows which code points a class contains. The test
 * gets only one code point, so there is no backtracking.
 */
function classTest(text: string): AtomTest {
  const pattern = new RegExp(`^(?:${text})$`, 'u')
  const ascii = Array.from({ length: ASCII_END }, (_, code) => pattern.test(String.fromCharCode(code)))
  return (codePoint) =>
    codePoint < ASCII_END ? ascii[codePoint]! : pattern.test(String.fromCodePoint(codePoint))
}
