import * as crypto from 'node:crypto'
import type { ProofProviders } from '../proof/crypto.ts'
import { makeNodeProviders, type NodeCrypto } from '../signing/node-crypto.ts'

/** Hash and signature functions. `notice`: message for the user; null if no message is needed. */
type LoadedProviders = ProofProviders & { readonly notice: string | null }

type Native = { readonly nativeProviders: ProofProviders }

/**
 * Loads libsodium, or node:crypto if libsodium cannot be loaded. A verifier must also work on a machine without a
 * binary of libsodium.
 *
 * A signature takes 44 µs with libsodium and 73 µs with node:crypto (Xeon at 2.1 GHz).
 */
export async function loadProviders(
  loadNative: () => Promise<Native> = () => import('../signing/native.ts'),
): Promise<LoadedProviders> {
  try {
    return { ...(await loadNative()).nativeProviders, notice: null }
  } catch {
    return {
      // The cast is needed because Node's types require a Buffer where its functions accept any bytes.
      ...makeNodeProviders(crypto as unknown as NodeCrypto),
      notice: 'libsodium cannot be loaded here: node:crypto is used, which takes nearly twice as long',
    }
  }
}
