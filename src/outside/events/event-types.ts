import type { Uuid } from '../../proof/ids.ts'
import type { EntryKind } from '../../proof/statement/kinds.ts'

/** Events of an entry by its kind, in this order. Kinds that are missing here are the ledger's own affairs. */
export const EVENTS_OF_KIND = {
  'record-notarized': ['record.recorded'],
  'batch-notarized': ['batch.recorded'],
  'record-created': ['record.created'],
  'record-activated': ['record.activated'],
  'completion-submitted': ['completion.submitted'],
  'completion-verified': ['completion.verified'],
  'verdict-rendered': ['verdict.rendered', 'signal.emitted'],
  'verdict-overturned': ['verdict.overturned', 'signal.emitted'],
  'revision-requested': ['revision.requested'],
  'record-cancelled': ['record.cancelled'],
  'record-expired': ['record.expired'],
  'payload-erased': ['payload.erased'],
  'entry-received': ['entry.received'],
  'offer-refused': ['entry.received'],
  'peer-key-rotated': ['entry.received'],
} as const satisfies Partial<Record<EntryKind, readonly string[]>>

export type EventKind = keyof typeof EVENTS_OF_KIND
export type EntryEvent = (typeof EVENTS_OF_KIND)[EventKind][number]
export type EventType = EntryEvent | 'checkpoint.published'

export const ENTRY_EVENTS: readonly EntryEvent[] = [...new Set(Object.values(EVENTS_OF_KIND).flat())]

/** Types in a ledger's stream of events. */
export const EVENT_TYPES: readonly EventType[] = [...ENTRY_EVENTS, 'checkpoint.published']

/** Types that only endpoints hear: about each other, and that they can be reached. */
export const NOTICE_TYPES = ['webhook.paused', 'webhook.test'] as const
export type NoticeType = (typeof NOTICE_TYPES)[number]

/** Which events are wanted. */
export type EventFilter = {
  /** null: all. */
  readonly events: ReadonlySet<string> | null
  /** `name/version`, or a name for all its versions; null: all. What is of no record is of every type. */
  readonly types: ReadonlySet<string> | null
  /** Agent that hears only of records that name it, and of batches that it sent; absent: of all. */
  readonly ownAgent?: Uuid
}

export const ALL_EVENTS: EventFilter = { events: null, types: null }

/** The kinds of entries that have to be looked at. */
export function kindsOf({ events }: EventFilter): EventKind[] {
  const kinds = Object.keys(EVENTS_OF_KIND) as EventKind[]
  return kinds.filter((kind) => EVENTS_OF_KIND[kind].some((event) => isEventWanted(event, events)))
}

export function isEventWanted(event: string, events: EventFilter['events']): boolean {
  return events === null || events.has(event)
}

/** `recordTypes`: of the record, or of a batch's records; none: of no record. */
export function isTypeWanted(recordTypes: readonly string[], types: EventFilter['types']): boolean {
  if (types === null || recordTypes.length === 0) return true
  return recordTypes.some((type) => types.has(type) || types.has(type.slice(0, type.lastIndexOf('/'))))
}
