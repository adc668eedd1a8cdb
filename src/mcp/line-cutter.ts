import { IdFinder } from './id-finder.ts'

/** A piece of a stream of lines: a whole line with its newline, or a fragment of a line that is too long to buffer. */
export type CutLine = {
  readonly bytes: Buffer
  /**
   * Describes the fragment. null if the piece is a whole line. Fragments of a line are numbered. `isLast` marks the
   * last fragment, which has the newline.
   */
  readonly fragment: Fragment | null
}

export type Fragment = {
  readonly index: number
  readonly isLast: boolean
  /** Id of the JSON-RPC message, found in the fragments so far. null if no id was found yet. */
  readonly id: string | number | null
  /**
   * True if a `method` was found. Otherwise the message is an answer, and `id` is the id of the request that it
   * answers.
   */
  readonly isRequest: boolean
}

export const NEWLINE = 0x0a

/**
 * Cuts a stream into lines. All pieces together are exactly the bytes of the stream. Buffers at most `lineBytesMax`
 * bytes.
 */
export class LineCutter {
  readonly #lineBytesMax: number
  #buffered: Buffer[] = []
  #bufferedBytes = 0
  /** Number of fragments of the current line that were returned. 0 while the line may still fit into the buffer. */
  #fragments = 0
  #finder = new IdFinder()

  constructor(lineBytesMax: number) {
    this.#lineBytesMax = lineBytesMax
  }

  get isAtStart(): boolean {
    return this.#bufferedBytes === 0 && this.#fragments === 0
  }

  *cut(chunk: Buffer): Generator<CutLine, void, undefined> {
    let from = 0
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, from)) {
      yield* this.#take(chunk.subarray(from, end + 1), true)
      from = end + 1
    }
    if (from < chunk.length) yield* this.#take(chunk.subarray(from), false)
  }

  /** Returns the rest of the last line, if this line has no newline. */
  *end(): Generator<CutLine, void, undefined> {
    if (!this.isAtStart) yield* this.#take(Buffer.alloc(0), true)
  }

  *#take(bytes: Buffer, isEnd: boolean): Generator<CutLine, void, undefined> {
    this.#buffered.push(bytes)
    this.#bufferedBytes += bytes.length
    const isTooLong = this.#fragments > 0 || this.#bufferedBytes > this.#lineBytesMax
    if (!isEnd && !isTooLong) return
    const whole = Buffer.concat(this.#buffered)
    const part = isTooLong ? this.#nextFragment(whole, isEnd) : null
    this.#buffered = []
    this.#bufferedBytes = 0
    this.#fragments = isEnd ? 0 : this.#fragments + 1
    yield { bytes: whole, fragment: part }
  }

  #nextFragment(bytes: Buffer, isLast: boolean): Fragment {
    if (this.#fragments === 0) this.#finder = new IdFinder()
    this.#finder.push(bytes)
    const { id, isRequest } = this.#finder
    return { index: this.#fragments, isLast, id, isRequest }
  }
}
