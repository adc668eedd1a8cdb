import { UNPROVEN } from './unproven.ts'

/**
 * How owners share a resource (docs/operate/capacity.md#how-a-server-is-shared).
 *
 * - `equal`: an owner may take more while any of the resource is left. When nothing is left, an owner that has less
 *   than an equal share may still take more, so the total is exceeded a little. This rule is for resources that have
 *   another limit too, such as requests.
 * - `rest`: an owner may have the fraction `ofRest` of what the other owners leave (the dynamic thresholds of Choudhury
 *   and Hahne). Something is always left for an owner that has little, and the total is never exceeded. This rule is
 *   for memory and sockets. With the rule `equal`, ten owners that came one after another took three times the total.
 */
export type ShareLimits = {
  readonly rule: 'equal' | 'rest'
  /** Maximum that all proven owners may have together. */
  readonly max: number
  /**
   * Fraction for the rule `rest`. Default: half. A single owner then gets at most half of the total, and two owners a
   * third each.
   */
  readonly ofRest?: number
  /** Maximum that one owner may have, even if more is left. */
  readonly ofOwnerMax?: number
  /** Maximum that all unproven callers may have together. This amount is not taken from `max`. Default: 0. */
  readonly unprovenMax?: number
}

/**
 * Returns the maximum that an owner may have by the rule `rest`. `ofOthers`: the part of `max` that the other owners
 * have.
 */
export function restOf(max: number, ofOthers: number, ofRest = 1 / 2): number {
  return Math.ceil((max - ofOthers) * ofRest)
}

/** A count for each owner. An owner whose count becomes zero is removed. */
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

  /** Adds `count` to the count of an owner. `count` may be negative. */
  add(owner: string, count: number): void {
    const own = this.of(owner) + count
    if (own === 0) this.#ofOwner.delete(owner)
    else this.#ofOwner.set(owner, own)
    this.#total += count
  }
}

/**
 * A resource that owners share, such as requests, bytes or open answers. Each owner MUST be proven, or be UNPROVEN.
 * Otherwise an attacker could invent owners, and so take from the shares of other owners.
 */
export class Shares {
  readonly #limits: ShareLimits
  readonly #counts = new Counts()
  #unproven = 0
  #refused = 0
  /** Maximum that all proven owners may have together. It may be changed at any time. */
  max: number

  constructor(limits: ShareLimits) {
    this.#limits = limits
    this.max = limits.max
  }

  /** Amount that all owners have taken, including UNPROVEN. */
  get taken(): number {
    return this.#counts.total + this.#unproven
  }

  get refused(): number {
    return this.#refused
  }

  of(owner: string): number {
    return owner === UNPROVEN ? this.#unproven : this.#counts.of(owner)
  }

  /** Returns true if the owner may take `count` more. Otherwise counts a refusal. */
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

  /**
   * Adds `count` to what the owner has taken, even if the limit is reached. The caller MUST release the same amount
   * later.
   */
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
