import { ProofError, type ProofErrorCode } from '../../src/proof/error.ts'
import { TallystickError } from '../errors.ts'

/** Reasons why a verification failed. New codes may be added, but existing ones never change. */
export type VerificationErrorCode =
  | ProofErrorCode
  // The following codes are about events.
  /** The event does not have the form of docs/guides/receiving-webhooks.md. */
  | 'event_syntax'
  /** Members of an event contradict its envelope. */
  | 'event_contradicts_envelope'
  /** The envelope has no signal. */
  | 'signal_absent'
  /** The settlement signal is no longer valid. */
  | 'signal_expired'

/** A verification failed. */
export class VerificationError extends TallystickError {
  readonly code: VerificationErrorCode
  /** Description of the error. It may quote the input. */
  readonly detail: string
  /**
   * Seq of the first refused entry of an export or bundle. null if the error is about the whole file, or about a single
   * object.
   */
  readonly seq: number | null

  constructor(code: VerificationErrorCode, detail: string, seq: number | null = null) {
    super(seq === null ? `${code}: ${detail}` : `entry ${seq}: ${code}: ${detail}`)
    // Set explicitly, because bundlers for browsers rename classes.
    this.name = 'VerificationError'
    this.code = code
    this.detail = detail
    this.seq = seq
  }
}

/**
 * Runs `verify` and converts ProofError to VerificationError. `seqNow` returns the seq of the entry that is being
 * verified.
 */
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
