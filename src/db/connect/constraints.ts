import { ApiError, type ErrorCode } from '../../errors.ts'

/**
 * Returns the name of the constraint that a Postgres error names, such as a violated constraint. Returns null if the
 * error names no constraint.
 */
export function constraintOf(error: unknown): string | null {
  const { constraint } = error as { constraint?: unknown }
  return typeof constraint === 'string' ? constraint : null
}

/**
 * Maps the name of a violated constraint to the error that the client gets.
 *
 * Two concurrent requests may both pass the check before the write. The database then accepts one of them, and the
 * other request gets this error.
 */
const REFUSALS: Readonly<Record<string, readonly [ErrorCode, string]>> = {
  agents_ledger_id_name_key: ['name_taken', 'another agent of the ledger has this name'],
  agent_signing_keys_pkey: ['signing_key_exists', 'the ledger already has this key, or had it before'],
  agent_signing_keys_endorsed: [
    'endorsement_needed',
    'the agent has or had a key: a current key of the agent must endorse the new key. An agent can have 8 current keys, and 256 in all',
  ],
  types_pkey: ['type_exists', 'the ledger has a different type with this name and version'],
  erasures_pkey: ['already_ended', 'the document is already erased'],
  erasures_held: ['held', 'a legal hold prevents the erasure'],
  keeping_max: ['too_many', 'a ledger can have 1,024 retention rules, and 1,024 holds in force'],
  holds_records_max: [
    'too_many',
    'the holds in force can name at most 65,536 records of a ledger: hold a type or an agent instead, or lift holds',
  ],
  shared_records_pkey: [
    'already_shared',
    'another request shared the record with that peer at the same time',
  ],
  shared_records_signed: [
    'not_shareable',
    'agents signed entries of this record with their own keys, which peers cannot verify: create another record to share',
  ],
  shared_records_peer: ['peer_not_active', 'the peering was revoked at the same time'],
  entries_end_once: [
    'already_ended',
    'another request disabled, revoked or lifted the target at the same time',
  ],
  peers_pkey: ['peer_exists', 'the ledger has already accepted this invitation'],
  peers_remote: ['peer_exists', 'the ledger already has a peering with that ledger'],
  peers_state: ['peer_not_active', 'another request or the peer changed the peering at the same time'],
  offers_pending: [
    'offer_pending',
    'another step was offered before, and the record’s home has not decided about it yet',
  ],
  statements_ledger_id_leaf_key: ['statement_exists', 'the ledger has already registered this statement'],
  statements_policy: ['policy_changed', 'the registration policy was replaced at the same time'],
  received_entries_once: ['state_conflict', 'another entry with that seq was received before'],
}

/** Constraints whose violation may end a moment later. Their errors are retryable. */
const RETRIED: ReadonlySet<string> = new Set([
  'offers_pending',
  'statements_policy',
  'statements_ledger_id_leaf_key',
])
const RETRYABLE = { retryable: true, retryAfterMs: 1_000 } as const

/** Returns the client error for a violated constraint. Returns any other error unchanged. */
export function explainConstraint(error: unknown): unknown {
  const constraint = constraintOf(error)
  const refusal = constraint === null ? undefined : REFUSALS[constraint]
  if (refusal === undefined) return error
  return new ApiError(...refusal, {
    ...(RETRIED.has(constraint!) && RETRYABLE),
    cause: error as Error,
  })
}

/** Returns the client error of a constraint, for a caller that checks the limit before it writes. */
export function refusalBy(constraint: 'keeping_max' | 'holds_records_max'): ApiError {
  return new ApiError(...REFUSALS[constraint]!)
}

export function translateConstraint(error: unknown): never {
  throw explainConstraint(error)
}
