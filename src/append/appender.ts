import type pg from 'pg'
import type { EntryRow } from '../db/chain/append-entries.ts'
import { type AppendOutcome, commitBatch, type RetryCause } from './commit.ts'
import {
  APPEND_BATCH_ADMINISTRATION_ENTRIES_MAX,
  APPEND_BATCH_BYTES_MAX,
  APPEND_BATCH_ENTRIES_MAX,
  APPEND_BATCH_RECORDS_MAX,
  APPEND_GATHER_ENTRIES_MAX,
  APPEND_GATHER_MS_MAX,
  APPEND_LANES,
  APPEND_QUEUE_BYTES_MAX,
  APPEND_QUEUE_ENTRIES_MAX,
  APPEND_QUEUE_ENTRIES_PER_LEDGER_MAX,
  APPEND_QUEUE_RECORDS_MAX,
  APPEND_WAIT_MS_MAX,
} from './limits.ts'

/** Refused at once, because the queue is full or the wait would be too long: nothing was written. */
export type Overloaded = { readonly status: 'overloaded'; readonly retryAfterMs: number }

/** Hears of what the appender does, for figures; it MUST NOT throw. */
export type AppendObserver = {
  /** An entry was refused at once. */
  overloaded(): void
  /** A call was made again. */
  retried(cause: RetryCause): void
  /** A batch was tried. `ms`: how long that took. */
  committed(batch: {
    readonly entries: readonly EntryRow[]
    readonly outcomes: readonly AppendOutcome[]
    readonly records: number
    readonly ms: number
  }): void
}

/**
 * The one way into the chain.
 *
 * A caller MUST have done all CPU work (validate, build, hash, sign) before: the appender only writes.
 * A caller MUST NOT answer success before the promise settles as `appended` or `replayed`: both mean that the
 * entry is committed and on disk. It MUST NOT retry `unknown` but with the same idempotency key.
 *
 * The appender MUST settle every promise, with exactly one outcome, in the order of the queue per ledger. It
 * MUST refuse at once what it can't commit in time, and MUST NOT drop what it has taken. While one batch
 * commits the next one fills: load makes batches larger, and an idle server adds no delay.
 *
 * What survives a crash here: only what was committed. A taken entry that was not is lost with the process,
 * and its client never got an answer.
 */
export class Appender {
  /** Entries waiting for the next batch, by ledger, so that a deep ledger can't delay a shallow one. */
  readonly #queues = new Map<string, Waiting[]>()
  readonly #pool: pg.Pool
  readonly #observer: AppendObserver | null
  readonly #isMoreComing: () => boolean
  #queued = { entries: 0, records: 0, bytes: 0 }
  /** A moving average, for predicting waits. */
  #batchMs = 1
  /**
   * Each lane has one batch in flight, of ledgers that no other lane holds: two writers on a ledger would halve the batch
   * and gain nothing, but a ledger whose head somebody else has locked must not keep all others waiting. (Beside a
   * ledger at full load the median of a quiet one went from 15 to 10 ms; its p99 did not move beyond the noise.)
   * null: nothing to do.
   */
  readonly #lanes: (Promise<void> | null)[] = Array.from({ length: APPEND_LANES }, () => null)
  /** Ledgers of the batches in flight, and since when. */
  readonly #inFlight = new Map<string, number>()
  #closed = false

  /** `isMoreComing`: whether requests have arrived that may append soon. */
  constructor(
    pool: pg.Pool,
    observer: AppendObserver | null = null,
    isMoreComing: () => boolean = () => false,
  ) {
    this.#pool = pool
    this.#observer = observer
    this.#isMoreComing = isMoreComing
  }

