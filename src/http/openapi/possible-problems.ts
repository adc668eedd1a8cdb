import { ERROR_CODES, type ErrorCode } from '../../errors.ts'
import type { Access, PeerAccess } from '../plugins/authenticate.ts'

const ANY: readonly ErrorCode[] = [
  'bad_request',
  'headers_too_large',
  'request_timeout',
  'invalid_request',
  'overloaded',
  'internal_error',
]
const OPERATOR: readonly ErrorCode[] = ['unauthenticated', 'unavailable']
const KEYED: readonly ErrorCode[] = [
  'unauthenticated',
  'key_expired',
  'forbidden',
  'rate_limited',
  'unavailable',
  'archive_unavailable',
]
const BODY: readonly ErrorCode[] = [
  'unsupported_media_type',
  'body_too_large',
  'bad_encoding',
  'bad_json',
  'lossy_json',
  'json_too_deep',
]
const LARGE_BODY: readonly ErrorCode[] = ['json_too_costly']
/**
 * Errors that an operation which writes an entry may answer. `state_conflict`: the ledger's signing key changed several
 * times while the entry was being signed (src/append/append-one.ts).
 */
const WRITE: readonly ErrorCode[] = [
  'agent_signature_required',
  'ledger_frozen',
  'ledger_closed',
  'ledger_moving',
  'ledger_moved',
  'state_conflict',
  'clock_skew',
  'outcome_unknown',
]
const IDEMPOTENT: readonly ErrorCode[] = ['invalid_idempotency_key', 'idempotency_key_reused']

/**
 * Returns every error that an operation can answer, in the order of docs/reference/errors.md: the errors of its kind,
 * and the errors that its route declares. A route that declares `idempotency_key_reused` accepts an Idempotency-Key.
 * Status 405 is left out, because it concerns an address, not an operation.
 */
export function problemsOf(operation: {
  readonly method: string
  readonly access: Exclude<Access, PeerAccess>
  /** True if the path contains an id. The answer may then be that the id is unknown. */
  readonly addressed: boolean
  readonly takesKnownSize: boolean
  /** True if the route accepts bodies that are larger than the default limit. */
  readonly largeBody: boolean
  readonly declared: readonly ErrorCode[]
}): ErrorCode[] {
  const { method, access, addressed, takesKnownSize, largeBody, declared } = operation
  const hasBody = method !== 'GET'
  const codes = new Set<ErrorCode>([
    ...ANY,
    ...(addressed ? (['not_found'] as const) : []),
    ...(access === 'public' ? [] : access === 'operator' ? OPERATOR : KEYED),
    ...(hasBody ? BODY : []),
    ...(takesKnownSize ? (['ledger_smaller'] as const) : []),
    ...(largeBody ? LARGE_BODY : []),
    ...(hasBody && access !== 'public' ? WRITE : []),
    ...(takesIdempotencyKey(declared) ? IDEMPOTENT : []),
    ...declared,
  ])
  return (Object.keys(ERROR_CODES) as ErrorCode[]).filter((code) => codes.has(code))
}

/** Returns whether an operation accepts If-Match. Such an operation declares `version_mismatch`. */
export function takesIfMatch(problems: readonly ErrorCode[]): boolean {
  return problems.includes('version_mismatch')
}

export function takesIdempotencyKey(problems: readonly ErrorCode[]): boolean {
  return problems.includes('idempotency_key_reused')
}
