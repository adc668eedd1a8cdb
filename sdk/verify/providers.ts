import { sha256, sha512 } from '@noble/hashes/sha2.js'
import type { ProofProviders } from '../../src/proof/crypto.ts'
import { findNodeCrypto, makeNodeProviders } from '../../src/signing/node-crypto.ts'
import { makePortableProviders } from '../../src/signing/portable.ts'
import { makeWebEngine, type Subtle } from './web-crypto.ts'

/** What hashes and checks signatures, some of it asynchronously. */
export type Engine = {
  /**
   * Returns or throws what `verify` does. It MUST depend on nothing but what it is given and MUST NOT change anything: it may be
   * run twice, the first time with every signature taken for good.
   */
  run<T>(verify: (providers: ProofProviders) => T): Promise<T>
  /** For what can't be run twice. Where signatures are checked asynchronously, these are the portable ones: 3 ms each. */
  readonly providers: ProofProviders
}

/** Everywhere, with code that can be read. ES256 is refused by name. */
export const portableProviders = makePortableProviders({ sha256, sha512 })

/**
 * The quickest that is here. Microseconds of CPU for an entry of an export of 2,000 notarized records, in Node 24 on an AMD EPYC:
 * node:crypto 125 to 145; WebCrypto 135 to 145, of which signatures take other threads than the caller's (a page's main thread has
 * the rest, about 50); portable 1,210 to 1,280.
 */
export function chooseEngine(): Engine {
  const node = findNodeCrypto()
  if (node) return makeSyncEngine(makeNodeProviders(node))
  const subtle = (globalThis.crypto as { subtle?: Subtle } | undefined)?.subtle
  return subtle ? makeWebEngine(subtle, portableProviders) : makeSyncEngine(portableProviders)
}

export function makeSyncEngine(providers: ProofProviders): Engine {
  return { run: async (verify) => verify(providers), providers }
}
