import { ProofError } from '../error.ts'
import { KEY_USES, type KeyUseName } from '../statement/key-uses.ts'

/** A key and the range of entries that it signs: those behind `since`, up to and including `until`. */
export type RingKey<Key> = {
  readonly kid: string
  readonly holder: string
  readonly since: number
  /** Seq of the entry that ended it; null: it is current. */
  until: number | null
  readonly key: Key
}

/** A key that an entry is about to give. `endorsedBy`: kid of the key that endorses it; null: none does. */
type NewKey = { readonly kid: string; readonly holder: string; readonly endorsedBy: string | null }

/**
 * Keys of one use, from and until which seq each signs, and the one rule of endorsement: a holder's first key comes without, each further
 * one is endorsed by a current key of the same holder (statement/key-uses.ts).
 *
 * A kid is the thumbprint of its key, so nobody can put another key under it. An attacker with a retired or stolen old key could sign
 * entries after its end, but those are outside its range. A key does not come back: else a stolen old one could be given again.
 */
export class KeyRing<Key> {
  readonly #use: (typeof KEY_USES)['envelope' | 'agent' | 'peer']
  readonly #keys = new Map<string, RingKey<Key>>()
  /** Kids of the current keys of each holder that ever had one. */
  readonly #current = new Map<string, Set<string>>()

  constructor(use: KeyUseName & ('envelope' | 'agent' | 'peer')) {
    this.#use = KEY_USES[use]
  }

  get kids(): ReadonlySet<string> {
    return new Set(this.#keys.keys())
  }

  /** In the order in which they were given. */
  get keys(): readonly RingKey<Key>[] {
    return [...this.#keys.values()]
  }

  get(kid: string): RingKey<Key> | undefined {
    return this.#keys.get(kid)
  }

  /** Throws unless a key may be given: its kid is new, and a current key of its holder endorses it, or the holder had none before. */
  verifyNew({ kid, holder, endorsedBy }: NewKey): void {
    const { twice, unendorsed, currentMax } = this.#use
    if (this.#keys.has(kid)) throw new ProofError(twice, `the key ${kid} was given before`)
    const current = this.#current.get(holder)
    if (current === undefined && endorsedBy === null) return
    if (endorsedBy === null || !current?.has(endorsedBy))
      throw new ProofError(unendorsed, `no current key of ${holder} endorses another one of it`)
    if (currentMax > 1 && current.size >= currentMax)
      throw new ProofError(unendorsed, `${holder} has ${currentMax} current keys already`)
  }

  /** Gives a key that verifyNew let in, from the entry behind `since` on. Where one is current at a time, it ends the one before it. */
  give(kid: string, holder: string, key: Key, since: number): void {
    const current = this.#current.get(holder) ?? new Set<string>()
    if (this.#use.currentMax === 1) for (const before of current) this.end(before, since)
    this.#keys.set(kid, { kid, holder, since, until: null, key })
    this.#current.set(holder, current.add(kid))
  }

  /** The entry at `seq` ends the key, which is current. */
  end(kid: string, seq: number): void {
    const known = this.#keys.get(kid)!
    known.until = seq
    this.#current.get(known.holder)!.delete(kid)
  }

  /** The key of the ring that signs the entry at `seq`, where one is current at a time. */
  at(seq: number): RingKey<Key> {
    return this.keys.findLast(({ since }) => since < seq)!
  }
}
