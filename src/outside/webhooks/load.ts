import type { Db } from '../../db/connect/client.ts'
import { boundArchive } from '../../db/events/archive-limits.ts'
import { type LedgerEnds, readEventDocuments } from '../../db/events/read-events.ts'
import type { Endpoint } from '../../db/events/webhook-leases.ts'
import { listDueDeliveries, readStored } from '../../db/events/webhook-work.ts'
import type { Uuid } from '../../proof/ids.ts'
import { documentsJson } from '../../records/read/export.ts'
import type { EnvelopeKeys } from '../../signing/envelope-keys.ts'
import type { LedgerEvent } from '../events/event.ts'
import type { WantedEvents } from '../events/event-types.ts'
import { type EventPosition, type EventSource, findEvents, readEvents } from '../events/read-events.ts'
import { verifiedStatements } from '../events/statements.ts'
import { type Delivery, idOf, newDelivery, rowOf, storedDelivery, taskOf } from './delivery.ts'
import {
  WEBHOOK_EVENTS_PER_DOCUMENTED_EVENT,
  WEBHOOK_EVENTS_PER_LOAD,
  WEBHOOK_EVENTS_PER_LOAD_MIN,
  WEBHOOK_EVENTS_WITH_DOCUMENTS_PER_LOAD,
} from './limits.ts'
import type { Task } from './window.ts'

/**
 * Reads and verifies deliveries of an endpoint for its lease.
 *
 * Events that the archive does not return in time wait for a later lease. `due` returns their deliveries with the body
 * null. `next` and `recovery` throw ApiError `archive_unavailable`.
 */
export class DeliveryLoader {
  readonly #db: Db
  readonly #endpoint: Endpoint
  readonly #source: EventSource
  readonly #shareOf: () => number

