import type { WebhookEvent } from '../generated/api.ts'

export type EventType = WebhookEvent['type']

type DataOf<Type, Event = WebhookEvent> = Event extends { type: infer Types; data: infer Data }
  ? Type extends Types
    ? Data
    : never
  : never

/**
 * The event of a webhook that was verified. `id`: the same for the same event at one endpoint, however often it is sent; `sentAt`:
 * when it was sent this time; `timestamp`: when it was recorded.
 *
 * A server that is newer than this library sends types that are not listed here, `{ type: string; data: unknown }`: let them
 * come to the end of an `if` or a `switch`, and answer 2xx. (They are not part of the type, because TypeScript could then tell none of the
 * listed ones by its `type`.)
 */
export type VerifiedWebhook<Type extends EventType = EventType> = {
  readonly [T in Type]: {
    readonly id: string
    readonly sentAt: Date
    readonly type: T
    readonly timestamp: string
    readonly data: DataOf<T>
  }
}[Type]
