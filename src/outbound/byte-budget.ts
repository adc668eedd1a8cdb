/** Memory that may be held by all together, and by each owner. */
export class ByteBudget {
  readonly #bytesMax: number
  readonly #ofOwnerMax: number
  readonly #ofOwner = new Map<string, number>()
  #held = 0

  constructor(bytesMax: number, ofOwnerMax: number) {
    this.#bytesMax = bytesMax
    this.#ofOwnerMax = ofOwnerMax
  }

  /** What one piece of work holds. `take` is false, and takes nothing, where there is no more. */
  of(owner: string): { readonly take: (bytes: number) => boolean; readonly giveBack: () => void } {
    let mine = 0
    return {
      take: (bytes) => {
        const own = (this.#ofOwner.get(owner) ?? 0) + bytes
        if (own > this.#ofOwnerMax || this.#held + bytes > this.#bytesMax) return false
        this.#ofOwner.set(owner, own)
        this.#held += bytes
        mine += bytes
        return true
      },
      giveBack: () => {
        const own = (this.#ofOwner.get(owner) ?? 0) - mine
        if (own > 0) this.#ofOwner.set(owner, own)
        else this.#ofOwner.delete(owner)
        this.#held -= mine
        mine = 0
      },
    }
  }
}
