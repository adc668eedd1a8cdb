import type pg from 'pg'
import type { EntryRow } from '../db/chain/append-entries.ts'
import { FairQueue } from '../load/fair-queue.ts'
import { AppendQueue, type Batch, type Queued } from './append-queue.ts'
import { type AppendOutcome, commitBatch, type RetryCause } from './commit.ts'
import {
  ANSWERS_PER_SLICE_MAX,
  APPEND_BATCH_ADMINISTRATION_ENTRIES_MAX,
  APPEND_BATCH_PEER_ENTRIES_MAX,
} from './limits.ts'

/** The entry was refused immediately, because the queue is full or the wait would be too long. Nothing was written. */
export type Overloaded = { readonly status: 'overloaded'; readonly retryAfterMs: number }

/** Callbacks for metrics. They MUST NOT throw. */
export type AppendObserver = {
  overloaded(): void
  /** Called when an entry was queued. `ms` is the time since the entry's author was authenticated. */
  prepared(ms: number): void
  /**
   * Called when the answers of a slice of the event loop were passed to the kernel. `endedAts`: for each answer, the
   * time at which its batch was committed. `beganAt`: time at which the slice began. Both are by performance.now().
   */
  answered(endedAts: readonly number[], beganAt: number): void
  retried(cause: RetryCause): void
  /** Called after each try to commit a batch. `ms` is the duration of the try. */
  committed(batch: {
    readonly entries: readonly EntryRow[]
    readonly outcomes: readonly AppendOutcome[]
    readonly records: number
    readonly ms: number
    /** Time in ms that each entry had waited for the batch. */
    readonly waitsMs: readonly number[]
  }): void
}

/**
 * Appends entries. No other code writes to the chain.
 *
 * A caller MUST do all CPU work (validate, build, hash, sign) before the call, because the appender only writes. A
 * caller MUST NOT answer success before the promise settles as `appended` or `replayed`. Both mean that the entry is
 * committed and on disk. A caller MUST NOT retry after `unknown`, except with the same idempotency key.
 *
 * The appender MUST settle every promise with exactly one outcome. It MUST immediately refuse an entry that it cannot
 * commit in time, and MUST NOT drop an accepted entry. Two entries of a ledger may be committed in either order, unless
 * the second was appended after the first had settled.
 *
 * An entry waits in the queue, which decides when a batch is sent (append-queue.ts). Then the entry is in flight until
 * Postgres has answered. The next batch is sent before the callers of the previous batch are answered, so that Postgres
 * is not idle meanwhile. The answers of a batch may take 10 ms. So at most ANSWERS_PER_SLICE_MAX answers are sent in
 * one slice of the event loop.
 *
 * Only committed entries survive a crash. If the process crashes, accepted entries that were not committed are lost,
 * and their clients get no answer.
 */
export class Appender {
  readonly #queue = new AppendQueue<WaitingEntry>()
  /** Unsent answers by ledger. Ledgers are served round-robin, so a quiet ledger does not wait for a busy ledger. */
  readonly #answers = new FairQueue<Answer>()
  /** True if `#answerSome` is scheduled. */
  #isAnswering = false
  readonly #pool: pg.Pool
  readonly #observer: AppendObserver | null
  readonly #countComing: () => number
  /** True if `#send` is scheduled for the next iteration of the event loop. */
  #isScheduled = false
  #closed = false
  #emptied: PromiseWithResolvers<void> | null = null

  /** `countComing` returns the number of requests that have arrived and may append soon. */
  constructor(pool: pg.Pool, observer: AppendObserver | null = null, countComing: () => number = () => 0) {
    this.#pool = pool
    this.#observer = observer
    this.#countComing = countComing
  }

  /** Appends an entry. `sinceMs` is the time by Date.now() at which the entry's author was authenticated. */
  append(entry: EntryRow, sinceMs: number | null = null): Promise<AppendOutcome | Overloaded> {
    if (this.#closed) {
      return Promise.resolve({ status: 'unavailable', error: new Error('the server is shutting down') })
    }
    const { promise, resolve } = Promise.withResolvers<AppendOutcome>()
    const waiting = {
      ledgerId: entry.ledgerId,
      records: countRecords(entry),
      keys: entry.chunks.reduce((sum, { keys }) => sum + keys.length, 0),
      bytes: bytesOf(entry),
      ownBatchMax: ownBatchMaxOf(entry),
      entry,
      addedAt: performance.now(),
      settle: resolve,
    }
    const waitMs = this.#queue.refusal(waiting, performance.now())
    if (waitMs !== null) {
      this.#observer?.overloaded()
      return Promise.resolve({ status: 'overloaded', retryAfterMs: waitMs })
    }
    if (sinceMs !== null) this.#observer?.prepared(Math.max(0, Date.now() - sinceMs))
    this.#queue.add(waiting, performance.now())
    this.#sendSoon()
    return promise
  }

  get queued(): { readonly entries: number; readonly records: number; readonly bytes: number } {
    return this.#queue.size
  }

