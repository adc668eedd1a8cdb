import type { ProofProviders } from '../../src/proof/crypto.ts'

/** Hash and signature functions. Signatures may be checked asynchronously. */
export type Engine = {
  /**
   * Runs `verify`, and returns or throws what it does. `verify` MUST be deterministic and free of side effects,
   * because it may run twice. The first run assumes that all signatures are valid.
   */
  run<T>(verify: (providers: ProofProviders) => T): Promise<T>
  /**
   * Synchronous functions, for code that cannot run twice. If the engine checks signatures asynchronously, these are
   * the portable functions, which take 3 ms per signature.
   */
  readonly providers: ProofProviders
}
