/**
 * Every error that a client can see: code → status and title. Anything else is a bug, and becomes
 * `internal_error` with no detail. In order of precedence: when several apply, the first is answered.
 */
export const ERROR_CODES = {
  // The request as such
  not_found: [404, 'There is nothing at this address'],
  method_not_allowed: [405, 'This address does not take this method'],
  bad_request: [400, 'The request is not well-formed HTTP'],
  headers_too_large: [431, 'The request headers are too large'],
  request_timeout: [408, 'The request did not arrive in time'],
  unauthenticated: [401, 'A valid API key is needed'],
  key_expired: [401, 'The API key has expired'],
  forbidden: [403, 'The API key lacks the scope for this'],
  unsupported_media_type: [415, 'The body must be application/json'],
  body_too_large: [413, 'The body is too large'],
  // The text of the body
  bad_encoding: [400, 'The body is not UTF-8'],
  bad_json: [400, 'The body is not JSON'],
  lossy_json: [400, 'The body holds JSON that could not be kept exactly as given'],
  json_too_deep: [400, 'The body is nested too deeply'],
  // Its content
  invalid_request: [422, 'A field is missing, unknown, or of the wrong type'],
  document_too_large: [422, 'A document is too large'],
  metadata_too_large: [422, 'The metadata is too large'],
  unknown_type: [422, 'The ledger has no such type'],
  not_notarizable: [422, 'Records of this type are gated, not notarized'],
  unknown_agent: [422, 'The ledger has no such agent'],
  invalid_idempotency_key: [400, 'The Idempotency-Key is not valid'],
  idempotency_key_reused: [422, 'The Idempotency-Key was used for another request'],
  // The state of things
  checkpoint_pending: [409, 'No checkpoint covers this yet'],
  state_conflict: [409, 'The state of the record does not allow this'],
  // The server
  overloaded: [503, 'The server has more to write than it can write in time'],
  unavailable: [503, 'The database is not available at the moment'],
  clock_skew: [503, "The server's clock is off the database's clock"],
  outcome_unknown: [503, 'The connection to the database was lost before it answered'],
  internal_error: [500, 'An internal error'],
} as const satisfies Record<string, readonly [number, string]>

export type ErrorCode = keyof typeof ERROR_CODES

/** The one error that routes throw. `detail` is shown to the client: it must not hold secrets. */
export class ApiError extends Error {
  readonly code: ErrorCode
  /** Whether the same request may succeed later. */
  readonly retryable: boolean
  readonly retryAfterMs: number | null
  /** Further members of the problem document, such as `index` or `state`. */
  readonly members: Record<string, unknown>

  constructor(
    code: ErrorCode,
    detail: string,
    options: {
      retryable?: boolean
      retryAfterMs?: number
      members?: Record<string, unknown>
      /** For the log. */
      cause?: Error
    } = {},
  ) {
    super(detail, options.cause && { cause: options.cause })
    this.name = 'ApiError'
    this.code = code
    this.retryable = options.retryable ?? false
    this.retryAfterMs = options.retryAfterMs ?? null
    this.members = options.members ?? {}
  }

  get status(): number {
    return ERROR_CODES[this.code][0]
  }
}
