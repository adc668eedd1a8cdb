import type { Socket } from 'node:net'
import { ANSWER_BYTES_PER_SECOND_MIN, ANSWER_STALL_MS_MAX } from '../limits.ts'

const LIMITS = { stallMs: ANSWER_STALL_MS_MAX, bytesPerSecondMin: ANSWER_BYTES_PER_SECOND_MIN }

/** The total number of bytes that the client must have read by the time `atMs`. */
type Deadline = { readonly bytes: number; readonly atMs: number }

/**
 * Closes connections whose clients do not read their answers. The bytes that are pending at one moment must all be read
 * within `stallMs`, plus one second for each `bytesPerSecondMin` bytes. Reading a byte now and then does not extend
 * this time. For a whole answer, all bytes are pending at once. For a stream, only a chunk or two are pending.
 *
 * All connections are checked once a second. This costs less than a listener for each answer.
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
