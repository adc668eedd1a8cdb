import { isUtf8 } from 'node:buffer'
import { ApiError, type ErrorCode } from '../../errors.ts'
import type { JsonRefusal } from '../../load/threads/read-json.ts'
import { ProofError } from '../../proof/error.ts'
import { type JsonLimits, parseJsonText } from '../../proof/json/json-text.ts'
import type { JsonValue } from '../../proof/json/json-value.ts'

const CODES: Partial<Record<JsonRefusal['code'], ErrorCode>> = {
  bad_utf8: 'bad_encoding',
  json_syntax: 'bad_json',
  json_duplicate_member: 'lossy_json',
  json_surrogate: 'lossy_json',
  json_nul: 'lossy_json',
  json_number_lossy: 'lossy_json',
  json_depth: 'json_too_deep',
  json_too_costly: 'json_too_costly',
  not_object: 'invalid_request',
}

export function refusedFor(refusal: Pick<JsonRefusal, 'code' | 'detail'>): Error {
  const code = CODES[refusal.code]
  if (!code) return new Error(`${refusal.code}: ${refusal.detail}`)
  return new ApiError(code, code === 'invalid_request' ? `the body ${refusal.detail}` : refusal.detail)
}

/** Checks the text of a body and parses it. Throws ApiError. */
export function parseBody(body: Uint8Array, limits: JsonLimits): JsonValue {
  if (!isUtf8(body)) throw new ApiError('bad_encoding', 'the body contains bytes that are not UTF-8')
  try {
    return parseJsonText(Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('utf8'), limits)
  } catch (error) {
    throw error instanceof ProofError ? refusedFor(error) : error
  }
}
