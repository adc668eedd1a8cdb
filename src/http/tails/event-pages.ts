import type { Db } from '../../db/connect/client.ts'
import type { LedgerEnds } from '../../db/events/read-events.ts'
import { ApiError } from '../../errors.ts'
import { envelopeMember, type LedgerEvent, renderEvent } from '../../outside/events/event.ts'
import { eventId, formatEventId } from '../../outside/events/event-id.ts'
import type { WantedEvents } from '../../outside/events/event-types.ts'
import { type EventPosition, readEvents } from '../../outside/events/read-events.ts'
import { storedStatements } from '../../outside/events/statements.ts'
import type { ProofError } from '../../proof/error.ts'
import type { Uuid } from '../../proof/ids.ts'
import { eventsTag, formatCursor } from '../answers/page.ts'

/** Rendered events in order: at most `limit` events, and only as many as fit into the page. */
export type FittedPage = {
  readonly texts: readonly string[]
  readonly position: EventPosition
  readonly more: boolean
  /** True if the next event must wait until the worker has verified the ledger up to this event. */
  readonly isGated: boolean
  /** True if more events were read than fit into the page. */
  readonly isCut: boolean
  /**
   * Fault of the next event. null if it has no fault. If there is a fault, neither this event nor any later event can
   * be sent.
   */
  readonly fault: ProofError | null
}

type Rendered = { readonly type: string; readonly json: string }

export function formatEventCursor(
  ledgerId: Uuid,
  { seq, eventsDelivered, checkpoint }: EventPosition,
): string {
  return formatCursor(eventsTag(ledgerId), [seq, eventsDelivered, checkpoint])
}

/**
 * Reads the events after a position. `charsMax`: maximum number of characters of all texts together. The first event is
 * always included, even if it is longer.
 */
export async function readFittedPage(
  db: Db,
  source: { readonly ledgerId: Uuid; readonly filter: WantedEvents; readonly entriesUrl: string },
  from: EventPosition,
  ends: LedgerEnds,
  {
    limit,
    charsMax,
    render,
  }: {
    readonly limit: number
    readonly charsMax: number
    readonly render: (event: Rendered, cursor: string) => string
  },
): Promise<FittedPage> {
  const about = { ...source, statementsOf: storedStatements }
  const { steps, position, more, isGated } = await readEvents(db, about, from, ends, limit)
  const part = { isGated: false, more: true }
  const texts: string[] = []
  let reached = from
  let chars = 0
  for (const { event, after } of steps) {
    const { fault } = event
    if (fault !== null) return { ...part, texts, position: reached, isCut: false, fault }
    if (chars >= charsMax) return { ...part, texts, position: reached, isCut: true, fault: null }
    const text = render(
      { type: event.type, json: eventJson(event) },
      formatEventCursor(source.ledgerId, after),
    )
    texts.push(text)
    chars += text.length
    reached = after
  }
  return { texts, position, more, isGated, isCut: false, fault: null }
}

function eventJson(event: LedgerEvent): string {
  return renderEvent(
    event,
    envelopeMember(event, false),
    formatEventId(eventId({ ...event, endpoint: null })),
  )
}

/** Throws ApiError `integrity_fault` if the first event has a fault, so that no event can be sent. */
export function requireReadable({ texts, fault, position }: FittedPage): void {
  if (fault === null || texts.length > 0) return
  throw new ApiError(
    'integrity_fault',
    `the entry at ${position.seq}, or the next one with an event, differs from what was signed`,
    { cause: fault },
  )
}
