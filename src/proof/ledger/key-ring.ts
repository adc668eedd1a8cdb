import { ProofError } from '../error.ts'
import { KEY_USES, type KeyUseName } from '../statement/key-uses.ts'

/** A key and the range of entries that it may sign: those after seq `since`, up to and including seq `until`. */
export type RingKey<Key> = {
  readonly kid: string
  readonly holder: string
  readonly since: number
  /** Seq of the entry that ended the key. null if the key is current. */
  until: number | null
  readonly key: Key
}

/**
 * A key that an entry introduces. `endorsedBy`: kid of the key that endorses the new key, or null if no key endorses
 * it.
 */
type NewKey = { readonly kid: string; readonly holder: string; readonly endorsedBy: string | null }

/**
 * Keys of one use (statement/key-uses.ts), with the range of entries that each key may sign. A holder's first key needs
 * no endorsement. Each further key must be endorsed by a current key of the same holder.
 *
 * A kid is the thumbprint of its key, so two keys never have the same kid. An attacker who stole a retired key can sign
 * only entries of that key's range, which has ended. A retired key never becomes current again. Otherwise the attacker
 * could introduce a stolen retired key again.
 */
export class KeyRing<Key> {
  readonly #use: (typeof KEY_USES)['envelope' | 'agent' | 'peer']
  readonly #keys = new Map<string, RingKey<Key>>()
  /** Maps a holder to the kids of its current keys. A holder that never had a key is not in this map. */
  readonly #current = new Map<string, Set<string>>()

  constructor(use: KeyUseName & ('envelope' | 'agent' | 'peer')) {
    this.#use = KEY_USES[use]
  }

  get kids(): ReadonlySet<string> {
    return new Set(this.#keys.keys())
  }

  /** All keys, in the order of their introduction. */
  get keys(): readonly RingKey<Key>[] {
    return [...this.#keys.values()]
  }

  get(kid: string): RingKey<Key> | undefined {
    return this.#keys.get(kid)
  }

  /**
   * Throws if the key may not be introduced. Its kid must be new. A current key of its holder must endorse the key,
   * unless the holder never had a key. The holder must not have the maximum number of current keys.
   */
  verifyNew({ kid, holder, endorsedBy }: NewKey): void {
    const { twice, unendorsed, currentMax } = this.#use
    if (this.#keys.has(kid)) throw new ProofError(twice, `the key ${kid} was already registered`)
    const current = this.#current.get(holder)
    if (current === undefined && endorsedBy === null) return
    if (endorsedBy === null || !current?.has(endorsedBy))
      throw new ProofError(unendorsed, `no current key of ${holder} endorses the new one`)
    if (currentMax > 1 && current.size >= currentMax)
      throw new ProofError(unendorsed, `${holder} already has ${currentMax} current keys`)
  }

  /**
   * Adds a key that verifyNew accepted. The key signs entries after `since`. If the use allows only one current key,
   * the new key ends the previous key.
   */
  introduce(kid: string, holder: string, key: Key, since: number): void {
    const current = this.#current.get(holder) ?? new Set<string>()
    if (this.#use.currentMax === 1) for (const before of current) this.end(before, since)
    this.#keys.set(kid, { kid, holder, since, until: null, key })
    this.#current.set(holder, current.add(kid))
  }

  /** Ends a current key. The entry at `seq` is the last entry that the key may sign. */
  end(kid: string, seq: number): void {
    const known = this.#keys.get(kid)!
    known.until = seq
    this.#current.get(known.holder)!.delete(kid)
  }

  /** Returns the key that signs the entry at `seq`. The use must allow only one current key. */
  at(seq: number): RingKey<Key> {
    return this.keys.findLast(({ since }) => since < seq)!
  }
}
