import { BODIES_BYTES_MAX, READ_ANSWERS_BYTES_MAX, WRITE_ANSWERS_BYTES_MAX } from './limits.ts'

/** Memory that a process holds because clients take, or send, slowly. */
export type ByteBudgets = {
  /** Answers to GET that were not taken yet, and what is pending of streams. */
  readonly reads: ByteBudget
  /** All other answers: a reader must not be able to stop those who write. */
  readonly writes: ByteBudget
  /** Bodies that are on their way, or were not handled yet. */
  readonly bodies: ByteBudget
}

export function makeByteBudgets(): ByteBudgets {
  return {
    reads: new ByteBudget(READ_ANSWERS_BYTES_MAX),
    writes: new ByteBudget(WRITE_ANSWERS_BYTES_MAX),
    bodies: new ByteBudget(BODIES_BYTES_MAX),
  }
}

/**
 * Bytes that are held for others, by owner: a ledger, the peers of one, the operator, or nobody (null).
 *
 * An owner may hold as much as is free: half of the whole while it is alone, a third each when there are two (the dynamic thresholds
 * of Choudhury and Hahne). So there is room for one that holds little, whatever the others do, and the whole is never exceeded.
 * (With "the whole while alone, and an equal share nevertheless" each that comes later adds its share: ten made three times as much.)
 */
export class ByteBudget {
  readonly bytesMax: number
  readonly #held = new Map<string | null, number>()
  #bytes = 0
  #refused = 0

  constructor(bytesMax: number) {
    this.bytesMax = bytesMax
  }

  /** Whether the owner may hold this many more; if not, that counts as a refusal. */
  hasRoom(owner: string | null, bytes: number): boolean {
    const own = this.#held.get(owner) ?? 0
    if (own + bytes <= this.bytesMax - (this.#bytes + bytes)) return true
    this.#refused++
    return false
  }

  /** Counts them, whether there is room or not. MUST be followed by one `release` of as many. */
  take(owner: string | null, bytes: number): void {
    if (bytes === 0) return
    this.#bytes += bytes
    this.#held.set(owner, (this.#held.get(owner) ?? 0) + bytes)
  }

  release(owner: string | null, bytes: number): void {
    if (bytes === 0) return
    this.#bytes -= bytes
    const own = this.#held.get(owner)! - bytes
    if (own === 0) this.#held.delete(owner)
    else this.#held.set(owner, own)
  }

  get bytes(): number {
    return this.#bytes
  }

  /** Since the process began. */
  get refused(): number {
    return this.#refused
  }
}
