import { ProofError } from '../error.ts'
import { KeyRing } from './key-ring.ts'

const LEDGER = 'the ledger'

/** Envelope keys of a ledger, by the entries that give them: `ledger-created` and `server-key-rotated` (docs/formats/export.md). */
export class LedgerKeys {
  readonly #ring = new KeyRing<null>('envelope')
  #first: string | null = null
  #current: string | null = null

  /** The kid of the first entry; null before it. */
  get first(): string | null {
    return this.#first
  }

  /** The kid that signs the next entry; null before the first. */
  get current(): string | null {
    return this.#current
  }

  /** Every kid that the chain introduced. */
  get all(): ReadonlySet<string> {
    return this.#ring.kids
  }

  /** `kid`: that of the key that `ledger-created` names, which signs this entry too. */
  begin(kid: string): void {
    this.#first = kid
    this.#introduce(kid, -1)
  }

  verifySigner(kid: string): void {
    if (kid !== this.#current) {
      throw new ProofError('key_not_current', `signed by ${kid}, but ${this.#current} signs here`)
    }
  }

  /** From the next entry on: the entry at `seq`, signed by the current key, names another one. */
  rotate(kid: string, seq: number): void {
    this.#introduce(kid, seq)
  }

  /** Throws if an entry gives a key of the ledger to an agent: a kid says which of both signed. */
  refuse(kid: string): void {
    if (this.#ring.get(kid))
      throw new ProofError('duplicate_subject', `${kid} has signed for the ledger before`)
  }

  #introduce(kid: string, seq: number): void {
    this.#ring.verifyNew({ kid, holder: LEDGER, endorsedBy: this.#current })
    this.#ring.give(kid, LEDGER, null, seq)
    this.#current = kid
  }
}
