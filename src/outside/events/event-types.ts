import type { Uuid } from '../../proof/ids.ts'
import { columnOf } from '../../proof/statement/kinds.ts'

/**
 * Maps each kind of entry to its events, in order. The map is the column `events` of the table of kinds
 * (src/proof/statement/kinds). Entries of a kind without events are internal to the ledger.
 *
 * A new event also needs:
 *
 * - its data in EVENT_DATA (src/http/schemas/events.ts)
 * - its members in `entryMembers` (event.ts), if its data differ from the data of a record's events
 * - its record in ABOUT (src/db/events/read-events.ts), if it has a record and its entry has no version
 * - its text on the command line: `whatOf` (cli/event-text.ts)
 * - its row in docs/guides/webhooks.md, under "Events"
 * - `npm run docs`, which generates the SDK's types again
 * - for the tests, a way to make it happen: `letEventsHappen` (test/helpers/event-ledger.ts)
 *
 * Everything else follows from this table: pages, streams, cursors, webhooks, subscriptions, filters, /openapi.json.
 * The compiler and test/outside/events/every-event.test.ts find what is missing.
 *
 * Users see the order of the table: in the OpenAPI document, in the SDK's types and in an error's list of names. A
 * cursor counts the events of one entry. If a kind already has an event, a new event must therefore come after it. For
 * a third event of one kind, raise the count of `eventsCursor`.
 */
export const EVENTS_OF_KIND = columnOf('events')

export type EventKind = keyof typeof EVENTS_OF_KIND
export type EntryEvent = (typeof EVENTS_OF_KIND)[EventKind][number]
export type EventType = EntryEvent | 'checkpoint.published'

export const ENTRY_EVENTS: readonly EntryEvent[] = [...new Set(Object.values(EVENTS_OF_KIND).flat())]

export const EVENT_TYPES: readonly EventType[] = [...ENTRY_EVENTS, 'checkpoint.published']

/** Event types that only endpoints receive: a notice about another endpoint, or a test of the endpoint itself. */
export const NOTICE_TYPES = ['webhook.paused', 'webhook.test'] as const
export type NoticeType = (typeof NOTICE_TYPES)[number]

export type WantedEvents = {
  readonly events: ReadonlySet<string> | null
  /**
   * Wanted record types. Each item is `name/version`, or a `name` that stands for all its versions. null if all types
   * are wanted. An event without a record passes every filter.
   */
  readonly types: ReadonlySet<string> | null
  /**
   * Agent whose events are wanted: the events of records that name the agent, and of batches that the agent sent.
   * Absent if the events of all agents are wanted.
   */
  readonly ownAgent?: Uuid
}

export const ALL_EVENTS: WantedEvents = { events: null, types: null }

/** Returns the kinds of entries that have at least one wanted event. */
export function kindsOf({ events }: WantedEvents): EventKind[] {
  const kinds = Object.keys(EVENTS_OF_KIND) as EventKind[]
  return kinds.filter((kind) => EVENTS_OF_KIND[kind].some((event) => isEventWanted(event, events)))
}

export function isEventWanted(event: string, events: WantedEvents['events']): boolean {
  return events === null || events.has(event)
}

/**
 * Returns true if `types` contains one of the record types, or if the event has no record. `recordTypes`: types of the
 * record, or of a batch's records; empty if the event has no record.
 */
export function isTypeWanted(recordTypes: readonly string[], types: WantedEvents['types']): boolean {
  if (types === null || recordTypes.length === 0) return true
  return recordTypes.some((type) => types.has(type) || types.has(type.slice(0, type.lastIndexOf('/'))))
}
