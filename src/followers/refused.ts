import {
  ERASURE_REFUSED_PAUSE_MS,
  ERASURES_REFUSED_MAX,
  EXPIRIES_REFUSED_MAX,
  EXPIRY_REFUSED_PAUSE_MS,
} from './limits.ts'

type Limits = { readonly pauseMs: number; readonly itemsMax: number }

export const ERASURES_REFUSED: Limits = { pauseMs: ERASURE_REFUSED_PAUSE_MS, itemsMax: ERASURES_REFUSED_MAX }
export const EXPIRIES_REFUSED: Limits = { pauseMs: EXPIRY_REFUSED_PAUSE_MS, itemsMax: EXPIRIES_REFUSED_MAX }

/**
 * Work items that were refused. Each item is tried again after a pause, because somebody may have repaired the cause.
 * Each item is logged only once. The clock MUST be monotonic.
 */
export class RefusedItems {
  readonly #now: () => number
  readonly #limits: Limits
  readonly #untilMs = new Map<string, number>()

  constructor(now: () => number, limits: Limits) {
    this.#now = now
    this.#limits = limits
  }

  get count(): number {
    return this.#untilMs.size
  }

  isPaused(item: string): boolean {
    return (this.#untilMs.get(item) ?? 0) > this.#now()
  }

  /** Adds a refused item. Returns false if the item was already refused before. */
  refuse(item: string): boolean {
    const isNew = !this.#untilMs.delete(item)
    if (this.#untilMs.size >= this.#limits.itemsMax) this.#untilMs.delete(this.#untilMs.keys().next().value!)
    this.#untilMs.set(item, this.#now() + this.#limits.pauseMs)
    return isNew
  }

  forget(item: string): void {
    this.#untilMs.delete(item)
  }
}
