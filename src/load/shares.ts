import { UNPROVEN } from './unproven.ts'

/**
 * How the owners of a resource share it (docs/operate/load.md):
 *
 * - `equal`: an owner may take while anything is left. When nothing is left, an owner that has less than an equal share may take
 *   nevertheless, so the whole is exceeded a little. For work whose amount is bounded elsewhere too, such as requests.
 * - `rest`: an owner may have `ofRest` of what the other owners leave (the dynamic thresholds of Choudhury and Hahne). Something is always
 *   left for an owner that has little, and the whole is never exceeded. For memory and sockets. (With "the whole while alone, and an
 *   equal share nevertheless" ten owners that came one after the other had three times the whole.)
 */
export type ShareLimits = {
  readonly rule: 'equal' | 'rest'
  /** All proven owners together. */
  readonly max: number
  /** Default: half, so an owner that is alone has half of the whole, and of two each has a third. */
  readonly ofRest?: number
  /** One owner, however much is left. */
  readonly ofOwnerMax?: number
  /** All unproven callers together, in addition to `max`. Default: nothing. */
  readonly unprovenMax?: number
}

/** Most that an owner may have by the rule `rest`, of `max`, when the others have so much. */
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

  /** Owners that have any. */
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
 * A resource that owners share: requests, bytes, open answers. Each owner MUST be proven, or be UNPROVEN: an invented name would take from
 * the shares of others.
 */
export class Shares {
  readonly #limits: ShareLimits
  readonly #counts = new Counts()
  #unproven = 0
  #refused = 0
  /** All proven owners together. May change while owners have some. */
  max: number

  constructor(limits: ShareLimits) {
    this.#limits = limits
    this.max = limits.max
  }

  /** Taken by all owners, UNPROVEN too. */
  get taken(): number {
    return this.#counts.total + this.#unproven
  }

  /** Since the process began. */
  get refused(): number {
    return this.#refused
  }

  of(owner: string): number {
    return owner === UNPROVEN ? this.#unproven : this.#counts.of(owner)
  }

  /** Whether the owner may take so many more. If not, that counts as a refusal. */
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

  /** Counts them, whether there is room or not. MUST be followed by `release` of as many. */
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
