import { FairQueue } from '../load/fair-queue.ts'
import { Counts, restOf } from '../load/shares.ts'
import type { Uuid } from '../proof/ids.ts'
import {
  APPEND_BATCH_BYTES_MAX,
  APPEND_BATCH_ENTRIES_MAX,
  APPEND_BATCH_KEYS_MAX,
  APPEND_BATCH_RECORDS_MAX,
  APPEND_CONNECTIONS,
  APPEND_CONNECTIONS_PER_LEDGER,
  APPEND_GATHER_MS_MAX,
  APPEND_GATHER_RECORDS_MAX,
  APPEND_OVERLAP_RECORDS_MIN,
  APPEND_QUEUE_BYTES_MAX,
  APPEND_QUEUE_ENTRIES_MAX,
  APPEND_QUEUE_RECORDS_MAX,
  APPEND_QUIET_DIVISOR,
  APPEND_WAIT_MS_MAX,
} from './limits.ts'

export type Queued = {
  readonly ledgerId: Uuid
  /** Number of records that the entry makes. 0 if it makes no record. */
  readonly records: number
  /** Number of search keys of the entry's chunks. */
  readonly keys: number
  readonly bytes: number
  /**
   * Maximum number of entries in the batch of this entry. Such a batch has entries of one ledger only, because Postgres
   * may refuse the whole batch when an entry violates a constraint. null if the entry may join any batch.
   */
  readonly ownBatchMax: number | null
}

/** A batch to send, returned by `take`. The caller MUST pass it to `end` when Postgres has answered. */
export type Batch<T> = {
  readonly items: readonly T[]
  readonly ledgers: ReadonlySet<Uuid>
  readonly records: number
  readonly startedAt: number
}

type Size = { entries: number; records: number; bytes: number }

/**
 * Queue of entries that wait for a batch. It decides when a batch is sent.
 *
 * A batch is **open** while entries wait for it, and **in flight** from `take` to `end`. A ledger is *free* if no batch
 * in flight has entries of it, and *busy* if at least one batch has. It is *full* if APPEND_CONNECTIONS_PER_LEDGER
 * batches have entries of it.
 *
 * If a connection is free and entries of free ledgers wait, the open batch is sent in any of these cases:
 *
 * 1. No more requests are coming.
 * 2. Its work is at least half of all work under way, that is: waiting, in flight and coming.
 * 3. Its work is at least APPEND_GATHER_RECORDS_MAX records.
 * 4. APPEND_GATHER_MS_MAX have passed since the open batch got its first entry.
 * 5. The free ledgers have little work compared with the busy ledgers (`#isQuiet`). Without this rule, the few entries
 *    of a quiet ledger would wait until the busy ledgers have enough work.
 *
 * If only entries of busy ledgers wait, the open batch is sent if its work is at least half of all work under way, and
 * at least APPEND_OVERLAP_RECORDS_MIN records. It then waits in Postgres for the lock of the heads, and begins when the
 * previous batch is committed.
 *
 * All other entries wait for the next batch. So two batches alternate under load: one is prepared while the other one
 * commits.
 *
 * Two simpler rules were slower:
 *
 * - A batch waits for all arrived requests. Then all requests merge into one batch. The server prepares while Postgres
 *   waits, and waits while Postgres commits. With 128 connections this reached 8,779 records/s, and a third of the
 *   machine was idle.
 * - A batch never waits. Then it has seven records on average, and a record costs Postgres 84 us instead of 33 us.
 *
 * test/append/overlap.test.ts models both rules.
 *
 * The class is pure: callers pass the time and the number of coming requests.
 */
export class AppendQueue<T extends Queued> {
  readonly #waiting = new FairQueue<T>()
  /** Maps a ledger to the work of its waiting entries, in units of `workOf`. */
  readonly #waitingWork = new Counts()
  readonly #inFlight = new Set<Batch<T>>()
  /** Maps a ledger to the number of batches in flight with entries of this ledger. */
  readonly #flights = new Counts()
  readonly #size: Size = { entries: 0, records: 0, bytes: 0 }
  #inFlightWork = 0
  /** Time at which the open batch got its first entry. */
  #openSince = 0
  /** Moving average of the time between the ends of two batches. It predicts how long entries wait. */
  #batchMs = 1
  #endedAt = 0

