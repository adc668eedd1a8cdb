import type pg from 'pg'
import type { EntryRow } from '../db/chain/append-entries.ts'
import { AppendQueue, type Batch, type Queued } from './append-queue.ts'
import { type AppendOutcome, commitBatch, type RetryCause } from './commit.ts'
import { APPEND_BATCH_ADMINISTRATION_ENTRIES_MAX, APPEND_BATCH_PEER_ENTRIES_MAX } from './limits.ts'

/** Refused at once, because the queue is full or the wait would be too long: nothing was written. */
export type Overloaded = { readonly status: 'overloaded'; readonly retryAfterMs: number }

/** Hears of what the appender does, for figures; it MUST NOT throw. */
export type AppendObserver = {
  /** An entry was refused at once. */
  overloaded(): void
  /** An entry waits. `ms`: since its author was authenticated. */
  prepared(ms: number): void
  /** Callers of a batch were answered, and what they sent is with the kernel. `ms`: since its commit. */
  answered(entries: number, ms: number): void
  /** A call was made again. */
  retried(cause: RetryCause): void
  /** A batch was tried. `ms`: how long that took. */
  committed(batch: {
    readonly entries: readonly EntryRow[]
    readonly outcomes: readonly AppendOutcome[]
    readonly records: number
    readonly ms: number
    /** How long each entry had waited for it, in ms. */
    readonly waitsMs: readonly number[]
  }): void
}

/**
 * The one way into the chain.
 *
 * A caller MUST have done all CPU work (validate, build, hash, sign) before: the appender only writes.
 * A caller MUST NOT answer success before the promise settles as `appended` or `replayed`: both mean that the
 * entry is committed and on disk. It MUST NOT retry `unknown` but with the same idempotency key.
 *
 * The appender MUST settle every promise, with exactly one outcome. It MUST refuse at once what it can't commit in time, and
 * MUST NOT drop what it has taken. Two entries of a ledger that nobody waited between may be committed in either order, as
 * if two processes had taken them.
 *
 * An entry waits in the queue, whose rule says when its batch goes (append-queue.ts); then it is in flight; then it is settled. The
 * next batch is sent before the callers of the last one hear of it: their answers cost the thread a millisecond, in which
 * Postgres would have nothing to do.
 *
 * Only committed entries survive a crash here. A taken entry that was not is lost with the process,
 * and its client never got an answer.
 */
export class Appender {
  readonly #queue = new AppendQueue<Waiting>()
  readonly #pool: pg.Pool
  readonly #observer: AppendObserver | null
  readonly #countComing: () => number
  /** Whether a look at the queue is due in the next turn of the event loop. */
  #isLooking = false
  #closed = false
  #emptied: PromiseWithResolvers<void> | null = null

  /** `countComing`: requests that have arrived and may append soon. */
  constructor(pool: pg.Pool, observer: AppendObserver | null = null, countComing: () => number = () => 0) {
    this.#pool = pool
    this.#observer = observer
    this.#countComing = countComing
  }

  /** `sinceMs`: when its author was authenticated, by Date.now(). */
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
    this.#lookSoon()
    return promise
  }

  /** Entries, records and bytes that wait for a batch. */
  get queued(): { readonly entries: number; readonly records: number; readonly bytes: number } {
    return this.#queue.size
  }

  /** Batches in flight; `oldestMs`: for how long the oldest of them has been, 0 where there is none. */
  get underWay(): { readonly batches: number; readonly oldestMs: number } {
    const { batches, oldestAt } = this.#queue.inFlight
    return { batches, oldestMs: oldestAt === null ? 0 : performance.now() - oldestAt }
  }

  /** Takes nothing more, and returns when everything taken has been committed or refused. */
  async close(): Promise<void> {
    this.#closed = true
    if (this.#isEmpty()) return
    this.#emptied ??= Promise.withResolvers()
    await this.#emptied.promise
  }

  /** In the next turn, so that what arrived in the same one joins the batch. */
  #lookSoon(): void {
    if (this.#isLooking) return
    this.#isLooking = true
    setImmediate(() => {
      this.#isLooking = false
      this.#send()
    })
  }

  /** Sends what may go; looks again while more is coming that it could wait for. */
  #send(): void {
    const coming = this.#countComing()
    for (;;) {
      const batch = this.#queue.take(performance.now(), coming)
      if (!batch) break
      void this.#commit(batch)
    }
    if (coming > 0 && this.#queue.size.entries > 0 && this.#queue.hasFreeLane) this.#lookSoon()
  }

  async #commit(batch: Batch<Waiting>): Promise<void> {
    const entries = batch.items.map(({ entry }) => entry)
    const outcomes = await commitBatch(this.#pool, entries, this.#observer)
    const endedAt = performance.now()
    this.#queue.end(batch, endedAt)
    for (const waiting of againOf(batch.items, outcomes)) this.#queue.add(waiting, endedAt, 'first')
    this.#send()
    const { records, startedAt } = batch
    const waitsMs = batch.items.map(({ addedAt }) => startedAt - addedAt)
    this.#observer?.committed({ entries, outcomes, records, ms: endedAt - startedAt, waitsMs })
    for (const [i, { settle }] of batch.items.entries()) {
      const outcome = outcomes[i]!
      if (outcome.status !== 'again') settle(outcome)
    }
    // Behind all that the outcomes set off: it runs when no promise is left to go on.
    process.nextTick(() => this.#observer?.answered(batch.items.length, performance.now() - endedAt))
    if (this.#isEmpty()) this.#emptied?.resolve()
  }

  #isEmpty(): boolean {
    return this.#queue.size.entries === 0 && this.#queue.inFlight.batches === 0
  }
}

type Waiting = Queued & {
  readonly entry: EntryRow
  readonly addedAt: number
  readonly settle: (outcome: AppendOutcome) => void
}

/** Second entries for a record or an idempotency key: they lead the next batch, in their order. The last one comes first here. */
function againOf(items: readonly Waiting[], outcomes: readonly AppendOutcome[]): Waiting[] {
  return items.filter((_, i) => outcomes[i]!.status === 'again').reverse()
}

/** A key of a chunk is a row in two indexes, whatever its length. */
const KEY_OVERHEAD_BYTES = 128

const ABOUT_PEERS: ReadonlySet<string> = new Set(['record-created', 'record-shared', 'step-offered'])

/** As Queued has it. */
function ownBatchMaxOf({ detail, kind }: EntryRow): number | null {
  if (detail === null) return null
  return ABOUT_PEERS.has(kind) ? APPEND_BATCH_PEER_ENTRIES_MAX : APPEND_BATCH_ADMINISTRATION_ENTRIES_MAX
}

/** How many records the entry makes. */
export function countRecords({ itemCount, records }: EntryRow): number {
  return itemCount ?? records.length
}

/** About what an entry adds to a call. */
export function bytesOf(entry: EntryRow): number {
  let bytes = entry.envelope.length + (entry.document?.content.length ?? 0) + (entry.statement?.length ?? 0)
  for (const record of entry.records) bytes += record.payload.length + (record.metadata?.length ?? 0)
  for (const { content, keys } of entry.chunks) {
    bytes += content.length
    for (const key of keys) bytes += KEY_OVERHEAD_BYTES + key.length
  }
  return bytes
}
