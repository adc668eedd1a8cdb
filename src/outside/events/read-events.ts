import type { Db } from '../../db/connect/client.ts'
import {
  type EventRow,
  findCheckpointRows,
  findEventRows,
  type LedgerEnds,
  listCheckpoints,
  listEventRows,
} from '../../db/events/read-events.ts'
import type { Uuid } from '../../proof/ids.ts'
import {
  checkpointEvent,
  eventsOfEntry,
  type LedgerEvent,
  type ReadStatement,
  recordTypesOf,
} from './event.ts'
import {
  type EntryEvent,
  EVENTS_OF_KIND,
  type EventKind,
  isEventWanted,
  isTypeWanted,
  kindsOf,
  type WantedEvents,
} from './event-types.ts'
import { EVENTS_SCANNED_MAX, EVENTS_SIFTED_PER_QUERY } from './limits.ts'

/** Position of a reader in a ledger's event stream. */
export type EventPosition = {
  /** Seq of the next entry to read. */
  readonly seq: number
  /** Number of events of that entry that were already delivered. */
  readonly eventsDelivered: number
  /** Size of the last checkpoint that was delivered. */
  readonly checkpoint: number
}

export type EventStep = { readonly event: LedgerEvent; readonly after: EventPosition }

export type EventPage = {
  readonly steps: readonly EventStep[]
  /**
   * Position after everything that was read. It is beyond the last step's `after` if unwanted events followed that
   * step.
   */
  readonly position: EventPosition
  /**
   * True if the next page can be read at once. This is the case if this page is full, or if the ledger's end was not
   * reached and the next event is not gated.
   */
  readonly more: boolean
  /**
   * True if the next event is a settlement at or above the ledger's verified size. That event must not be delivered
   * yet.
   */
  readonly isGated: boolean
}

/**
 * Returns a reader for the statements of these entries. If the reader verifies signatures, the keys that signed the
 * entries are loaded first.
 */
export type StatementReader = (rows: readonly EventRow[]) => Promise<ReadStatement>

export type EventSource = {
  readonly ledgerId: Uuid
  readonly filter: WantedEvents
  readonly entriesUrl: string
  readonly statementsOf: StatementReader
}

/**
 * Reads at most `limit` events after a position, in order. At most EVENTS_SCANNED_MAX unwanted entries are skipped.
 * `ends`: the ledger's size, verified size and last checkpoint. No event beyond `ends` is read.
 *
 * A receiver of a settlement moves money. So if a settlement is at or above the verified size, neither the settlement
 * nor any later event is returned. A checkpoint is returned after the entries that it covers. If these entries were
 * delivered before the checkpoint was published, the checkpoint comes next.
 */
export async function readEvents(
  db: Db,
  source: EventSource,
  from: EventPosition,
  ends: LedgerEnds,
  limit: number,
): Promise<EventPage> {
  const read = await readEntrySteps(db, source, from, ends, limit)
  const { steps, position } = areCheckpointsWanted(source.filter)
    ? await mixCheckpoints(db, source.ledgerId, { ...read, from, limit })
    : passCheckpoints(read, from, ends)
  const isFull = steps.length >= limit
  const page = steps.slice(0, limit)
  const reached = isFull ? page.at(-1)!.after : position
  const isGated = !isFull && read.isGated
  return { steps: page, position: reached, more: isFull || (reached.seq < ends.size && !isGated), isGated }
}

/** Returns true if checkpoints are wanted. A filter by agent excludes checkpoints, because they have no record. */
function areCheckpointsWanted({ events, ownAgent }: WantedEvents): boolean {
  return ownAgent === undefined && isEventWanted('checkpoint.published', events)
}

/**
 * Result of reading entries. All entries below `end` were read. `eventsDelivered`: number of events of the entry at
 * `end` that were already delivered.
 */
type ReadEntries = {
  readonly steps: EventStep[]
  readonly end: number
  readonly eventsDelivered: number
  readonly isGated: boolean
}

