/**
 * Reads that many ask for at the same time. A caller that asks for a page under way shares it, and few other reads run
 * at a time. Ledgers take turns, so that nobody waits for the five hundred reads of another ledger; the calls of one
 * ledger go in their order.
 */
export class SharedReads<T> {
  readonly #atOnceMax: number
  readonly #reading = new Map<string, Promise<T>>()
  /** By ledger; the one whose turn it is is first. */
  readonly #waiting = new Map<string, (() => void)[]>()
  #atOnce = 0
  #figures = { made: 0, shared: 0 }

  constructor(atOnceMax: number) {
    this.#atOnceMax = atOnceMax
  }

  /** Reads that wait now, and since the process began: reads made, and reads that another caller's answered. */
  get figures(): { readonly waiting: number; readonly made: number; readonly shared: number } {
    const waiting = [...this.#waiting.values()].reduce((sum, others) => sum + others.length, 0)
    return { waiting, ...this.#figures }
  }

  /** `key`: MUST be another one wherever `read` could read something else. */
  read(ledger: string, key: string, read: () => Promise<T>): Promise<T> {
    const found = this.#reading.get(key)
    if (found) {
      this.#figures.shared++
      return found
    }
    this.#figures.made++
    const made = this.#inTurn(ledger, read).finally(() => this.#reading.delete(key))
    this.#reading.set(key, made)
    return made
  }

  async #inTurn(ledger: string, read: () => Promise<T>): Promise<T> {
    if (this.#atOnce >= this.#atOnceMax) await new Promise<void>((resolve) => this.#wait(ledger, resolve))
    else this.#atOnce++
    try {
      return await read()
    } finally {
      // The next one has the place.
      const next = this.#takeWaiting()
      if (next) next()
      else this.#atOnce--
    }
  }

  #wait(ledger: string, go: () => void): void {
    const others = this.#waiting.get(ledger)
    if (others) others.push(go)
    else this.#waiting.set(ledger, [go])
  }

  #takeWaiting(): (() => void) | undefined {
    for (const [ledger, [next, ...others]] of this.#waiting) {
      this.#waiting.delete(ledger)
      if (others.length > 0) this.#waiting.set(ledger, others)
      return next
    }
    return undefined
  }
}
