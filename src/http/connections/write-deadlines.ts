import type { Socket } from 'node:net'
import { ANSWER_BYTES_PER_SECOND_MIN, ANSWER_STALL_MS_MAX } from '../limits.ts'

/** The named limits, unless a test has smaller ones. */
const LIMITS = { stallMs: ANSWER_STALL_MS_MAX, bytesPerSecondMin: ANSWER_BYTES_PER_SECOND_MIN }

/** How far a connection must have come, and by when. */
type Deadline = { readonly bytes: number; readonly atMs: number }

/**
 * Cuts off connections whose client does not take what was written. All that was pending at one moment must have been taken after
 * `stallMs`, and a second for each `bytesPerSecondMin` of it: a byte now and then extends nothing. A whole answer is
 * pending at once, but only a chunk or two of a stream.
 *
 * Nothing is done for a request: one look a second at each connection costs less than a listener for each answer.
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

  /** Connections that are open. */
  get open(): ReadonlySet<Socket> {
    return this.#open
  }

  /** Connections that were cut off since the process began. */
  get cutOff(): number {
    return this.#cutOff
  }

  /** MUST be called about once a second. */
  look(): void {
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
