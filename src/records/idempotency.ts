import { hash } from 'node:crypto'
import type { IdempotencyRow } from '../db/chain/append-entries.ts'
import { ApiError } from '../errors.ts'
import { canonicalize } from '../proof/json/jcs.ts'
import type { JsonValue } from '../proof/json/json-value.ts'
import type { Entropy } from '../signing/entropy.ts'
import { IDEMPOTENCY_KEY_CHARS_MAX } from './limits.ts'

const KEY_PATTERN = new RegExp(`^[\\x21-\\x7e]{1,${IDEMPOTENCY_KEY_CHARS_MAX}}$`)
const KEY_HASH_BYTES = 16

/**
 * Fingerprint of a request with an Idempotency-Key: a hash of the key, and H(method, path, JCS(body)), which Postgres salts.
 * null without the header. Two spellings of the same JSON are the same request.
 */
export function fingerprint(
  entropy: Entropy,
  key: string | string[] | undefined,
  request: { method: string; path: string; body: unknown },
): IdempotencyRow | null {
  if (key === undefined) return null
  const keyHash = hashKey(key)
  const canonical = `${request.method} ${request.path}\n${canonicalize(request.body as JsonValue)}`
  return { keyHash, requestHash: hash('sha256', canonical, 'buffer'), salt: entropy.bytes16() }
}

/** The same, of a request whose hash is known. */
export function fingerprintOfHash(
  entropy: Entropy,
  key: string | string[] | undefined,
  requestHash: Uint8Array | null,
): IdempotencyRow | null {
  if (key === undefined || requestHash === null) return null
  return { keyHash: hashKey(key), requestHash, salt: entropy.bytes16() }
}

function hashKey(key: string | string[]): Buffer {
  if (typeof key !== 'string' || !KEY_PATTERN.test(key)) {
    throw new ApiError(
      'invalid_idempotency_key',
      `the Idempotency-Key must be 1 to ${IDEMPOTENCY_KEY_CHARS_MAX} visible ASCII characters, without spaces`,
    )
  }
  return hash('sha256', key, 'buffer').subarray(0, KEY_HASH_BYTES)
}
