import { hash } from 'node:crypto'
import type { IdempotencyRow } from '../../db/chain/append-entries.ts'
import { ApiError } from '../../errors.ts'
import { canonicalize } from '../../proof/json/jcs.ts'
import type { JsonObject, JsonValue } from '../../proof/json/json-value.ts'
import { IDEMPOTENCY_KEY_CHARS_MAX } from '../../proof/request-limits.ts'
import type { Entropy } from '../../signing/entropy.ts'

const KEY_PATTERN = new RegExp(`^[\\x21-\\x7e]{1,${IDEMPOTENCY_KEY_CHARS_MAX}}$`)
const KEY_HASH_BYTES = 16

/**
 * Returns the fingerprint of a request with an Idempotency-Key: a hash of the key, and a hash of the request, which
 * Postgres salts. Returns null if the request has no such header.
 *
 * Two spellings of the same JSON count as the same request. Two signatures of an agent over the same content also count
 * as the same request. An agent may sign the content again if it lost the answer or its memory.
 */
export function fingerprint(
  entropy: Entropy,
  key: string | string[] | undefined,
  request: { method: string; path: string; body: unknown },
): IdempotencyRow | null {
  if (key === undefined) return null
  return { keyHash: hashKey(key), requestHash: hashRequest(request), salt: entropy.bytes16() }
}

/** Returns H(method, path, JCS(body)). */
export function hashRequest({ method, path, body }: { method: string; path: string; body: unknown }): Buffer {
  const canonical = canonicalize(withoutSignature(body as JsonValue))
  return hash('sha256', `${method} ${path}\n${canonical}`, 'buffer')
}

/**
 * Removes envelope and salt, because an agent that signs again uses another salt. For batches, build-batch.ts does
 * this.
 */
function withoutSignature(body: JsonValue): JsonValue {
  if (body === null || typeof body !== 'object' || Array.isArray(body) || !('envelope' in body)) return body
  const { envelope: _, salt: __, ...rest } = body as JsonObject
  return rest
}

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
      `the Idempotency-Key must be 1 to ${IDEMPOTENCY_KEY_CHARS_MAX} visible ASCII characters without spaces`,
    )
  }
  return hash('sha256', key, 'buffer').subarray(0, KEY_HASH_BYTES)
}
