import type { ProofProviders } from '../../src/proof/crypto.ts'

/** Hash and signature functions, some of them asynchronous. */
export type Engine = {
  /**
   * Returns or throws what `verify` does. It MUST depend on nothing but what it is given and MUST NOT change anything: it may be
   * run twice, the first time with every signature taken for good.
   */
  run<T>(verify: (providers: ProofProviders) => T): Promise<T>
  /** For what can't be run twice. Where signatures are checked asynchronously, these are the portable ones: 3 ms each. */
  readonly providers: ProofProviders
}
