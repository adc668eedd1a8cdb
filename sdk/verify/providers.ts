import { sha256, sha512 } from '@noble/hashes/sha2.js'
import type { ProofProviders } from '../../src/proof/crypto.ts'
import { findNodeCrypto, makeNodeProviders } from '../../src/signing/node-crypto.ts'
import { makePortableProviders } from '../../src/signing/portable.ts'
import type { Engine } from './engine.ts'
import { makeWebEngine, type Subtle } from './web-crypto.ts'

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
