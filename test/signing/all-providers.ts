import assert from 'node:assert/strict'
import type { Engine } from '../../sdk/verify/engine.ts'
import { makeSyncEngine, portableProviders } from '../../sdk/verify/providers.ts'
import { makeWebEngine } from '../../sdk/verify/web-crypto.ts'
import type { PublicKey } from '../../src/proof/crypto.ts'
import { nativeProviders } from '../../src/signing/native.ts'
import { findNodeCrypto, makeNodeProviders } from '../../src/signing/node-crypto.ts'

export const ENGINES: Readonly<Record<string, Engine>> = {
  'the server': makeSyncEngine(nativeProviders),
  'the SDK with node:crypto': makeSyncEngine(makeNodeProviders(findNodeCrypto()!)),
  'the SDK with WebCrypto': makeWebEngine(crypto.subtle, portableProviders),
  'the SDK alone': makeSyncEngine(portableProviders),
}

/** Asserts that all engines agree. If they did not, two verifiers could disagree about a ledger. */
export async function assertAll(
  expected: boolean,
  key: PublicKey,
  message: Uint8Array,
  signature: Uint8Array,
): Promise<void> {
  for (const [name, engine] of Object.entries(ENGINES)) {
    if (key.alg === 'ES256' && name === 'the SDK alone') continue // By design, the SDK alone refuses ES256 keys.
    assert.equal(await isGood(engine, key, message, signature), expected, name)
  }
}

export function isGood(
  engine: Engine,
  key: PublicKey,
  message: Uint8Array,
  signature: Uint8Array,
): Promise<boolean> {
  return engine.run(({ verifySignature }) => verifySignature(key, message, signature))
}
