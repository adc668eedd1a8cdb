import type { Endpoint } from '../../db/events/webhook-leases.ts'
import type { Attempt, StoredDelivery, WrittenDelivery } from '../../db/events/webhook-work.ts'
import type { Uuid } from '../../proof/ids.ts'
import { envelopeMember, type LedgerEvent, renderEvent } from '../events/event.ts'
import { eventId } from '../events/event-id.ts'
import { EVENTS_OF_KIND } from '../events/event-types.ts'
import type { EventStep } from '../events/read-events.ts'
import { WEBHOOK_ATTEMPTS_LOGGED_MAX } from './limits.ts'
import { noticeBody } from './notices.ts'
import type { Task } from './window.ts'

export type Delivery = StoredDelivery & {
  /** Time of the event in ms. null if the delivery is a notice. */
  readonly happenedAtMs: number | null
  /** Traceparent of the request that caused the event. null if that request had no traceparent. */
  readonly traceparent: string | null
  /**
   * The body as JSON. `error` if the stored data are missing or differ from the signed data. null if the entry is in
   * the archive, but the archive did not return it.
   */
  readonly body: string | { readonly error: string } | null
}

/**
 * Makes the delivery of an event. `documents`: the entry's documents as JSON. null if the endpoint does not include
 * documents, or if the entry has none.
 */
export function newDelivery(endpoint: Endpoint, event: LedgerEvent, documents: string | null): Delivery {
  return {
    eventId: idOf(endpoint, event),
    event: event.type,
    seq: event.seq,
    index: PLACES.get(event.type) ?? 0,
    recordId: event.recordId,
    notice: null,
    tries: 0,
    attempts: 0,
    attemptLog: [],
    happenedAtMs: event.timestampMs,
    traceparent: event.traceparent,
    body: bodyOf(endpoint, event, documents),
  }
}

/**
 * Makes a delivery from its row. `event`: null for a notice, and for an event that no longer exists. `unread` if the
 * archive did not return the event's entry.
 */
export function storedDelivery(
  endpoint: Endpoint,
  stored: StoredDelivery,
  event: LedgerEvent | 'unread' | null,
  documents: string | null,
): Delivery {
  if (event === 'unread') return { ...stored, happenedAtMs: null, traceparent: null, body: null }
  const about = { happenedAtMs: event?.timestampMs ?? null, traceparent: event?.traceparent ?? null }
  if (stored.notice !== null) {
    const notice = noticeBody(endpoint.ledgerId, { ...stored, notice: stored.notice })
    return { ...stored, ...about, body: notice ?? { error: 'integrity_fault' } }
  }
  const body = event ? bodyOf(endpoint, event, documents) : { error: 'event_missing' }
  return { ...stored, ...about, body }
}

/** Returns the webhook-id of an event for this endpoint. */
export function idOf({ ledgerId, webhookId }: Endpoint, { seq, type, timestampMs }: LedgerEvent): Uuid {
  return eventId({ ledgerId, endpoint: webhookId, seq, type, timestampMs })
}

/**
 * Maps an event type to its index among the events of one entry. The first event of an entry has the index 0 and is not
 * in the map.
 */
const PLACES: ReadonlyMap<string, number> = new Map(
  Object.values(EVENTS_OF_KIND).flatMap((types) => types.slice(1).map((type, i) => [type, i + 1] as const)),
)

export function taskOf(delivery: Delivery, after: EventStep['after'] | null): Task<Delivery> {
  const { eventId, recordId } = delivery
  return {
    id: eventId,
    record: recordId,
    after,
    content: delivery,
  }
}

function bodyOf({ include }: Endpoint, event: LedgerEvent, documents: string | null): Delivery['body'] {
  if (event.fault) return { error: 'integrity_fault' }
  // A checkpoint has no document. Its seq is that of the last entry that it covers. So a document found by this seq
  // belongs to the entry, not to the checkpoint.
  const isShown = documents !== null && event.envelope !== null
  const shown = isShown ? `,"documents":${documents}` : ''
  return renderEvent(event, envelopeMember(event, include.includes('envelope')) + shown)
}

/**
 * Returns the delivery after one more attempt. `tries` counts the attempts of the current round of retries, `attempts`
 * counts all.
 */
export function afterAttempt(delivery: Delivery, attempt: Attempt): Delivery {
  return {
    ...delivery,
    tries: delivery.tries + 1,
    attempts: delivery.attempts + 1,
    attemptLog: [...delivery.attemptLog, attempt].slice(-WEBHOOK_ATTEMPTS_LOGGED_MAX),
  }
}

export function rowOf(
  delivery: Delivery,
  state: WrittenDelivery['state'],
  dueInMs: number | null,
): WrittenDelivery {
  const { happenedAtMs: _, traceparent: __, body: ___, ...row } = delivery
  return { ...row, state, dueInMs }
}
