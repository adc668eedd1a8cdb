import type { LedgerEvent } from '../sdk/generated/api.ts'

export const EVENT_FILTER_OPTIONS = { events: { type: 'string' }, types: { type: 'string' } } as const
export const EVENT_FILTER_HELP = `  --events NAMES   only these, separated by commas: verdict.rendered,signal.emitted (docs/reference/events.md)
  --types TYPES    only about records of these types, name or name/version. Events about no record are always shown`

/** Returns the filter for a query. The server checks the names. */
export function eventFilterOf({
  events,
  types,
}: {
  readonly events?: string | undefined
  readonly types?: string | undefined
}) {
  return { events: events?.split(',') as LedgerEvent['type'][] | undefined, types: types?.split(',') }
}

/**
 * Describes the subject of an event in a few words. For an unknown event of a newer server it shows the record, if
 * the event has one.
 */
export function whatOf({ type, data }: LedgerEvent): string {
  switch (type) {
    case 'checkpoint.published':
      return `${data.checkpoint.size} entries`
    case 'batch.recorded':
      return `${data.batch.id} ${data.batch.count} records`
    case 'payload.erased':
      return `${data.record.id} ${data.record.type}`
    case 'entry.received':
      return `${data.peer} ${data.received.kind} ${data.record?.id ?? ''}`.trimEnd()
    case 'statement.registered':
      return `${data.statement.id} ${data.statement.issuer} ${data.statement.subject}`
    case 'signal.emitted':
      return `${data.record.id} ${data.record.type} ${data.signal.decision}`
    case 'record.recorded':
    case 'record.created':
    case 'record.activated':
    case 'completion.submitted':
    case 'completion.verified':
    case 'verdict.rendered':
    case 'verdict.overturned':
    case 'revision.requested':
    case 'record.cancelled':
    case 'record.expired':
      return recordText(data.record)
    default:
      // If an event has no case above, the compiler reports an error here.
      return unknownText(data satisfies never)
  }
}

type RecordMembers = { readonly id?: unknown; readonly type?: unknown; readonly state?: unknown }

function recordText({ id, type, state }: RecordMembers): string {
  return [id, type, state].filter((part) => typeof part === 'string').join(' ')
}

function unknownText(data: { readonly record?: RecordMembers | null } | null | undefined): string {
  return data?.record ? recordText(data.record) : ''
}
