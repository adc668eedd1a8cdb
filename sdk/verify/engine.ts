import type { ProofProviders } from '../../src/proof/crypto.ts'

/** Hash and signature functions. An engine may check signatures asynchronously. */
export type Engine = {
  /**
   * Runs `verify`, and returns its result or throws its error. `verify` MUST be deterministic and free of side effects,
   * because it may run twice. The first run assumes that all signatures are valid.
   */
  run<T>(verify: (providers: ProofProviders) => T): Promise<T>
  /**
   * Synchronous functions, for code that cannot run twice. If the engine checks signatures asynchronously, these are
   * the slower portable functions, which take 3 ms per signature.
   */
  readonly providers: ProofProviders
}
