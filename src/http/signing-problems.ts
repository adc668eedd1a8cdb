import type { ErrorCode } from '../errors.ts'

/** Errors that can occur in a route that accepts an envelope signed by the agent. */
export const SIGNING_PROBLEMS = [
  'envelope_refused',
  'signing_key_refused',
  'statement_mismatch',
  'signed_time_refused',
] as const satisfies readonly ErrorCode[]
