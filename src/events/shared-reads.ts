/**
 * Reads that many ask for at the same time: who asks for what is being read shares it, and of the others few read at a time, in
 * the order in which they asked.
 */
export class SharedReads<T> {
  readonly #atOnceMax: number
  readonly #reading = new Map<string, Promise<T>>()
  readonly #waiting: (() => void)[] = []
  #atOnce = 0

  constructor(atOnceMax: number) {
    this.#atOnceMax = atOnceMax
  }

  /** `key`: MUST be another one wherever `read` could read something else. */
  read(key: string, read: () => Promise<T>): Promise<T> {
    const found = this.#reading.get(key)
    if (found) return found
    const made = this.#inTurn(read).finally(() => this.#reading.delete(key))
    this.#reading.set(key, made)
    return made
  }

  async #inTurn(read: () => Promise<T>): Promise<T> {
    if (this.#atOnce >= this.#atOnceMax) await new Promise<void>((resolve) => this.#waiting.push(resolve))
    else this.#atOnce++
    try {
      return await read()
    } finally {
      // Whoever is next has the place.
      const next = this.#waiting.shift()
      if (next) next()
      else this.#atOnce--
    }
  }
}