  get size(): Readonly<Size> {
    return this.#size
  }

  get hasFreeConnection(): boolean {
    return this.#inFlight.size < APPEND_CONNECTIONS
  }

  /**
   * Number of batches in flight. `oldestAt` is the time at which the oldest of them was taken, or null if there is
   * none.
   */
  get inFlight(): { readonly batches: number; readonly oldestAt: number | null } {
    const [oldest] = this.#inFlight
    return { batches: this.#inFlight.size, oldestAt: oldest?.startedAt ?? null }
  }

  add(item: T, now: number, place: 'first' | 'last' = 'last'): void {
    if (this.#size.entries === 0) this.#openSince = now
    this.#waiting.add(item.ledgerId, item, place)
    this.#count(item, 1)
  }

  /** Returns null if the item may be added. Otherwise returns for how long it would wait, in ms. */
  refusal(item: T, now: number): number | null {
    const batchesAhead = Math.max(
      this.#size.entries / APPEND_BATCH_ENTRIES_MAX,
      this.#size.records / APPEND_BATCH_RECORDS_MAX,
      this.#size.bytes / APPEND_BATCH_BYTES_MAX,
    )
    const waitMs = Math.max(batchesAhead * this.#batchMs, this.#stalledMs(item.ledgerId, now))
    const own = this.#waiting.lengthOf(item.ledgerId)
    const isFull =
      own >= restOf(APPEND_QUEUE_ENTRIES_MAX, this.#size.entries - own) ||
      this.#size.records + item.records > APPEND_QUEUE_RECORDS_MAX ||
      this.#size.bytes + item.bytes > APPEND_QUEUE_BYTES_MAX
    return isFull || waitMs > APPEND_WAIT_MS_MAX ? waitMs : null
  }

  /**
   * Returns the batch to send now, or null. `coming` is the number of requests that were accepted but have not begun.
   * Some of them will append.
   *
   * After each `add` and `end`, and while requests are coming, the caller MUST call this repeatedly until it returns
   * null. The caller MUST pass each batch to `end`.
   */
  take(now: number, coming: number): Batch<T> | null {
    if (!this.hasFreeConnection) return null
    for (let flights = 0; flights < APPEND_CONNECTIONS_PER_LEDGER; flights++) {
      const { work, ledgers } = this.#waitingAt(flights)
      if (work === 0) continue
      const isToSend =
        flights === 0
          ? this.#isDue(work, now, coming) || this.#isQuiet(work, ledgers)
          : this.#isWorthOverlapping(work, coming)
      if (isToSend) return this.#takeAt(flights, now)
      if (flights === 0) return null
    }
    return null
  }

  end(batch: Batch<T>, now: number): void {
    this.#inFlight.delete(batch)
    this.#inFlightWork -= workOfAll(batch.items)
    for (const ledger of batch.ledgers) this.#flights.add(ledger, -1)
    // If the batch overlapped the previous batch, its time counts from the end of the previous batch.
    const ms = now - Math.max(batch.startedAt, this.#endedAt)
    this.#batchMs += (ms - this.#batchMs) / 8
    this.#endedAt = now
  }

  /** Returns the ledgers that have entries in exactly `flights` batches in flight, and the waiting work of these ledgers. */
  #waitingAt(flights: number): { readonly work: number; readonly ledgers: number } {
    if (flights === 0 && this.#flights.owners === 0)
      return { work: this.#waitingWork.total, ledgers: this.#waiting.owners }
    let [work, ledgers] = [0, 0]
    for (const [ledger, items] of this.#waiting.entries()) {
      if (!this.#isAt(flights, ledger, items)) continue
      work += this.#waitingWork.of(ledger)
      ledgers++
    }
    return { work, ledgers }
  }

  #isAt(flights: number, ledger: string, items: readonly T[]): boolean {
    if (this.#flights.of(ledger) !== flights) return false
    // An entry with `ownBatchMax` waits until no batch in flight has entries of its ledger, because the database may
    // refuse the whole batch of such an entry.
    return flights === 0 || items[0]!.ownBatchMax === null
  }

  #isDue(work: number, now: number, coming: number): boolean {
    if (coming === 0 || now - this.#openSince >= APPEND_GATHER_MS_MAX) return true
    return work >= Math.min(APPEND_GATHER_RECORDS_MAX, this.#underWay(coming) / 2)
  }

  /**
   * Returns true if the free ledgers are quiet beside busy ledgers: the mean of their work is at most a quarter
   * (APPEND_QUIET_DIVISOR) of the mean of all ledgers that have work. Equally busy ledgers are never quiet, so their
   * entries still share batches.
   */
  #isQuiet(work: number, ledgers: number): boolean {
    if (this.#flights.owners === 0) return false
    const all = this.#inFlightWork + this.#waitingWork.total
    return work / ledgers <= all / (this.#flights.owners + ledgers) / APPEND_QUIET_DIVISOR
  }

  #isWorthOverlapping(work: number, coming: number): boolean {
    return work >= Math.max(APPEND_OVERLAP_RECORDS_MIN, this.#underWay(coming) / 2)
  }

  #underWay(coming: number): number {
    return this.#inFlightWork + this.#waitingWork.total + coming
  }

  /**
   * Fills a batch from the ledgers that have entries in exactly `flights` batches in flight. Takes entries of these
   * ledgers in turn (round-robin).
   */
  #takeAt(flights: number, now: number): Batch<T> {
    const items: T[] = []
    let [records, keys, bytes] = [0, 0, 0]
    for (const [ledger, waiting] of this.#waiting.entries()) {
      if (!this.#isAt(flights, ledger, waiting)) continue
      const next = waiting[0]!
      if (next.ownBatchMax !== null) {
        if (items.length > 0) continue // The entry needs a batch without other ledgers. Its ledger stays first in the order for the next batch.
        this.#takeOwn(ledger, waiting, items)
        break
      }
      const isFull =
        items.length === APPEND_BATCH_ENTRIES_MAX ||
        records + next.records > APPEND_BATCH_RECORDS_MAX ||
        keys + next.keys > APPEND_BATCH_KEYS_MAX ||
        bytes + next.bytes > APPEND_BATCH_BYTES_MAX
      if (isFull && items.length > 0) break
      items.push(this.#shift(ledger))
      records += next.records
      keys += next.keys
      bytes += next.bytes
    }
    return this.#begin(items, records, now)
  }

  /**
   * Fills a batch with a few entries of one ledger. The database can refuse this batch as a whole, for example because
   * an agent's name is taken. Then the batch is split in halves until the entry at fault is found. When 300 such
   * entries were in one batch, all other callers of the batch waited for a second.
   */
  #takeOwn(ledger: string, waiting: readonly T[], items: T[]): void {
    while (items.length < (waiting[0]?.ownBatchMax ?? 0)) items.push(this.#shift(ledger))
  }

  #begin(items: T[], records: number, now: number): Batch<T> {
    const ledgers = new Set(items.map(({ ledgerId }) => ledgerId))
    for (const ledger of ledgers) this.#flights.add(ledger, 1)
    const batch = { items, ledgers, records, startedAt: now }
    this.#inFlight.add(batch)
    this.#inFlightWork += workOfAll(batch.items)
    this.#openSince = now
    return batch
  }

  #shift(ledger: string): T {
    const item = this.#waiting.take(ledger)
    this.#count(item, -1)
    return item
  }

  /**
   * Returns for how many ms the batch that the ledger waits for has been in flight. Returns 0 if the ledger waits for
   * no batch.
   */
  #stalledMs(ledger: Uuid, now: number): number {
    let youngestAt: number | null = null
    for (const { ledgers, startedAt } of this.#inFlight) {
      if (ledgers.has(ledger)) return now - startedAt // This is the oldest batch of the ledger.
      youngestAt = startedAt
    }
    return this.hasFreeConnection || youngestAt === null ? 0 : now - youngestAt
  }

  #count(item: T, sign: 1 | -1): void {
    this.#waitingWork.add(item.ledgerId, sign * workOf(item))
    this.#size.entries += sign
    this.#size.records += sign * item.records
    this.#size.bytes += sign * item.bytes
  }
}

/**
 * Returns approximately how much work an entry is for Postgres. The unit is an entry with a single record. 16 records
 * of a batch (a quarter of a chunk) cost one unit. Four search keys also cost one unit.
 */
function workOf({ records, keys }: Queued): number {
  return Math.max(1, records / 16, keys / 4)
}

function workOfAll(items: readonly Queued[]): number {
  return items.reduce((sum, item) => sum + workOf(item), 0)
}
