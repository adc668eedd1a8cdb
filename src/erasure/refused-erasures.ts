import { ERASURE_REFUSED_PAUSE_MS, ERASURES_REFUSED_MAX } from '../limits.ts'

/** Erasures that were not carried out, because their entry does not order them or something is in the way. */
export class RefusedErasures {
  readonly #now: () => number
  readonly #untilMs = new Map<string, number>()

  constructor(now: () => number) {
    this.#now = now
  }

  get count(): number {
    return this.#untilMs.size
  }

  isPaused(erasure: string): boolean {
    return (this.#untilMs.get(erasure) ?? 0) > this.#now()
  }

  /** Returns whether it was not known to be refused before. */
  refuse(erasure: string): boolean {
    const isNew = !this.#untilMs.delete(erasure)
    if (this.#untilMs.size >= ERASURES_REFUSED_MAX) this.#untilMs.delete(this.#untilMs.keys().next().value!)
    this.#untilMs.set(erasure, this.#now() + ERASURE_REFUSED_PAUSE_MS)
    return isNew
  }

  forget(erasure: string): void {
    this.#untilMs.delete(erasure)
  }
}