async function readEntrySteps(
  db: Db,
  source: EventSource,
  from: EventPosition,
  { size, verifiedSize }: LedgerEnds,
  limit: number,
): Promise<ReadEntries> {
  const { ledgerId, filter } = source
  const kinds = kindsOf(filter)
  const upToSeq = (end: number): ReadEntries => ({ steps, end, eventsDelivered: 0, isGated: false })
  const steps: EventStep[] = []
  if (kinds.length === 0 || size <= from.seq) return upToSeq(Math.max(size, from.seq))
  const scanned = Math.min(size, from.seq + EVENTS_SCANNED_MAX)
  const isSifted = filter.types !== null || filter.ownAgent !== undefined
  const rowsMax = isSifted ? Math.max(limit, EVENTS_SIFTED_PER_QUERY) : limit
  const ownAgent = filter.ownAgent ?? null
  // Skips unwanted entries before verification, so that they cost no signature check.
  const isWanted = (row: Parameters<typeof recordTypesOf>[0]) =>
    isTypeWanted(recordTypesOf(row), filter.types)
  const about = { from: from.seq, end: scanned, kinds, limit: rowsMax, wantedMax: limit, ownAgent, isWanted }
  const { rows, upTo } = await listEventRows(db, ledgerId, about)
  const readStatement = await source.statementsOf(rows)
  for (const row of rows) {
    const seq = row.seq
    const all: readonly EntryEvent[] = EVENTS_OF_KIND[row.kind as EventKind]
    const eventsDelivered = seq === from.seq ? from.eventsDelivered : 0
    const eventTypes = all.slice(eventsDelivered).filter((type) => isEventWanted(type, filter.events))
    for (const event of eventsOfEntry(row, eventTypes, { ...source, readStatement })) {
      const eventsPassed = all.indexOf(event.type as EntryEvent) + 1
      if (isGated(event, verifiedSize))
        return { steps, end: seq, eventsDelivered: eventsPassed - 1, isGated: true }
      const isLast = eventsPassed === all.length
      const { checkpoint } = from
      const after = isLast
        ? { seq: seq + 1, eventsDelivered: 0, checkpoint }
        : { seq, eventsDelivered: eventsPassed, checkpoint }
      steps.push({ event, after })
    }
    if (steps.length >= limit) return upToSeq(seq + 1)
  }
  return upToSeq(upTo)
}

/** Returns true if the event is a settlement at or above the verified size `floor`. */
function isGated({ type, seq }: EventName, floor: number): boolean {
  return type === 'signal.emitted' && seq >= floor
}

function passCheckpoints(
  { steps, end, eventsDelivered }: ReadEntries,
  from: EventPosition,
  ends: LedgerEnds,
): { steps: EventStep[]; position: EventPosition } {
  const passed = (size: number) => Math.max(from.checkpoint, Math.min(ends.checkpoint, size))
  return {
    steps: steps.map(({ event, after }) => ({
      event,
      after: { ...after, checkpoint: passed(event.seq) },
    })),
    position: { seq: end, eventsDelivered, checkpoint: passed(end) },
  }
}

/** Puts each checkpoint behind the entries that it covers. */
async function mixCheckpoints(
  db: Db,
  ledgerId: Uuid,
  { steps, from, end, eventsDelivered, limit }: ReadEntries & { from: EventPosition; limit: number },
): Promise<{ steps: EventStep[]; position: EventPosition }> {
  const rows = await listCheckpoints(db, ledgerId, { after: from.checkpoint, upTo: end, limit })
  const mixed: EventStep[] = []
  let { checkpoint } = from
  let at = { seq: from.seq, eventsDelivered: from.eventsDelivered }
  let next = 0
  for (const row of rows) {
    const size = row.size
    for (; next < steps.length && steps[next]!.event.seq < size; next++) {
      const { event, after } = steps[next]!
      at = { seq: after.seq, eventsDelivered: after.eventsDelivered }
      mixed.push({ event, after: { ...at, checkpoint } })
    }
    // The entries between the last event and the checkpoint were unwanted, so the position moves past them.
    if (size > at.seq) at = { seq: size, eventsDelivered: 0 }
    checkpoint = size
    mixed.push({ event: checkpointEvent(ledgerId, row), after: { ...at, checkpoint } })
  }
  // This adds the events after the last checkpoint of the page. If the page has no room for all checkpoints, it has no
  // room for these events either.
  for (const { event, after } of steps.slice(next))
    mixed.push({ event, after: { seq: after.seq, eventsDelivered: after.eventsDelivered, checkpoint } })
  return { steps: mixed, position: { seq: end, eventsDelivered, checkpoint } }
}

type EventName = { readonly seq: number; readonly type: string }

/**
 * Returns the events in the order of `names`. An item is null if the event does not exist. It is `unread` if the entry
 * is in the archive, but the archive did not return it.
 */
export async function findEvents(
  db: Db,
  source: EventSource,
  names: readonly EventName[],
): Promise<(LedgerEvent | 'unread' | null)[]> {
  const isCheckpoint = ({ type }: EventName) => type === 'checkpoint.published'
  const seqs = [...new Set(names.filter((name) => !isCheckpoint(name)).map(({ seq }) => seq))]
  const sizes = names.filter(isCheckpoint).map(({ seq }) => seq + 1)
  const { rows, unread } = await findEventRows(db, source.ledgerId, seqs)
  const checkpoints = sizes.length === 0 ? [] : await findCheckpointRows(db, source.ledgerId, sizes)
  const readStatement = await source.statementsOf(rows)
  const found = new Map<string, LedgerEvent>()
  for (const row of rows) {
    const eventTypes = EVENTS_OF_KIND[row.kind as EventKind] ?? []
    for (const event of eventsOfEntry(row, eventTypes, { ...source, readStatement }))
      found.set(keyOf(event), event)
  }
  for (const row of checkpoints) {
    const event = checkpointEvent(source.ledgerId, row)
    found.set(keyOf(event), event)
  }
  return names.map((name) => {
    if (!isCheckpoint(name) && unread.has(name.seq)) return 'unread'
    return found.get(keyOf(name)) ?? null
  })
}

function keyOf({ seq, type }: EventName): string {
  return `${seq} ${type}`
}
