import { mapSearched } from '../../proof/statement/record-members.ts'
import { chunkKey, dayOf, traceIdOf } from '../chunks/chunk-keys.ts'
import type { BatchRecord } from '../chunks/read-chunks.ts'
import type { BatchRow } from './read-records.ts'
import type { RecordFilters, TimeRange } from './search-streams.ts'

/*
 * Search filters for records of batches. A search finds chunks with possible matches by the keys of batch_keys. Then it
 * checks each record of these chunks with all filters.
 */

type BatchFilter<T> = {
  /**
   * Returns the keys of the value. Each matching record is in a chunk with one of these keys. If absent, a matching
   * record may be in any chunk.
   */
  readonly keys?: (value: T) => readonly Buffer[]
  readonly isMet: (value: T, record: BatchRecord, entry: BatchRow) => boolean
}

type BatchFilters = {
  readonly [Name in keyof RecordFilters]-?: BatchFilter<NonNullable<RecordFilters[Name]>>
}

const OF_OTHERS = mapSearched(
  (name): BatchFilter<string> => ({
    keys: (text) => [chunkKey.other(name, text)],
    isMet: (text, { otherMembers }) => otherMembers?.[name] === text,
  }),
)

/** Filters in the same order as FILTERS (search-streams.ts). */
export const BATCH_FILTERS: BatchFilters = {
  reference: {
    keys: (reference) => [chunkKey.reference(reference)],
    isMet: (reference, { references }) =>
      references !== null && (JSON.parse(references.toString()) as string[]).includes(reference),
  },
  ...OF_OTHERS,
  parent: {
    keys: (parent) => [chunkKey.member('parent', parent)],
    isMet: (parent, { parentId }) => parentId === parent,
  },
  traceId: {
    keys: (traceId) => [chunkKey.member('traceparent', traceId)],
    isMet: (traceId, { traceparent }) => traceparent !== null && traceIdOf(traceparent) === traceId,
  },
  onBehalfOf: {
    keys: (agent) => [chunkKey.member('onBehalfOf', agent)],
    isMet: (agent, { onBehalfOf }) => onBehalfOf === agent,
  },
  actor: { keys: (agent) => [chunkKey.actor(agent)], isMet: (agent, _, { actorId }) => actorId === agent },
  performer: { isMet: () => false },
  principal: { isMet: () => false },
  ownAgent: {
    keys: (agent) => [chunkKey.actor(agent), chunkKey.member('onBehalfOf', agent)],
    isMet: (agent, { onBehalfOf }, { actorId }) => actorId === agent || onBehalfOf === agent,
  },
  // This filter has no `keys`. Its keys depend on the days that exist, and search-choice.ts finds these days first.
  occurred: { isMet: (range, { occurredAtMs }) => occurredAtMs !== null && isWithin(occurredAtMs, range) },
  recorded: { isMet: (range, _, { recordedAt }) => isWithin(recordedAt.getTime(), range) },
  type: { keys: (type) => [chunkKey.type(type)], isMet: (type, record) => record.type === type },
  state: { isMet: (state) => state === 'RECORDED' },
}

/** Returns whether a record of a batch can match all filters. Gated records are never in batches. */
export function canBeOfBatch({ performer, principal, state }: RecordFilters): boolean {
  return performer === undefined && principal === undefined && (state === undefined || state === 'RECORDED')
}

/** Returns the keys of the first and of the last day of a range. */
export function dayKeysOf({ fromMs, beforeMs }: TimeRange): readonly [Buffer, Buffer] {
  const first = fromMs === null ? -(2 ** 31) : dayOf(fromMs)
  const last = beforeMs === null ? 2 ** 31 - 1 : dayOf(beforeMs - 1)
  return [chunkKey.member('occurredAt', first), chunkKey.member('occurredAt', last)]
}

function isWithin(ms: number, { fromMs, beforeMs }: TimeRange): boolean {
  return (fromMs === null || ms >= fromMs) && (beforeMs === null || ms < beforeMs)
}
