import { TallystickError } from '../errors.ts'

/** Closed: codes are added, never renamed. */
export type WebhookVerificationErrorCode =
  /** `webhook-id`, `webhook-timestamp` or `webhook-signature` is not there. */
  | 'header_missing'
  /** One of them is there twice, or is not of its format. */
  | 'header_invalid'
  /** Sent longer ago than is tolerated: played again, or this machine's clock is wrong. */
  | 'timestamp_too_old'
  /** Sent later than now, by more than is tolerated. */
  | 'timestamp_in_future'
  /** No signature of the kind that must verify: `v1` for a secret, `v1a` for a public key. */
  | 'signature_missing'
  /** Signatures, none of which verifies. */
  | 'signature_mismatch'
  /** Signed, but no event: not JSON, or without its members. */
  | 'body_invalid'

/** The request is not what the ledger sent: answer 400, and do nothing. The message holds no secret and nothing of the body. */
export class WebhookVerificationError extends TallystickError {
  readonly code: WebhookVerificationErrorCode

  constructor(code: WebhookVerificationErrorCode, detail: string) {
    super(`${code}: ${detail}`)
    // Receivers are bundled for edge workers, where classes lose their names.
    this.name = 'WebhookVerificationError'
    this.code = code
  }
}
