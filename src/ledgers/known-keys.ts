import type { Uuid } from '../proof/ids.ts'

type Key = { readonly hash: string; readonly ledgerId: Uuid; readonly readAtMs: number }

type Slot<K> = { key: K; atOfAll: number; atOfLedger: number }

/** Number of keys that are compared when a key must be dropped. */
const SAMPLES = 16

/**
 * Cache of at most `max` valid keys, by their hash. If the cache is full and a ledger has at least an equal share of
 * it, each new key of this ledger replaces another key of the same ledger. So a ledger with many keys cannot push out
 * the keys of ledgers with few keys.
 *
 * To drop a key, the cache compares SAMPLES random keys, and prefers keys of ledgers with at least an equal share. Of
 * these keys it drops the key that was read from the database longest ago.
 */
export class KnownKeys<K extends Key> {
  readonly #max: number
  readonly #random: () => number
  readonly #byHash = new Map<string, Slot<K>>()
  readonly #all: Slot<K>[] = []
  readonly #ofLedger = new Map<Uuid, Slot<K>[]>()

  /** `random`: returns a number from 0 to less than 1. */
  constructor(max: number, random: () => number = Math.random) {
    this.#max = max
    this.#random = random
  }

  get size(): number {
    return this.#byHash.size
  }

  get(hash: string): K | undefined {
    return this.#byHash.get(hash)?.key
  }

  of(ledgerId: Uuid): K[] {
    return (this.#ofLedger.get(ledgerId) ?? []).map(({ key }) => key)
  }

  /** Adds a key. It replaces a key with the same hash. */
  set(key: K): void {
    const known = this.#byHash.get(key.hash)
    if (known) {
      known.key = key
      return
    }
    if (this.#all.length >= this.#max) this.#dropOne(key.ledgerId)
    const ofLedger = this.#ofLedger.get(key.ledgerId) ?? []
    this.#ofLedger.set(key.ledgerId, ofLedger)
    const slot = { key, atOfAll: this.#all.length, atOfLedger: ofLedger.length }
    this.#byHash.set(key.hash, slot)
    this.#all.push(slot)
    ofLedger.push(slot)
  }

  delete(hash: string): void {
    const slot = this.#byHash.get(hash)
    if (!slot) return
    const { ledgerId } = slot.key
    const ofLedger = this.#ofLedger.get(ledgerId)!
    this.#byHash.delete(hash)
    const lastOfAll = this.#all.pop()!
    if (lastOfAll !== slot) {
      this.#all[slot.atOfAll] = lastOfAll
      lastOfAll.atOfAll = slot.atOfAll
    }
    const lastOfLedger = ofLedger.pop()!
    if (lastOfLedger !== slot) {
      ofLedger[slot.atOfLedger] = lastOfLedger
      lastOfLedger.atOfLedger = slot.atOfLedger
    }
    if (ofLedger.length === 0) this.#ofLedger.delete(ledgerId)
  }

  #dropOne(ledgerId: Uuid): void {
    const own = this.#ofLedger.get(ledgerId)
    const share = this.#max / (this.#ofLedger.size + (own ? 0 : 1))
    const hasShare = (of: Uuid) => (this.#ofLedger.get(of)?.length ?? 0) >= share
    const from = own && hasShare(ledgerId) ? own : this.#all
    let oldest = from[this.#indexIn(from)]!
    for (let i = 1; i < SAMPLES; i++) {
      const other = from[this.#indexIn(from)]!
      const [a, b] = [hasShare(oldest.key.ledgerId), hasShare(other.key.ledgerId)]
      if (a === b ? other.key.readAtMs < oldest.key.readAtMs : b) oldest = other
    }
    this.delete(oldest.key.hash)
  }

  #indexIn(slots: readonly unknown[]): number {
    return Math.floor(this.#random() * slots.length)
  }
}