  append(entry: EntryRow): Promise<AppendOutcome | Overloaded> {
    if (this.#closed) {
      return Promise.resolve({ status: 'unavailable', error: new Error('the server is shutting down') })
    }
    const ledger = entry.ledgerId
    const overloaded = this.#findOverload(ledger, entry)
    if (overloaded) {
      this.#observer?.overloaded()
      return Promise.resolve(overloaded)
    }
    const { promise, resolve } = Promise.withResolvers<AppendOutcome>()
    this.#enqueue({ ledger, entry, settle: resolve })
    const lane = this.#inFlight.has(ledger) ? -1 : this.#lanes.indexOf(null)
    if (lane >= 0) this.#lanes[lane] = this.#write(lane)
    return promise
  }

  /** Entries, records and bytes that wait for a batch. */
  get queued(): { readonly entries: number; readonly records: number; readonly bytes: number } {
    return this.#queued
  }

  /** Batches in flight; `oldestMs`: for how long the oldest of them has been, 0 where there is none. */
  get underWay(): { readonly batches: number; readonly oldestMs: number } {
    const batches = this.#lanes.filter((lane) => lane !== null).length
    const oldest = Math.min(...this.#inFlight.values())
    return { batches, oldestMs: Number.isFinite(oldest) ? performance.now() - oldest : 0 }
  }

  /** Takes nothing more, and returns when everything taken has been committed or refused. */
  async close(): Promise<void> {
    this.#closed = true
    await Promise.all(this.#lanes)
  }

  async #write(lane: number): Promise<void> {
    // Let the requests that arrived in the same turn of the event loop join the first batch.
    await new Promise(setImmediate)
    for (;;) {
      await this.#gather()
      const batch = this.#takeBatch()
      if (batch.length === 0) break
      const ledgers = new Set(batch.map((waiting) => waiting.ledger))
      const startedAt = performance.now()
      for (const ledger of ledgers) this.#inFlight.set(ledger, startedAt)
      const entries = batch.map((waiting) => waiting.entry)
      const outcomes = await commitBatch(this.#pool, entries, this.#observer)
      const ms = performance.now() - startedAt
      this.#batchMs += (ms - this.#batchMs) / 8
      if (this.#observer) {
        const records = batch.reduce((sum, { entry }) => sum + entry.records.length, 0)
        this.#observer.committed({ entries, outcomes, records, ms })
      }
      for (const ledger of ledgers) this.#inFlight.delete(ledger)
      this.#settle(batch, outcomes)
    }
    this.#lanes[lane] = null
  }

  /** Under load lets those join that have arrived and did not begin yet: a transaction costs as much as ten of its entries. */
  async #gather(): Promise<void> {
    const until = performance.now() + APPEND_GATHER_MS_MAX
    const isSmall = () => this.#queued.entries > 0 && this.#queued.entries < APPEND_GATHER_ENTRIES_MAX
    while (this.#isMoreComing() && isSmall() && performance.now() < until) await new Promise(setImmediate)
  }

  /** One entry in turn of each ledger that waits and is in no other lane, until the batch is full. */
  #takeBatch(): Waiting[] {
    const batch: Waiting[] = []
    let records = 0
    let bytes = 0
    // A ledger that is put back behind the others is visited again by the same iteration.
    for (const [ledger, queue] of this.#queues) {
      if (this.#inFlight.has(ledger)) continue
      const { entry } = queue[0]!
      if (isAdministrative(entry)) {
        if (batch.length > 0) continue // its ledger stays first in line
        return this.#takeAdministration(ledger, queue)
      }
      const full =
        batch.length === APPEND_BATCH_ENTRIES_MAX || records + entry.records.length > APPEND_BATCH_RECORDS_MAX
      if ((full || bytes + bytesOf(entry) > APPEND_BATCH_BYTES_MAX) && batch.length > 0) break
      batch.push(queue.shift()!)
      records += entry.records.length
      bytes += bytesOf(entry)
      this.#count(entry, -1)
      this.#queues.delete(ledger)
      if (queue.length > 0) this.#queues.set(ledger, queue)
    }
    return batch
  }

  /**
   * Takes administrative entries with those of their own ledger only, and few at a time. The database can refuse such a batch
   * as a whole, for example because an agent's name is taken; halving then finds the guilty entry, and 300 of them in one
   * batch held up everybody else in it for a second.
   */
  #takeAdministration(ledger: string, queue: Waiting[]): Waiting[] {
    const end = queue.findIndex(({ entry }) => !isAdministrative(entry))
    const batch = queue.splice(
      0,
      Math.min(end < 0 ? queue.length : end, APPEND_BATCH_ADMINISTRATION_ENTRIES_MAX),
    )
    for (const { entry } of batch) this.#count(entry, -1)
    this.#queues.delete(ledger)
    if (queue.length > 0) this.#queues.set(ledger, queue)
    return batch
  }

  #settle(batch: Waiting[], outcomes: AppendOutcome[]): void {
    const again: Waiting[] = []
    for (const [i, waiting] of batch.entries()) {
      const outcome = outcomes[i]!
      // A second entry for the same record or idempotency key: it leads the next batch.
      if (outcome.status === 'again') again.unshift(waiting)
      else waiting.settle(outcome)
    }
    for (const waiting of again) this.#enqueue(waiting, 'first')
  }

