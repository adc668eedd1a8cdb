import { hash } from 'node:crypto'
import type { ProofProviders } from '../proof/crypto.ts'
import { verifyEs256 } from '../signing/es256.ts'

/** What hashes and verifies; `notice` is for the user. */
type LoadedProviders = ProofProviders & { readonly notice: string | null }

type Native = { readonly nativeProviders: ProofProviders }

/**
 * Native where it can be loaded (73 µs a signature), portable JavaScript where not (3,600 µs): a verifier must also
 * work on a machine for which there is no binary of libsodium.
 */
export async function loadProviders(
  loadNative: () => Promise<Native> = () => import('../signing/native.ts'),
): Promise<LoadedProviders> {
  try {
    return { ...(await loadNative()).nativeProviders, notice: null }
  } catch {
    const { makePortableProviders } = await import('../signing/portable.ts')
    const hashes = {
      sha256: (data: Uint8Array) => hash('sha256', data, 'buffer'),
      sha512: (data: Uint8Array) => hash('sha512', data, 'buffer'),
    }
    return {
      ...makePortableProviders(hashes, verifyEs256),
      notice:
        'the native signature library cannot be loaded here: verifying in JavaScript, which takes about 50 times as long',
    }
  }
}
