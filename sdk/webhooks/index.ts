/*
 * For anybody who receives the webhooks of a ledger: that one is genuine, and what it says. `@tallystick/sdk/webhooks` is this
 * without the client. What to do with a settlement signal: `verify.signal` of `@tallystick/sdk/verify`.
 */
export { WebhookVerificationError, type WebhookVerificationErrorCode } from './errors.ts'
export type { VerifiedWebhook, WebhookEventType } from './events.ts'
export type { WebhookHeaders } from './headers.ts'
export { verify, type WebhookOptions } from './verify.ts'
