import { ProofError } from '../error.ts'

/** Types that exist in every ledger without an entry of their own. */
const BUILT_IN = ['generic/1', 'task/1']

/** The record types of a ledger, by `name/version`: a type is registered before a record names it, and never changes. */
export class LedgerTypes {
  readonly #digests = new Map<string, string | null>(BUILT_IN.map((type) => [type, null]))

  /** Digests of the built-in types, as the ledger's definition has them. */
  begin(types: Readonly<Record<string, string>>): void {
    for (const [type, digest] of Object.entries(types)) this.#digests.set(type, digest)
  }

  register(type: string, digest: string): void {
    if (this.#digests.has(type))
      throw new ProofError('duplicate_subject', `the type ${type} is registered twice`)
    this.#digests.set(type, digest)
  }

  verifyTypes(types: readonly string[]): void {
    for (const type of types) {
      if (!this.#digests.has(type)) throw new ProofError('type_unknown', `${type} was not registered before`)
    }
  }

  /** The digest that a gated record fixes when it is created. */
  verifyDigest(type: string, digest: string): void {
    const known = this.#digests.get(type)
    if (known !== null && known !== digest)
      throw new ProofError('type_unknown', `${type} has the digest ${known}, not ${digest}`)
  }
}