  #enqueue(waiting: Waiting, place: 'first' | 'last' = 'last'): void {
    const queue = this.#queues.get(waiting.ledger)
    if (!queue) this.#queues.set(waiting.ledger, [waiting])
    else if (place === 'last') queue.push(waiting)
    else queue.unshift(waiting)
    this.#count(waiting.entry, 1)
  }

  #findOverload(ledger: string, entry: EntryRow): Overloaded | null {
    const batchesAhead = Math.max(
      this.#queued.entries / APPEND_BATCH_ENTRIES_MAX,
      this.#queued.records / APPEND_BATCH_RECORDS_MAX,
      this.#queued.bytes / APPEND_BATCH_BYTES_MAX,
    )
    const waitMs = Math.max(batchesAhead * this.#batchMs, this.#stalledMs(ledger))
    const full =
      (this.#queues.get(ledger)?.length ?? 0) >= APPEND_QUEUE_ENTRIES_PER_LEDGER_MAX ||
      this.#queued.entries >= APPEND_QUEUE_ENTRIES_MAX ||
      this.#queued.records + entry.records.length > APPEND_QUEUE_RECORDS_MAX ||
      this.#queued.bytes + bytesOf(entry) > APPEND_QUEUE_BYTES_MAX
    if (!full && waitMs <= APPEND_WAIT_MS_MAX) return null
    return { status: 'overloaded', retryAfterMs: waitMs }
  }

  /** For how long the batch that the ledger waits behind has been in flight. */
  #stalledMs(ledger: string): number {
    const own = this.#inFlight.get(ledger)
    if (own !== undefined) return performance.now() - own
    if (this.#lanes.includes(null) || this.#inFlight.size === 0) return 0
    return performance.now() - Math.max(...new Set(this.#inFlight.values()))
  }

  #count(entry: EntryRow, sign: 1 | -1): void {
    this.#queued.entries += sign
    this.#queued.records += sign * entry.records.length
    this.#queued.bytes += sign * bytesOf(entry)
  }
}

type Waiting = {
  /** The ledger, as the queues name it. */
  readonly ledger: string
  readonly entry: EntryRow
  readonly settle: (outcome: AppendOutcome) => void
}

/** Whether the entry concerns agents, keys, types and so on: it comes with rows that the constraints of tables may refuse. */
function isAdministrative(entry: EntryRow): boolean {
  return entry.detail !== null
}

/** About what an entry adds to a call. */
export function bytesOf(entry: EntryRow): number {
  let bytes = entry.envelope.length + (entry.document?.content.length ?? 0)
  for (const record of entry.records) bytes += record.payload.length + (record.metadata?.length ?? 0)
  return bytes
}
