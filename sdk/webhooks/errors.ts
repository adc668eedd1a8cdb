import { TallystickError } from '../errors.ts'

/** Reasons why a webhook was refused. New codes may be added, but existing ones never change. */
export type WebhookVerificationErrorCode =
  /** `webhook-id`, `webhook-timestamp` or `webhook-signature` is missing. */
  | 'header_missing'
  /**
   * One of the headers `webhook-id`, `webhook-timestamp` and `webhook-signature` occurs twice, or has a wrong format.
   */
  | 'header_invalid'
  /** The webhook is older than the tolerance. Somebody replays it, or this machine's clock is wrong. */
  | 'timestamp_too_old'
  /** The webhook's time is in the future, by more than the tolerance. */
  | 'timestamp_in_future'
  /** A required signature is missing: `v1` for a secret, or `v1a` for a public key. */
  | 'signature_missing'
  /** No signature matches. */
  | 'signature_mismatch'
  /** The body is signed, but is not an event: it is not JSON, or members are missing. */
  | 'body_invalid'

/**
 * The request is not a genuine webhook of the ledger. Answer 400, and do nothing else. The message contains no secret
 * and no text of the body.
 */
export class WebhookVerificationError extends TallystickError {
  readonly code: WebhookVerificationErrorCode

  constructor(code: WebhookVerificationErrorCode, detail: string) {
    super(`${code}: ${detail}`)
    // Set explicitly, because bundlers for edge workers rename classes.
    this.name = 'WebhookVerificationError'
    this.code = code
  }
}
