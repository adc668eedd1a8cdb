import type { Socket } from 'node:net'
import { ANSWER_BYTES_PER_SECOND_MIN, ANSWER_STALL_MS_MAX } from '../limits.ts'

const LIMITS = { stallMs: ANSWER_STALL_MS_MAX, bytesPerSecondMin: ANSWER_BYTES_PER_SECOND_MIN }

/** Number of bytes that the client must have read, and the time by which it must have read them. */
type Deadline = { readonly bytes: number; readonly atMs: number }

/**
 * Closes connections whose clients do not read answers. All bytes that are pending at one moment must be read within
 * `stallMs`, plus a second for each `bytesPerSecondMin` of these bytes. Reading a byte now and then does not extend
 * this time. Of a whole answer all bytes are pending at once, of a stream only a chunk or two.
 *
 * Nothing is done per request, because one check a second for each connection costs less than a listener for each
 * answer.
 */
export class WriteDeadlines {
  readonly #now: () => number
  readonly #limits: typeof LIMITS
  readonly #open = new Set<Socket>()
  readonly #deadlines = new Map<Socket, Deadline>()
  #cutOff = 0

  constructor(now: () => number, limits = LIMITS) {
    this.#now = now
    this.#limits = limits
  }

  watch(socket: Socket): void {
    this.#open.add(socket)
    socket.once('close', () => {
      this.#open.delete(socket)
      this.#deadlines.delete(socket)
    })
  }

  get open(): ReadonlySet<Socket> {
    return this.#open
  }

  get cutOff(): number {
    return this.#cutOff
  }

  /** Checks all connections. MUST be called about once a second. */
  check(): void {
    const nowMs = this.#now()
    for (const socket of this.#open) {
      const pending = socket.writableLength
      if (pending === 0) {
        this.#deadlines.delete(socket)
        continue
      }
      const deadline = this.#deadlines.get(socket)
      if (!deadline || socket.bytesWritten - pending >= deadline.bytes) {
        const ms = this.#limits.stallMs + (pending / this.#limits.bytesPerSecondMin) * 1_000
        this.#deadlines.set(socket, { bytes: socket.bytesWritten, atMs: nowMs + ms })
      } else if (nowMs >= deadline.atMs) {
        this.#cutOff++
        socket.destroy()
      }
    }
  }
}
