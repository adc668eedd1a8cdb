import { sha256, sha512 } from '@noble/hashes/sha2.js'
import type { ProofProviders } from '../../src/proof/crypto.ts'
import { findNodeCrypto, makeNodeProviders } from '../../src/signing/node-crypto.ts'
import { makePortableProviders } from '../../src/signing/portable.ts'
import type { Engine } from './engine.ts'
import { makeWebEngine, type Subtle } from './web-crypto.ts'

/**
 * Hash and signature functions in plain JavaScript, which work in every runtime. They refuse ES256 with an error that
 * names ES256.
 */
export const portableProviders = makePortableProviders({ sha256, sha512 })

/**
 * Returns the fastest engine of the runtime.
 *
 * These are the CPU times per entry for an export of 2,000 notarized records, in Node 24 on an AMD EPYC:
 *
 * - node:crypto: 125 to 145 µs.
 * - WebCrypto: 135 to 145 µs. Signatures are checked on other threads; about 50 µs stay on a page's main thread.
 * - portable: 1,210 to 1,280 µs.
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
