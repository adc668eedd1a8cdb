import { StacklessError } from './stackless-error.ts'

/**
 * Says whether the same request may succeed later. Clients see it as `retryable` in the problem document. `maybe`: it
 * depends on the case.
 */
type Retry = 'no' | 'yes' | 'maybe'

/**
 * All errors that clients can see, each with status, title, retryable and advice. Any other error is a bug, and becomes
 * `internal_error` without details. The codes are in the order in which the server checks: request, caller, body, names
 * in the body, state, server.
 */
export const ERROR_CODES = {
  // Errors about the request
  not_found: [
    404,
    'There is nothing at this address',
    'no',
    'check the address, and that the id belongs to the ledger of your key',
  ],
  method_not_allowed: [
    405,
    'This address does not support this method',
    'no',
    'use one of the methods in `Allow`',
  ],
  bad_request: [
    400,
    'The request is not well-formed HTTP',
    'no',
    'correct the request that your client writes: `detail` names the fault',
  ],
  headers_too_large: [431, 'The request headers are too large', 'no', 'send less than 16 KiB of headers'],
  expectation_failed: [
    417,
    'The server does not support this `Expect`',
    'no',
    'leave `Expect` out, or send `100-continue`',
  ],
  transfer_coding_unknown: [
    501,
    'The server does not support this transfer coding of the body',
    'no',
    'nothing was done: send the body unencoded, with `Content-Length` or `Transfer-Encoding: chunked`',
  ],
  request_timeout: [408, 'The request did not arrive in time', 'no', 'send the whole request within 30 s'],
  unauthenticated: [
    401,
    'A valid key of the right kind is needed',
    'no',
    'send the key that this address needs as `Authorization: Bearer …`: `detail` says what is wrong with yours',
  ],
  key_expired: [401, 'The API key has expired', 'no', 'use another key'],
  forbidden: [
    403,
    'The API key lacks a scope that the request needs',
    'no',
    'use a key with one of the scopes that `detail` names',
  ],
  origin_refused: [
    403,
    'The request came from another website, or names another host',
    'no',
    'call from a program, or ask the operator to set TALLYSTICK_PUBLIC_URL to the address that clients use',
  ],
  // Errors about requests of a peer's server
  peer_unknown: [
    401,
    'The server does not know this peering',
    'no',
    'check both ledger ids, and whether the peering was revoked',
  ],
  signature_malformed: [
    401,
    'The request does not have a valid peer signature',
    'no',
    'sign the request as docs/formats/federation.md says',
  ],
  key_unknown: [
    401,
    'This server does not know the signing key of the calling ledger',
    'no',
    'sign with the current key of your ledger',
  ],
  key_not_current: [
    401,
    'The calling ledger has replaced the signing key',
    'no',
    'sign with the new key, which the rotation names',
  ],
  request_expired: [
    401,
    'The request was signed too long ago, or in the future',
    'yes',
    'set your clock, and sign the request again',
  ],
  signature_invalid: [
    401,
    'The signature does not match the request',
    'no',
    'sign exactly the request that is sent, with its address',
  ],
  content_digest_mismatch: [
    401,
    'The body does not match its signed digest',
    'yes',
    'send the request again',
  ],
  request_replayed: [
    409,
    'The request was received before',
    'yes',
    'sign the request again with a new nonce',
  ],
  peer_suspended: [503, 'The peering is suspended', 'yes', 'wait until the other side resumes the peering'],
  peer_full: [
    429,
    'The peering has used up its storage budget for the day',
    'yes',
    'nothing was done: wait for `Retry-After`, or ask the other side for a higher budget',
  ],
  peer_revoked: [403, 'The peering was revoked', 'no', 'invite the peer again'],
  witness_off: [
    404,
    'This deployment does not cosign the checkpoints of its peers',
    'no',
    'continue without cosignatures of this deployment',
  ],
  token_used: [409, 'The invitation was used before', 'no', 'ask for another invitation'],
  token_invalid: [401, 'The invitation is unknown or has expired', 'no', 'ask for another invitation'],
  rate_limited: [
    429,
    'The rate limit of the key, the ledger or the peer is used up',
    'yes',
    'wait for `Retry-After`: nothing was done',
  ],
  unsupported_media_type: [
    415,
    'The body has an unsupported media type',
    'no',
    'send uncompressed JSON as `application/json`, or a Signed Statement as `application/cose`',
  ],
  body_too_large: [413, 'The body is too large', 'no', 'split the request: `detail` gives the limit'],
  // Errors about the text of the body
  bad_encoding: [400, 'The body is not UTF-8', 'no', 'encode the body as UTF-8'],
  bad_json: [400, 'The body is not JSON', 'no', 'correct the JSON: `detail` names the position of the fault'],
  bad_otlp: [
    400,
    'The body is not an OTLP request',
    'no',
    'check `Content-Type` and `Content-Encoding`, then the body: `detail` names the fault',
  ],
  lossy_json: [
    400,
    'The JSON has a name or value that cannot be stored exactly',
    'no',
    '`detail` names the fault: send each name once, long numbers as strings, and no U+0000 or lone surrogate',
  ],
  json_too_deep: [
    400,
    'The body is nested too deeply',
    'no',
    'send a flatter body: `detail` gives the limit',
  ],
  json_too_costly: [
    400,
    'The body has too many names and values',
    'no',
    'split the request: `detail` gives the limit of names and values',
  ],
  // Errors about the content of the body
  invalid_request: [
    422,
    'A field is missing, unknown or invalid',
    'no',
    '`path` names the invalid field, or the object in which a field is missing or unknown: correct what `detail` says',
  ],
  url_refused: [
    422,
    'This server does not send to that URL',
    'no',
    'use another URL, or ask the operator to allow this address if `detail` says that this is possible',
  ],
  document_too_large: [
    422,
    'A document is too large',
    'no',
    'store the large part elsewhere, and send its digest',
  ],
  metadata_too_large: [422, 'The metadata is too large', 'no', 'send less metadata'],
  unknown_type: [422, 'The ledger has no such type', 'no', 'register the type, or use `generic/1`'],
  not_notarizable: [
    422,
    'Records of this type are gated, not notarized',
    'no',
    'use a type that is not gated',
  ],
  payload_invalid: [
    422,
    'The payload does not match its type',
    'no',
    'correct the payload at `path`: `detail` says what the type requires',
  ],
  evidence_invalid: [
    422,
    'The evidence does not match its type',
    'no',
    'correct the evidence at `path`: `detail` says what the type requires',
  ],
  not_gated: [
    422,
    'Records of this type are notarized, not gated',
    'no',
    'leave out the terms, or use a type with an evidence schema',
  ],
  schema_too_costly: [
    422,
    'Validating the document takes too many steps',
    'no',
    'send a smaller document, or register a simpler schema',
  ],
  invalid_schema: [
    422,
    'The definition of the type is not accepted',
    'no',
    'correct the definition at `path`: `detail` gives the reason',
  ],
  statement_invalid: [
    400,
    'The Signed Statement is not accepted',
    'no',
    '`detail` names the check that failed: docs/formats/registered-statements.md explains it',
  ],
  statement_rejected: [
    400,
    'The registration policy does not allow the statement',
    'no',
    'add the issuer, its key or the content type to the policy: `detail` says which is missing',
  ],
  unknown_agent: [422, 'The ledger has no such agent', 'no', 'register the agent first'],
  envelope_refused: [
    422,
    'The agent’s envelope is not accepted',
    'no',
    'look up the code in `reason` in docs/formats/envelopes.md or docs/formats/statements.md',
  ],
  signing_key_refused: [
    422,
    'The key is not a current signing key of the agent',
    'no',
    'sign with a registered key that was not revoked',
  ],
  statement_mismatch: [
    422,
    'The signed statement differs from the request',
    'no',
    'read the record again, and sign the value that `detail` gives for the member at `path`',
  ],
  signed_time_refused: [
    422,
    'The statement was signed too long ago, or in the future',
    'no',
    'nothing was written: set the clock, and sign a new envelope with a new id',
  ],
  not_signable: [
    422,
    'An agent’s own signature is not accepted here',
    'no',
    'leave `envelope` out: the server signs this entry',
  ],
  agent_signature_required: [
    403,
    'The agent’s own signature is needed',
    'no',
    'sign the entry with a registered key of the agent, and send the envelope',
  ],
  key_proof_refused: [
    422,
    'The proof or the endorsement of the key does not verify',
    'no',
    'sign exactly the text that docs/formats/statements.md gives',
  ],
  agent_disabled: [422, 'The agent is disabled', 'no', 'name an active agent'],
  unknown_peer: [422, 'The ledger has no such peer', 'no', 'name a peering of this ledger'],
  performer_not_shared: [
    422,
    'The record is not shared with the performer’s ledger',
    'no',
    'name the peer of that ledger in `share`, or choose another performer',
  ],
  weak_salt: [
    422,
    'The salt is too weak, because a peer sees the digest',
    'no',
    'leave `salt` out, or send 16 random bytes',
  ],
  not_shareable: [422, 'Only gated records are shared', 'no', 'create a record of a gated type'],
  unknown_parent: [
    422,
    'The ledger has no such parent record',
    'no',
    'name a record of this ledger as the parent',
  ],
  parent_too_deep: [
    422,
    'The parent is too deep in its tree',
    'no',
    'name an ancestor of that record as the parent',
  ],
  scope_not_held: [
    403,
    'A key can grant only its own scopes',
    'no',
    'use a key with all of the scopes that `scopes` names',
  ],
  expiry_not_held: [
    403,
    'A new secret cannot be valid for longer than the secret of the request',
    'no',
    'let the new secret expire at `expiresAt` or before, or send the request with a secret that expires later',
  ],
  invalid_idempotency_key: [
    400,
    'The Idempotency-Key is not valid',
    'no',
    'send 1 to 255 visible ASCII characters, or no `Idempotency-Key` if `detail` says that none is accepted',
  ],
  idempotency_key_reused: [
    422,
    'The Idempotency-Key was used for another request',
    'no',
    'use a new key for a new request',
  ],
  // Errors about the state of a ledger or record
  ledger_frozen: [403, 'The operator has frozen the ledger', 'no', 'ask the operator to unfreeze the ledger'],
  ledger_closed: [
    503,
    'The ledger is closed until the operator acknowledges a restored backup',
    'yes',
    'nothing was written: tell the operator',
  ],
  ledger_moving: [
    503,
    'The ledger is being moved to another deployment',
    'yes',
    'nothing was written: send the request again after `Retry-After`',
  ],
  ledger_moved: [
    421,
    'The ledger is in another deployment',
    'no',
    'nothing was written: send the request to the shared address of the deployments; if this is that address, tell the operator',
  ],
  no_registration_policy: [
    409,
    'The ledger has no registration policy',
    'no',
    'set a policy with PUT /v1/registration-policy: it names the accepted issuers and their keys',
  ],
  policy_changed: [409, 'Another request replaced the registration policy', 'yes', 'send the request again'],
  statement_exists: [409, 'Another request registered the same statement', 'yes', 'send the request again'],
  type_exists: [
    409,
    'A different type has this name and version',
    'no',
    'register the next version: types never change',
  ],
  peer_exists: [409, 'The peering exists already', 'no', 'use that peering, or revoke it first'],
  name_taken: [409, 'The name is taken in this ledger', 'no', 'choose another name'],
  peer_not_active: [
    409,
    'The peering has not begun, or was revoked',
    'no',
    'name a peer whose `state` is active or suspended',
  ],
  offer_pending: [
    409,
    'The record’s home has not decided about an earlier offer yet',
    'yes',
    'wait for the decision: `gated.offer` of the record shows it',
  ],
  not_home: [
    409,
    'The record’s home is another ledger',
    'no',
    'ask an agent of that ledger to take the step',
  ],
  signing_key_exists: [409, 'The ledger has had this signing key before', 'no', 'make a new key'],
  endorsement_needed: [
    409,
    'A further key of the agent needs an endorsement',
    'no',
    'sign the text of the proof with a current key of the agent too, and send this signature as `endorsement`; if the agent has too many keys, revoke unused ones',
  ],
  duplicate_envelope: [
    409,
    'The ledger already has an entry with this id',
    'no',
    'do nothing if you sent the entry twice; otherwise sign the entry again with a new id',
  ],
  already_shared: [409, 'The record is shared with that peer already', 'no', 'do nothing'],
  already_ended: [409, 'The target is already disabled, revoked, erased or lifted', 'no', 'do nothing'],
  held: [
    409,
    'A legal hold prevents the erasure',
    'maybe',
    'ask the people who decide about the cases in `holds`; once those holds are lifted, send the request again',
  ],
  too_many: [
    409,
    'The ledger has reached a limit',
    'no',
    'remove what you no longer need: `detail` gives the limit',
  ],
  checkpoint_pending: [
    409,
    'No checkpoint covers the entry yet',
    'yes',
    'send the request again in a second',
  ],
  not_entitled: [
    403,
    'Only another agent may take this step',
    'no',
    'use a key of the party that `role` names, or a key with the scope `agents:act` on behalf of that agent',
  ],
  version_mismatch: [
    412,
    'The record’s version differs from `If-Match`',
    'no',
    'read the record, then decide again: `version` and `state` of this answer are the current ones',
  ],
  ledger_smaller: [
    412,
    'The ledger has fewer entries than `If-Known-Size` says',
    'no',
    'check that the size belongs to the ledger of your key; if so, the database lost entries: tell the operator',
  ],
  state_conflict: [
    409,
    'The current state does not allow this',
    'maybe',
    'read the current state, then decide; for a record, `nextEvents` lists the allowed steps',
  ],
  deadline_passed: [
    409,
    'The deadline of the record has passed',
    'no',
    'create another record with a later deadline',
  ],
  // Errors of the server
  overloaded: [503, 'The server is overloaded', 'yes', 'wait for `Retry-After`: nothing was done'],
  unavailable: [
    503,
    'The database is not available at the moment',
    'yes',
    'wait for `Retry-After`: nothing was written',
  ],
  archive_unavailable: [
    503,
    'The archive that stores the content is not available at the moment',
    'yes',
    'wait for `Retry-After`, and tell the operator if the error persists; content in Postgres is still served',
  ],
  clock_skew: [
    503,
    'The clocks of the server and the database differ too much',
    'yes',
    'nothing was written: tell the operator to synchronize the clocks',
  ],
  outcome_unknown: [
    503,
    'The connection to the database was lost before it answered',
    'maybe',
    'send the request again with the same `Idempotency-Key`; without a key, first check whether the request was written',
  ],
  integrity_fault: [
    500,
    'The database differs from what was signed',
    'no',
    'nothing was written: tell the operator the `requestId`, and do not rely on the record until the operator has checked the ledger',
  ],
  internal_error: [500, 'The server has an internal fault', 'no', 'tell the operator the `requestId`'],
} as const satisfies Record<string, readonly [status: number, title: string, retry: Retry, advice: string]>

export type ErrorCode = keyof typeof ERROR_CODES

/** The error that routes throw. Clients see `detail`, so it must not contain secrets. */
export class ApiError extends StacklessError {
  readonly code: ErrorCode
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
      cause?: Error
    } = {},
  ) {
    super(detail, options.cause && { cause: options.cause })
    this.name = 'ApiError'
    this.code = code
    this.retryable = options.retryable ?? false
    this.retryAfterMs = options.retryAfterMs ?? null
    this.members = options.members ?? {}
    // A fault of the server is logged with its stack.
    if (this.status === 500) Error.captureStackTrace(this, ApiError)
  }

  get status(): number {
    return ERROR_CODES[this.code][0]
  }
}
