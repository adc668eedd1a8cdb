import { TallystickError } from '../errors.ts'

/** Codes may be added, but never change. */
export type WebhookVerificationErrorCode =
  /** `webhook-id`, `webhook-timestamp` or `webhook-signature` is missing. */
  | 'header_missing'
  /** One of these headers occurs twice, or has a wrong format. */
  | 'header_invalid'
  /** The webhook is older than the tolerance: a replay, or this machine's clock is wrong. */
  | 'timestamp_too_old'
  /** The webhook's time is in the future, by more than the tolerance. */
  | 'timestamp_in_future'
  /** A required kind of signature is missing: `v1` for a secret, `v1a` for a public key. */
  | 'signature_missing'
  /** No signature is valid. */
  | 'signature_mismatch'
  /** The body is signed, but is no event: not JSON, or members are missing. */
  | 'body_invalid'

/**
 * The request is not what the ledger sent. Answer 400, and do nothing. The message contains no secret and nothing of
 * the body.
 */
export class WebhookVerificationError extends TallystickError {
  readonly code: WebhookVerificationErrorCode

  constructor(code: WebhookVerificationErrorCode, detail: string) {
    super(`${code}: ${detail}`)
    // Bundlers for edge workers rename classes.
    this.name = 'WebhookVerificationError'
    this.code = code
  }
}
