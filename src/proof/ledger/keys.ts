import { ProofError } from '../error.ts'
import { KeyRing } from './key-ring.ts'

const LEDGER = 'the ledger'

/**
 * Envelope keys of a ledger, from the entries that introduce them: `ledger-created` and `server-key-rotated`
 * (docs/formats/export.md).
 */
export class LedgerKeys {
  readonly #ring = new KeyRing<null>('envelope')
  #first: string | null = null
  #current: string | null = null

  /** Kid of the first entry; null before it. */
  get first(): string | null {
    return this.#first
  }

  /** Kid that must sign the next entry; null before the first. */
  get current(): string | null {
    return this.#current
  }

  /** Every kid that the chain introduced. */
  get all(): ReadonlySet<string> {
    return this.#ring.kids
  }

  /** `kid`: the key that `ledger-created` names, which signs that entry too. */
  begin(kid: string): void {
    this.#first = kid
    this.#introduce(kid, -1)
  }

  verifySigner(kid: string): void {
    if (kid !== this.#current) {
      throw new ProofError('key_not_current', `signed by ${kid}, but the current key is ${this.#current}`)
    }
  }

  /** Makes another key current after the entry at `seq`, which the current key signed. */
  rotate(kid: string, seq: number): void {
    this.#introduce(kid, seq)
  }

  /** Throws if an entry makes a key of the ledger an agent's. A kid must identify which of the two signed. */
  refuse(kid: string): void {
    if (this.#ring.get(kid))
      throw new ProofError('duplicate_subject', `${kid} was already a key of the ledger`)
  }

  #introduce(kid: string, seq: number): void {
    this.#ring.verifyNew({ kid, holder: LEDGER, endorsedBy: this.#current })
    this.#ring.introduce(kid, LEDGER, null, seq)
    this.#current = kid
  }
}
