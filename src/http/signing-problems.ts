import type { ErrorCode } from '../errors.ts'

/** Problems of each route that takes the envelope of an agent that signs for itself. */
export const SIGNING_PROBLEMS = [
  'envelope_refused',
  'signing_key_refused',
  'statement_mismatch',
  'signed_time_refused',
] as const satisfies readonly ErrorCode[]
