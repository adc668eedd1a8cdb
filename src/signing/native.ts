import sodium from 'sodium-native'
import { ownCopy } from '../proof/bytes.ts'
import { type Sha256, SIGNATURE_BYTES, type Signer, type VerifySignature } from '../proof/crypto.ts'
import { keyThumbprint, parsePublicKey, spkiOf } from '../proof/keys.ts'
import { verifyEs256 } from './es256.ts'
import { sha256 } from './sha256.ts'

const verifySignature: VerifySignature = (key, message, signature) => {
  if (signature.length !== SIGNATURE_BYTES) return false // libsodium's binding accepts longer signatures.
  if (key.alg === 'EdDSA') return sodium.crypto_sign_verify_detached(signature, message, key.raw)
  return verifyEs256(key, message, signature)
}

export const nativeProviders = { sha256, verifySignature } as const

/**
 * Returns an Ed25519 signer. `seed` is the 32-byte private key of RFC 8032. `memory` says where the private key is
 * stored:
 *
 * - `guarded`: locked memory between inaccessible pages, for the few keys of a deployment. Each key takes 8 KiB and 4
 *   of the 65,530 mappings of a process. A process that needs more mappings is aborted.
 * - `plain`: normal memory, for thousands of keys.
 */
export function makeEd25519Signer(
  sha256: Sha256,
  seed: Uint8Array,
  memory: 'guarded' | 'plain' = 'guarded',
): Signer {
  const raw = Buffer.alloc(sodium.crypto_sign_PUBLICKEYBYTES)
  const secretBytes = sodium.crypto_sign_SECRETKEYBYTES
  const secret = memory === 'guarded' ? sodium.sodium_malloc(secretBytes) : Buffer.alloc(secretBytes)
  sodium.crypto_sign_seed_keypair(raw, secret, Buffer.from(seed))
  const key = parsePublicKey('EdDSA', spkiOf('EdDSA', raw))
  return {
    kid: ownCopy(keyThumbprint(sha256, key)),
    key,
    sign: (message) => {
      const signature = Buffer.allocUnsafe(SIGNATURE_BYTES)
      sodium.crypto_sign_detached(signature, message, secret)
      return signature
    },
  }
}
