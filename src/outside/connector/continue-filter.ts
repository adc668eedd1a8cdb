import type { Socket } from 'node:net'
import { OUTBOUND_HEADER_BYTES_MAX, OUTBOUND_INTERIM_ANSWERS_MAX } from './limits.ts'

const HEAD_END = Buffer.from('\r\n\r\n')
const STATUS_START = 'HTTP/1.1 1'
/** Interim statuses 100 to 199 without 101: after 101 the connection speaks another protocol. */
const INTERIM = /^HTTP\/1\.1 1(?:\d?|(?!01)\d\d[ \r]?)$/
const CONTINUE = 'HTTP/1.1 100'

/**
 * Removes `100 Continue` heads that a socket delivers in front of the final answer.
 *
 * A client MUST be able to parse an interim answer that it did not ask for (RFC 9110 §15.2), but undici fails the
 * exchange on `100 Continue`. Only the exact form is removed, and only before the head of the final answer. All other
 * bytes of a peer reach undici's parser unchanged. undici reads by `socket.read()`;
 * test/outside/connector/answers.test.ts fails if that changes.
 */
export class ContinueFilter {
  #isBeforeAnswer = false
  #hasAnswerBegun = false
  #taken = 0
  #partial: Buffer | null = null

  /** Call before each request on the connection. */
  begin(): void {
    this.#isBeforeAnswer = true
    this.#hasAnswerBegun = false
    this.#taken = 0
    this.#partial = null
  }

  /** True once any byte has come since `begin`. */
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

  /** Returns the bytes that the parser reads now. An incomplete head is stored for the next call. */
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
   * - `none`: the bytes do not start with an interim head, or the peer has sent too many of them, or the head is too
   *   long.
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

/** Returns true for the start of an interim head, complete or not. */
function isInterim(start: string): boolean {
  return STATUS_START.startsWith(start) || INTERIM.test(start)
}
