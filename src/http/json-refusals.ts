import type { JsonRefusal } from '../append/threads/read-json.ts'
import { ApiError, type ErrorCode } from '../errors.ts'

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

/** The error that a client gets for a text that is not taken. */
export function refusedFor(refusal: Pick<JsonRefusal, 'code' | 'detail'>): Error {
  const code = CODES[refusal.code]
  if (!code) return new Error(`${refusal.code}: ${refusal.detail}`)
  return new ApiError(code, code === 'invalid_request' ? `the body ${refusal.detail}` : refusal.detail)
}
