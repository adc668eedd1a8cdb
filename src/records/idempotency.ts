import { hash } from 'node:crypto'
import type { IdempotencyRow } from '../db/append-entries.ts'
import type { Entropy } from '../entropy.ts'
import { ApiError } from '../errors.ts'
import { IDEMPOTENCY_KEY_CHARS_MAX } from '../limits.ts'
import { canonicalize } from '../proof/jcs.ts'
import type { JsonValue } from '../proof/json-text.ts'

const KEY_PATTERN = new RegExp(`^[\\x21-\\x7e]{1,${IDEMPOTENCY_KEY_CHARS_MAX}}$`)
const KEY_HASH_BYTES = 16

/**
 * What is stored of a request with an Idempotency-Key: a hash of the key, and H(method, path, JCS(body)), which
 * Postgres salts. null without the header. Two spellings of the same JSON are the same request.
 */
export function fingerprint(
  entropy: Entropy,
  key: string | string[] | undefined,
  request: { method: string; path: string; body: unknown },
): IdempotencyRow | null {
  if (key === undefined) return null
  if (typeof key !== 'string' || !KEY_PATTERN.test(key)) {
    throw new ApiError(
      'invalid_idempotency_key',
      `the Idempotency-Key must be 1 to ${IDEMPOTENCY_KEY_CHARS_MAX} visible ASCII characters, without spaces`,
    )
  }
  const canonical = `${request.method} ${request.path}\n${canonicalize(request.body as JsonValue)}`
  return {
    keyHash: hash('sha256', key, 'buffer').subarray(0, KEY_HASH_BYTES),
    requestHash: hash('sha256', canonical, 'buffer'),
    salt: entropy.bytes16(),
  }
}
