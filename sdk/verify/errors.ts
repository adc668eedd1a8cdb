import { ProofError, type ProofErrorCode } from '../../src/proof/error.ts'
import { TallystickError } from '../errors.ts'

/** Closed: codes are added, never renamed. */
export type VerificationErrorCode =
  | ProofErrorCode
  // events of a ledger
  /** Not an event as docs/receiving-webhooks.md has it. */
  | 'event_syntax'
  /** Members of an event beside its envelope contradict the envelope. */
  | 'event_contradicts_envelope'
  /** The envelope is of no verdict. */
  | 'signal_absent'
  /** A settlement signal that nobody may act upon any more. */
  | 'signal_expired'

/** Something that should have been proved was not. */
export class VerificationError extends TallystickError {
  readonly code: VerificationErrorCode
  /** Finding, for people; may quote the input. */
  readonly detail: string
  /** The first entry of an export that was refused; null where the finding is about the whole, or about one thing only. */
  readonly seq: number | null

  constructor(code: VerificationErrorCode, detail: string, seq: number | null = null) {
    super(seq === null ? `${code}: ${detail}` : `entry ${seq}: ${code}: ${detail}`)
    // Verifiers are bundled for browsers, where classes lose their names.
    this.name = 'VerificationError'
    this.code = code
    this.detail = detail
    this.seq = seq
  }
}

/** Runs `verify` and translates what it throws; `seqNow`: where in a ledger it is. */
export async function refusing<T>(
  verify: () => T | Promise<T>,
  seqNow: () => number | null = () => null,
): Promise<T> {
  try {
    return await verify()
  } catch (error) {
    if (error instanceof ProofError) throw new VerificationError(error.code, error.detail, seqNow())
    throw error
  }
}
