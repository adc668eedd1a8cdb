import { ProofError } from '../error.ts'

/**
 * Which envelope key may sign where: the stretches of the chain that `ledger-created` and `server-key-rotated` give
 * to each kid (docs/formats/export.md).
 *
 * A kid is the thumbprint of its key, so nobody can put another key under it. An attacker with a retired or stolen old
 * key could sign entries after the rotation, but those are outside the key's stretch.
 */
export class LedgerKeys {
  readonly #kids = new Set<string>()
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
    return this.#kids
  }

  /** `kid` is what `ledger-created` defines, `signedBy` what signed that entry. */
  begin(kid: string, signedBy: string): void {
    if (signedBy !== kid)
      throw new ProofError('key_not_current', `the definition names ${kid}, but ${signedBy} signed it`)
    this.#first = kid
    this.#introduce(kid)
  }

  verifySigner(kid: string): void {
    if (kid !== this.#current) {
      throw new ProofError('key_not_current', `signed by ${kid}, but ${this.#current} signs here`)
    }
  }

  /** From the next entry on. A key does not come back: else a stolen old one could be rotated in again. */
  rotate(kid: string): void {
    if (this.#kids.has(kid))
      throw new ProofError('key_not_current', `${kid} has signed in this ledger before`)
    this.#introduce(kid)
  }

  #introduce(kid: string): void {
    this.#kids.add(kid)
    this.#current = kid
  }
}
