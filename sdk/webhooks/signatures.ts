import { hmac } from '@noble/hashes/hmac.js'
import { sha256 } from '@noble/hashes/sha2.js'
import { fromBase64 } from '../../src/proof/bytes.ts'
import type { PublicKey } from '../../src/proof/crypto.ts'
import { chooseEngine } from '../verify/providers.ts'
import { WebhookVerificationError } from './errors.ts'
import type { Signature } from './headers.ts'
import type { WebhookKeys } from './keys.ts'

/**
 * Verifies the signatures of each kind for which there are keys. Throws `signature_missing` or `signature_mismatch`.
 *
 * With keys of both kinds, both signatures must be valid. Otherwise somebody who steals the secret from the receiver
 * could sign with the secret alone. The secret is checked first, because that takes microseconds. So a sender without
 * the secret cannot cause 32 checks of Ed25519 signatures (4 ms with node:crypto, 0.1 s in pure JavaScript).
 */
export async function verifySignatures(
  signatures: readonly Signature[],
  message: Uint8Array,
  { secrets, publicKeys }: WebhookKeys,
): Promise<void> {
  if (secrets.length > 0) {
    const codes = secrets.map((secret) => hmac(sha256, secret, message))
    const isGood = (value: Uint8Array) => codes.some((code) => equalInConstantTime(code, value))
    if (!valuesOf(signatures, 'v1').some(isGood)) throw mismatch('v1', 'secret')
  }
  if (publicKeys.length > 0 && !(await isSigned(valuesOf(signatures, 'v1a'), message, publicKeys)))
    throw mismatch('v1a', 'public key')
}

async function isSigned(
  values: readonly Uint8Array[],
  message: Uint8Array,
  publicKeys: readonly PublicKey[],
): Promise<boolean> {
  const engine = chooseEngine()
  for (const key of publicKeys) {
    for (const value of values)
      if (await engine.run(({ verifySignature }) => verifySignature(key, message, value))) return true
  }
  return false
}

/**
 * Returns the signatures of one version. Ignores signatures that are not canonical base64. Throws `signature_missing`
 * if there is no signature of the version.
 */
function valuesOf(signatures: readonly Signature[], version: string): Uint8Array[] {
  const ours = signatures.filter((signature) => signature.version === version)
  if (ours.length === 0)
    throw new WebhookVerificationError('signature_missing', `there is no ${version} signature`)
  return ours.flatMap(({ value }) => {
    try {
      return [fromBase64(value)]
    } catch {
      return []
    }
  })
}

/**
 * Compares all bytes without an early return. Otherwise the time would tell a sender how many bytes of a guess are
 * right.
 */
function equalInConstantTime(a: Uint8Array, b: Uint8Array): boolean {
  if (a.length !== b.length) return false
  let difference = 0
  for (let i = 0; i < a.length; i++) difference |= a[i]! ^ b[i]!
  return difference === 0
}

function mismatch(version: string, key: string): WebhookVerificationError {
  return new WebhookVerificationError(
    'signature_mismatch',
    `no ${version} signature verifies: it is not from the ledger, the body was changed, or the ${key} is that of another endpoint`,
  )
}
