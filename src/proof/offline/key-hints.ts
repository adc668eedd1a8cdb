import { fromBase64, toHex } from '../bytes.ts'
import type { PublicKey, Sha256 } from '../crypto.ts'
import type { FindKey } from '../entry/verify-entry.ts'
import { ProofError } from '../error.ts'
import { keyThumbprint, parsePublicKey } from '../keys.ts'
import type { KeyHint } from '../ledger/key-hint.ts'

/**
 * Returns a FindKey that searches the hints. Each key is stored under the thumbprint that is computed here, so a hint
 * with a false kid does no harm. Malformed hints are ignored.
 */
export function makeFindKey(
  hints: readonly Pick<KeyHint, 'alg' | 'spki'>[],
  { sha256 }: { readonly sha256: Sha256 },
): FindKey {
  const keys = new Map<string, PublicKey>()
  for (const hint of hints) {
    const key = parseOrSkip(hint)
    if (key) keys.set(toHex(keyThumbprint(sha256, key)), key)
  }
  return (kid) => keys.get(kid) ?? null
}

function parseOrSkip(hint: Pick<KeyHint, 'alg' | 'spki'>): PublicKey | null {
  try {
    return parseHint(hint)
  } catch {
    return null
  }
}

/**
 * Parses hints and returns their keys by kid. Throws `bad_base64`, `bad_key` if the bytes are not a key, and
 * `kid_mismatch` if a kid is not its key's thumbprint.
 */
export function findNamedKeys(
  hints: readonly Pick<KeyHint, 'kid' | 'alg' | 'spki'>[],
  sha256: Sha256,
): ReadonlyMap<string, PublicKey> {
  return new Map(hints.map((hint) => [hint.kid, findNamedKey([hint], hint.kid, sha256)!]))
}

/**
 * Returns the key of the hint with this kid, or null if no hint has this kid. Throws `bad_base64`, `bad_key` if the
 * hint's bytes are not a key, and `kid_mismatch` if the kid is not the key's thumbprint.
 */
export function findNamedKey(
  hints: readonly Pick<KeyHint, 'kid' | 'alg' | 'spki'>[],
  kid: string,
  sha256: Sha256,
): PublicKey | null {
  const hint = hints.find((one) => one.kid === kid)
  if (!hint) return null
  const key = parseHint(hint)
  if (toHex(keyThumbprint(sha256, key)) === kid) return key
  throw new ProofError('kid_mismatch', `the key given as ${kid} has another thumbprint`)
}

function parseHint({ alg, spki }: Pick<KeyHint, 'alg' | 'spki'>): PublicKey {
  if (alg === 'EdDSA' || alg === 'ES256') return parsePublicKey(alg, fromBase64(spki))
  throw new ProofError('bad_key', `the algorithm ${alg} is neither EdDSA nor ES256`)
}
