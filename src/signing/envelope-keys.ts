import type { FindKey } from '../proof/entry/verify-entry.ts'
import { KnownStatements } from './known-statements.ts'

/** The deployment's public envelope keys, read when one is asked for that is not known yet: after a rotation. */
export class EnvelopeKeys {
  /** Statements that these keys are known to have signed. */
  readonly known = new KnownStatements()
  readonly #load: () => Promise<FindKey>
  #findKey: FindKey = () => null

  constructor(load: () => Promise<FindKey>) {
    this.#load = load
  }

  /** Knows all of `kids` (lower-case hex) that the deployment has. */
  async finderFor(kids: Iterable<string>): Promise<FindKey> {
    for (const kid of kids) {
      if (this.#findKey(kid)) continue
      this.#findKey = await this.#load()
      break
    }
    return this.#findKey
  }
}
