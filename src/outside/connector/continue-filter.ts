import type { Socket } from 'node:net'
import { OUTBOUND_HEADER_BYTES_MAX, OUTBOUND_INTERIM_ANSWERS_MAX } from './limits.ts'

const HEAD_END = Buffer.from('\r\n\r\n')
const STATUS_START = 'HTTP/1.1 1'
/** Matches interim statuses: 100 to 199 without 101. After 101 the connection speaks another protocol. */
const INTERIM = /^HTTP\/1\.1 1(?:\d?|(?!01)\d\d[ \r]?)$/
const CONTINUE = 'HTTP/1.1 100'

/**
 * Removes `100 Continue` heads that arrive before the final answer.
 *
 * A client MUST be able to parse an interim answer that it did not request (RFC 9110 §15.2), but in undici the exchange
 * fails on `100 Continue`. Only heads of the exact form are removed, and only before the head of the final answer. All
 * other bytes of a peer reach undici's parser unchanged.
 *
 * The filter replaces `socket.read()`, because undici reads with this method. If undici changes this,
 * test/outside/connector/answers.test.ts fails.
 */
export class ContinueFilter {
  #isBeforeAnswer = false
  #hasAnswerBegun = false
  #taken = 0
  #partial: Buffer | null = null

  /** Must be called before each request on the connection. */
  begin(): void {
    this.#isBeforeAnswer = true
    this.#hasAnswerBegun = false
    this.#taken = 0
    this.#partial = null
  }

  /** True once any byte has arrived since `begin` was called. */
  get hasAnswerBegun(): boolean {
    return this.#hasAnswerBegun
  }

  watch(socket: Socket): void {
    const read = socket.read.bind(socket)
    socket.read = (size?: number): unknown => {
      for (;;) {
        const chunk: Buffer | null = read(size)
        if (chunk === null || !this.#isBeforeAnswer) return chunk
        this.#hasAnswerBegun = true
        const rest = this.#take(this.#partial === null ? chunk : Buffer.concat([this.#partial, chunk]))
        if (rest.length > 0) return rest
      }
    }
  }

  /** Returns the bytes that undici's parser may read now. An incomplete head is stored until the next call. */
  #take(unread: Buffer): Buffer {
    this.#partial = null
    const passed: Buffer[] = []
    let bytes = unread
    while (bytes.length > 0) {
      const end = this.#endOfInterim(bytes)
      if (end === 'none') {
        this.#isBeforeAnswer = false
        return Buffer.concat([...passed, bytes])
      }
      if (end === 'open') {
        this.#partial = bytes
        break
      }
      if (startOf(bytes).startsWith(CONTINUE)) this.#taken++
      else passed.push(bytes.subarray(0, end))
      bytes = bytes.subarray(end)
    }
    return Buffer.concat(passed)
  }

  /**
   * Returns the length of the interim head at the start of `bytes`.
   *
   * - `open`: the head is incomplete.
   * - `none`: the bytes do not start with an interim head, the head is too long, or the peer has sent too many interim
   *   heads.
   */
  #endOfInterim(bytes: Buffer): number | 'open' | 'none' {
    if (this.#taken >= OUTBOUND_INTERIM_ANSWERS_MAX || !isInterim(startOf(bytes))) return 'none'
    const at = bytes.indexOf(HEAD_END)
    if (at >= 0) return at + HEAD_END.length
    return bytes.length > OUTBOUND_HEADER_BYTES_MAX ? 'none' : 'open'
  }
}

function startOf(bytes: Buffer): string {
  return bytes.toString('latin1', 0, CONTINUE.length + 1)
}

/** Returns true if the text is an interim head or the beginning of one. */
function isInterim(start: string): boolean {
  return STATUS_START.startsWith(start) || INTERIM.test(start)
}
