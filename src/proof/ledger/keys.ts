import { ProofError } from '../error.ts'
import { KeyRing } from './key-ring.ts'

const LEDGER = 'the ledger'

/**
 * Envelope keys of a ledger. The entries `ledger-created` and `server-key-rotated` introduce them
 * (docs/formats/export.md).
 */
export class LedgerKeys {
  readonly #ring = new KeyRing<null>('envelope')
  #first: string | null = null
  #current: string | null = null

  /** Kid of the key that signed the first entry. null before the first entry. */
  get first(): string | null {
    return this.#first
  }

  /** Kid of the key that must sign the next entry. null before the first entry. */
  get current(): string | null {
    return this.#current
  }

  /** Kids of all keys that the chain introduced. */
  get all(): ReadonlySet<string> {
    return this.#ring.kids
  }

  /** Introduces the first key. `kid`: the key that `ledger-created` names. The same key must sign that entry. */
  begin(kid: string): void {
    this.#first = kid
    this.#introduce(kid, -1)
  }

  verifySigner(kid: string): void {
    if (kid !== this.#current) {
      throw new ProofError(
        'key_not_current',
        `the entry is signed by ${kid}, but the current key of the ledger is ${this.#current}`,
      )
    }
  }

  /** Makes another key current after the entry at `seq`. The previous key still signs that entry. */
  rotate(kid: string, seq: number): void {
    this.#introduce(kid, seq)
  }

  /**
   * Throws if the kid is a key of the ledger. Must be called for each new key of an agent, because a kid must show
   * whether the ledger or an agent signed.
   */
  refuse(kid: string): void {
    if (this.#ring.get(kid))
      throw new ProofError('duplicate_subject', `the key ${kid} was already a key of the ledger`)
  }

  #introduce(kid: string, seq: number): void {
    this.#ring.verifyNew({ kid, holder: LEDGER, endorsedBy: this.#current })
    this.#ring.introduce(kid, LEDGER, null, seq)
    this.#current = kid
  }
}
