import type { WebhookEvent } from '../generated/api.ts'

export type WebhookEventType = WebhookEvent['type']

type DataOf<Type, Event = WebhookEvent> = Event extends { type: infer Types; data: infer Data }
  ? Type extends Types
    ? Data
    : never
  : never

/**
 * A verified event.
 *
 * - `id`: id of the event. It is the same for each delivery of the event to one endpoint.
 * - `sentAt`: time when this request was sent.
 * - `timestamp`: time when the event was recorded.
 *
 * A server newer than this SDK may send other types, as `{ type: string; data: unknown }`. Let your `if` or `switch`
 * ignore an unknown type, and answer 2xx. This type leaves unknown types out, because TypeScript could not narrow
 * `type` otherwise.
 */
export type VerifiedWebhook<Type extends WebhookEventType = WebhookEventType> = {
  readonly [T in Type]: {
    readonly id: string
    readonly sentAt: Date
    readonly type: T
    readonly timestamp: string
    readonly data: DataOf<T>
  }
}[Type]
