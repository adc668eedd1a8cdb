/*
 * Verifies and reads webhooks of a ledger. `@tallystick/sdk/webhooks` contains this without the client. For a
 * settlement signal use `verify.signal` of `@tallystick/sdk/verify`.
 */
export { WebhookVerificationError, type WebhookVerificationErrorCode } from './errors.ts'
export type { VerifiedWebhook, WebhookEventType } from './events.ts'
export type { WebhookHeaders } from './headers.ts'
export { verify, type WebhookOptions } from './verify.ts'