  /** `shareOf` returns the number of events that the endpoint may have in memory. */
  constructor(
    deps: { pool: Db; envelopeKeys: EnvelopeKeys; entriesUrl: string },
    endpoint: Endpoint,
    shareOf: () => number,
  ) {
    this.#db = boundArchive(deps.pool)
    this.#endpoint = endpoint
    this.#source = {
      ledgerId: endpoint.ledgerId,
      filter: filterOf(endpoint),
      entriesUrl: deps.entriesUrl,
      statementsOf: verifiedStatements(endpoint.ledgerId, deps.envelopeKeys),
    }
    this.#shareOf = shareOf
  }

  /**
   * Reads due deliveries. `full`: true if there may be more. `isGated`: true if some due deliveries are settlements
   * that wait for the ledger's verified size.
   */
  async due(
    inHand: readonly Uuid[],
    { verifiedSize }: LedgerEnds,
  ): Promise<{ tasks: Task<Delivery>[]; full: boolean; isGated: boolean }> {
    const limit = this.perLoad
    const about = { inHand, verifiedSize, limit }
    const { due: stored, isGated: isHeld } = await listDueDeliveries(this.#db, this.#endpoint, about)
    const named = stored
      .filter(({ seq }) => seq !== null)
      .map(({ seq, event }) => ({ seq: seq!, type: event }))
    const events = (await findEvents(this.#db, this.#source, named)).values()
    const found = stored.map((one) => ({
      stored: one,
      event: one.seq === null ? null : events.next().value!,
    }))
    const documents = await this.#documents(
      found.flatMap(({ event }) => (event === null || event === 'unread' ? [] : event)),
    )
    const tasks = found.map(({ stored, event }) =>
      taskOf(storedDelivery(this.#endpoint, stored, event, documents.get(stored.seq ?? -1) ?? null), null),
    )
    return { tasks, full: stored.length === limit, isGated: isHeld }
  }

  /** Reads the next events of the ledger's stream. Leaves out events that already have a stored delivery. */
  async next(from: EventPosition, ends: LedgerEnds) {
    const page = await readEvents(this.#db, this.#source, from, ends, this.perLoad)
    const ids = page.steps.map(({ event }) => idOf(this.#endpoint, event))
    const records = page.steps.flatMap(({ event }) => event.recordId ?? [])
    const { states, openRecords } =
      ids.length === 0
        ? { states: new Map(), openRecords: new Set<string>() }
        : await readStored(this.#db, this.#endpoint, ids, records)
    const documents = await this.#documents(page.steps.map(({ event }) => event))
    const fresh = page.steps.filter((_, i) => !states.has(ids[i]!))
    const tasks = fresh.map(({ event, after }) =>
      taskOf(newDelivery(this.#endpoint, event, documents.get(event.seq) ?? null), after),
    )
    return { tasks, openRecords, position: page.position, more: page.more, isGated: page.isGated }
  }

  /**
   * Reads events that are to be delivered again, beginning with entry `from`.
   *
   * - `fresh`: deliveries to store, for events that have none yet.
   * - `again`: events whose delivery is dead. With `delivered: true`, also events whose delivery is delivered.
   * - `from`: entry with which the next call continues. null if no events are left.
   */
  async recovery({ from, end, delivered }: NonNullable<Endpoint['recover']>) {
    const start = { seq: from, eventsDelivered: 0, checkpoint: Number.MAX_SAFE_INTEGER }
    // The verified size does not matter here, because this read only stores deliveries. Later `due` decides what is
    // sent.
    const ends = { size: end, checkpoint: 0, verifiedSize: Number.MAX_SAFE_INTEGER }
    const page = await readEvents(this.#db, this.#source, start, ends, this.perLoad)
    const ids = page.steps.map(({ event }) => idOf(this.#endpoint, event))
    const { states } = await readStored(this.#db, this.#endpoint, ids, [])
    const stateOf = (i: number) => states.get(ids[i]!)
    const fresh = page.steps.filter((_, i) => stateOf(i) === undefined)
    const again = page.steps.flatMap(({ event }, i) => {
      const isAgain = stateOf(i) === 'dead' || (delivered && stateOf(i) === 'delivered')
      return isAgain ? [{ eventId: ids[i]!, recordId: event.recordId }] : []
    })
    // If an entry has two events, the second event may be on the next page. That page then begins with the first event
    // again.
    const { seq } = page.position
    return {
      fresh: fresh.map(({ event }) => {
        const delivery = newDelivery(this.#endpoint, event, null)
        return event.recordId === null ? rowOf(delivery, 'pending', 0) : rowOf(delivery, 'held', null)
      }),
      again,
      from: seq >= end ? null : seq,
    }
  }

  /** Number of events per read. The endpoint's share of memory limits this number. */
  get perLoad(): number {
    const [most, share] = this.#wantsDocuments
      ? [WEBHOOK_EVENTS_WITH_DOCUMENTS_PER_LOAD, this.#shareOf() / WEBHOOK_EVENTS_PER_DOCUMENTED_EVENT]
      : [WEBHOOK_EVENTS_PER_LOAD, this.#shareOf()]
    return Math.floor(Math.max(WEBHOOK_EVENTS_PER_LOAD_MIN, Math.min(most, share)))
  }

  get #wantsDocuments(): boolean {
    return this.#endpoint.include.includes('documents')
  }

  /**
   * Maps the seq of an event to its documents as JSON. Returns an empty map if the endpoint does not include documents.
   */
  async #documents(events: readonly LedgerEvent[]): Promise<ReadonlyMap<number, string>> {
    if (!this.#wantsDocuments) return new Map()
    const seqs = [...new Set(events.filter(({ envelope }) => envelope !== null).map(({ seq }) => seq))]
    const read =
      seqs.length === 0 ? new Map() : await readEventDocuments(this.#db, this.#endpoint.ledgerId, seqs)
    return new Map([...read].map(([seq, beside]) => [seq, documentsJson(beside, 'all')]))
  }
}

function filterOf({ events, types }: Endpoint): WantedEvents {
  return {
    events: events.includes('*') ? null : new Set(events),
    types: types.length === 0 ? null : new Set(types),
  }
}
