import type { WebhookEvent } from '../generated/api.ts'

export type WebhookEventType = WebhookEvent['type']

type DataOf<Type, Event = WebhookEvent> = Event extends { type: infer Types; data: infer Data }
  ? Type extends Types
    ? Data
    : never
  : never

/**
 * Event of a webhook that was verified. `id` is the same each time that the event is sent to one endpoint. `sentAt` is the time of
 * this request, `timestamp` the time when the event was recorded.
 *
 * A server that is newer than this library may send other types, as `{ type: string; data: unknown }`. Let an unknown type reach
 * the end of your `if` or `switch`, and answer 2xx. (This type leaves them out, because TypeScript could not narrow `type` with them.)
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
