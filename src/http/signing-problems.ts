import type { ErrorCode } from '../errors.ts'

/** Problems of routes that accept an envelope signed by the agent. */
export const SIGNING_PROBLEMS = [
  'envelope_refused',
  'signing_key_refused',
  'statement_mismatch',
  'signed_time_refused',
] as const satisfies readonly ErrorCode[]
