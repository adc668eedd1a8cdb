import { UNPROVEN } from './unproven.ts'

/**
 * How owners share a resource (docs/operate/capacity.md#how-a-server-is-shared).
 *
 * - `equal`: an owner may take while anything is left. When nothing is left, an owner below an equal share may still
 *   take, so the total is exceeded a little. For work whose amount is bounded elsewhere too, such as requests.
 * - `rest`: an owner may have `ofRest` of what the other owners leave (the dynamic thresholds of Choudhury and
 *   Hahne). Something is always left for an owner that has little, and the total is never exceeded. For memory and
 *   sockets. (With `equal`, ten owners that came one after the other had three times the total.)
 */
export type ShareLimits = {
  readonly rule: 'equal' | 'rest'
  /** Limit of all proven owners together. */
  readonly max: number
  /** Default: half. An owner that is alone has half of the total; two owners have a third each. */
  readonly ofRest?: number
  /** Limit of one owner, however much is left. */
  readonly ofOwnerMax?: number
  /** Limit of all unproven callers together, in addition to `max`. Default: 0. */
  readonly unprovenMax?: number
}

/** Returns the most that an owner may have by the rule `rest`, when the others have `ofOthers` of `max`. */
export function restOf(max: number, ofOthers: number, ofRest = 1 / 2): number {
  return Math.ceil((max - ofOthers) * ofRest)
}

/** Counts by owner. An owner whose count is zero is forgotten. */
export class Counts {
  readonly #ofOwner = new Map<string, number>()
  #total = 0

  get total(): number {
    return this.#total
  }

  get owners(): number {
    return this.#ofOwner.size
  }

  of(owner: string): number {
    return this.#ofOwner.get(owner) ?? 0
  }

  /** `count` may be negative. */
  add(owner: string, count: number): void {
    const own = this.of(owner) + count
    if (own === 0) this.#ofOwner.delete(owner)
    else this.#ofOwner.set(owner, own)
    this.#total += count
  }
}

/**
 * A resource that owners share: requests, bytes, open answers. Each owner MUST be proven, or be UNPROVEN. An invented
 * owner would take from the shares of others.
 */
export class Shares {
  readonly #limits: ShareLimits
  readonly #counts = new Counts()
  #unproven = 0
  #refused = 0
  /** May change at any time. */
  max: number

  constructor(limits: ShareLimits) {
    this.#limits = limits
    this.max = limits.max
  }

  /** Amount taken by all owners, including UNPROVEN. */
  get taken(): number {
    return this.#counts.total + this.#unproven
  }

  get refused(): number {
    return this.#refused
  }

  of(owner: string): number {
    return owner === UNPROVEN ? this.#unproven : this.#counts.of(owner)
  }

  /** Returns whether the owner may take `count` more. Counts a refusal if not. */
  admits(owner: string, count = 1): boolean {
    if (this.hasRoom(owner, count)) return true
    this.#refused++
    return false
  }

  hasRoom(owner: string, count = 1): boolean {
    const { rule, ofRest, ofOwnerMax = Number.POSITIVE_INFINITY, unprovenMax = 0 } = this.#limits
    if (owner === UNPROVEN) return this.#unproven + count <= unprovenMax
    const { total, owners } = this.#counts
    const own = this.#counts.of(owner)
    if (own + count > ofOwnerMax) return false
    if (rule === 'rest') return own + count <= restOf(this.max, total - own, ofRest)
    return total + count <= Math.ceil(this.max) || own + count <= this.max / (own === 0 ? owners + 1 : owners)
  }

  /** Counts the amount, whether there is room or not. MUST be followed by `release` of the same amount. */
  take(owner: string, count = 1): void {
    this.#add(owner, count)
  }

  release(owner: string, count = 1): void {
    this.#add(owner, -count)
  }

  #add(owner: string, count: number): void {
    if (owner === UNPROVEN) this.#unproven += count
    else this.#counts.add(owner, count)
  }
}