  /** Number of batches in flight. `oldestMs` is the age of the oldest of them, or 0 if there is none. */
  get underWay(): { readonly batches: number; readonly oldestMs: number } {
    const { batches, oldestAt } = this.#queue.inFlight
    return { batches, oldestMs: oldestAt === null ? 0 : performance.now() - oldestAt }
  }

  /** Refuses new entries. Returns when every accepted entry has been committed or refused. */
  async close(): Promise<void> {
    this.#closed = true
    if (this.#isEmpty()) return
    this.#emptied ??= Promise.withResolvers()
    await this.#emptied.promise
  }

  /**
   * Calls `#send` in the next iteration of the event loop, so that further entries of this iteration join the batch.
   */
  #sendSoon(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    setImmediate(() => {
      this.#isScheduled = false
      this.#send()
    })
  }

  /** Sends the batches that are due. If entries wait and more requests are coming, schedules `#send` again. */
  #send(): void {
    const coming = this.#countComing()
    for (;;) {
      const batch = this.#queue.take(performance.now(), coming)
      if (!batch) break
      void this.#commit(batch)
    }
    if (coming > 0 && this.#queue.size.entries > 0 && this.#queue.hasFreeConnection) this.#sendSoon()
  }

  async #commit(batch: Batch<WaitingEntry>): Promise<void> {
    const entries = batch.items.map(({ entry }) => entry)
    const outcomes = await commitBatch(this.#pool, entries, this.#observer)
    const endedAt = performance.now()
    this.#queue.end(batch, endedAt)
    for (const waiting of againOf(batch.items, outcomes)) this.#queue.add(waiting, endedAt, 'first')
    this.#send()
    const { records, startedAt } = batch
    const waitsMs = batch.items.map(({ addedAt }) => startedAt - addedAt)
    this.#observer?.committed({ entries, outcomes, records, ms: endedAt - startedAt, waitsMs })
    for (const [i, { ledgerId, settle }] of batch.items.entries()) {
      const outcome = outcomes[i]!
      if (outcome.status !== 'again') this.#answers.add(ledgerId, { settle: () => settle(outcome), endedAt })
    }
    if (!this.#isAnswering) this.#answerSome()
  }

  /** Answers callers in this slice of the event loop, and schedules a slice for the other callers. */
  readonly #answerSome = (): void => {
    const beganAt = performance.now()
    const endedAts: number[] = []
    while (endedAts.length < ANSWERS_PER_SLICE_MAX) {
      const answer = this.#answers.next()
      if (!answer) break
      answer.settle()
      endedAts.push(answer.endedAt)
    }
    this.#isAnswering = this.#answers.size > 0
    if (this.#isAnswering) setImmediate(this.#answerSome)
    else if (this.#isEmpty()) this.#emptied?.resolve()
    // A tick that a promise callback adds runs after all promise callbacks, so the answers have been written by then.
    queueMicrotask(() => process.nextTick(() => this.#observer?.answered(endedAts, beganAt)))
  }

  #isEmpty(): boolean {
    return this.#queue.size.entries === 0 && this.#queue.inFlight.batches === 0 && this.#answers.size === 0
  }
}

/** Answer to a caller. `endedAt`: time at which Postgres answered the batch. */
type Answer = { readonly settle: () => void; readonly endedAt: number }

type WaitingEntry = Queued & {
  readonly entry: EntryRow
  readonly addedAt: number
  readonly settle: (outcome: AppendOutcome) => void
}

/**
 * Returns the entries that must be sent again, because an earlier entry of the batch was about the same record or
 * idempotency key. The list is in reverse order: the caller adds each entry in front of the others, so they come first
 * in the next batch and keep their order.
 */
function againOf(items: readonly WaitingEntry[], outcomes: readonly AppendOutcome[]): WaitingEntry[] {
  return items.filter((_, i) => outcomes[i]!.status === 'again').reverse()
}

/** Bytes that a search key adds to its own length. Each key of a chunk is a row in two indexes, whatever its length. */
const KEY_OVERHEAD_BYTES = 128

const ABOUT_PEERS: ReadonlySet<string> = new Set(['record-created', 'record-shared', 'step-offered'])

/** Returns the maximum number of entries in the batch of this entry, or null if the entry may join any batch. */
function ownBatchMaxOf({ detail, kind }: EntryRow): number | null {
  if (detail === null) return null
  return ABOUT_PEERS.has(kind) ? APPEND_BATCH_PEER_ENTRIES_MAX : APPEND_BATCH_ADMINISTRATION_ENTRIES_MAX
}

export function countRecords({ itemCount, records }: EntryRow): number {
  return itemCount ?? records.length
}

/** Returns the approximate number of bytes that an entry adds to a call of append_entries. */
export function bytesOf(entry: EntryRow): number {
  let bytes = entry.envelope.length + (entry.document?.content.length ?? 0) + (entry.statement?.length ?? 0)
  for (const record of entry.records) bytes += record.payload.length + (record.metadata?.length ?? 0)
  for (const { content, keys } of entry.chunks) {
    bytes += content.length
    for (const key of keys) bytes += KEY_OVERHEAD_BYTES + key.length
  }
  return bytes
}
