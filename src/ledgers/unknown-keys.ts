import type { Uuid } from '../proof/ids.ts'

type Read = { readonly ledgerId: Uuid; readonly readAtMs: number }

/**
 * Texts that look like keys and are none, by hash: `max` at most, the newest half of that at least. Two generations: when the young one is
 * full, the old one is dropped as a whole. Anybody can send new ones. (A Map of which the first member is deleted for each new one passes over all that
 * were deleted before: 15 to 21 us for each, instead of 0.6.)
 */
export class UnknownKeys {
  readonly #max: number
  #young = new Map<string, Read>()
  #old = new Map<string, Read>()

  constructor(max: number) {
    this.#max = max
  }

  get size(): number {
    return this.#young.size + this.#old.size
  }

  /** As it was read last. */
  get(hash: string): Read | undefined {
    return this.#young.get(hash) ?? this.#old.get(hash)
  }

  set(hash: string, read: Read): void {
    if (this.#young.size >= this.#max / 2) {
      this.#old = this.#young
      this.#young = new Map()
    }
    this.#young.set(hash, read)
  }

  forget(ledgerId: Uuid): void {
    for (const keys of [this.#young, this.#old])
      for (const [hash, read] of keys) if (read.ledgerId === ledgerId) keys.delete(hash)
  }
}
