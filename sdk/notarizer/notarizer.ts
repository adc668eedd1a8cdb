/// <reference lib="esnext.disposable" preserve="true" />
import { BufferFullError, UsageError } from '../errors.ts'
import type { Transport } from '../http/transport.ts'
import { makeIdempotencyKey } from '../idempotency-key.ts'
import type { AnyTypes, PayloadOf, TypeMap, TypeName } from '../typed.ts'
import { Delivery } from './delivery.ts'
import { type MeasuredItem, makeItem, type RecordOptions } from './items.ts'
import { Memory } from './memory.ts'
import { type Limits, type NotarizerOptions, type NotarizerStats, parseLimits } from './options.ts'
import { count, fits, makeDeferred, makePending, type Open, type Pending } from './pending.ts'
import { Reports } from './reports.ts'
import type { Spool, SpoolContents } from './spool.ts'
import { type WaitOptions, waitFor } from './wait.ts'

/**
 * Records in batches, without waiting for the server. Made by `tallystick.notarizer()`.
 *
 * `record` returns at once. The notarizer sends accepted records in the order of the calls of `record`, until the
 * server has each of them exactly once.
 *
 * A batch is sent when it is full or `lingerMs` old. While one batch is under way, the next one fills. So a slower
 * server gets larger batches.
 */
export class Notarizer<Types extends TypeMap = AnyTypes> {
  readonly #limits: Limits
  readonly #spool: Spool
  readonly #delivery: Delivery
  readonly #reports: Reports
  readonly #stop = new AbortController()
  #open: Open | null = null
  /** Sealed batches, oldest first. */
  readonly #sealed: Pending[] = []
  readonly #underWay = new Map<Pending, Promise<void>>()
  #closing = false
  /**
   * True from the moment a batch is sealed until the event loop runs. A caller's loop without `await` keeps it true.
   */
  #mustYield = false
  #room: { readonly promise: Promise<void>; readonly resolve: () => void } | null = null

  constructor(http: Transport, options: NotarizerOptions = {}) {
    const limits = parseLimits(options)
    this.#limits = limits
    this.#spool = options.spool ?? new Memory(limits.bufferedRecordsMax, limits.bufferedBytesMax)
    this.#reports = new Reports(options)
    this.#delivery = new Delivery(http, this.#spool, limits, options.timeoutMs, this.#reports)
    this.#take(this.#spool.recover())
  }

  /**
   * Accepts a record. After the call, a record in a spool survives the process. The caller may change the object
   * afterwards.
   *
   * Throws BufferFullError if there is no room, SpoolError if the spool cannot store the record, and UsageError if the
   * record cannot be recorded without change. In these cases the record was not accepted.
   */
  record<Name extends TypeName<Types> = 'generic/1'>(
    payload: PayloadOf<Types, Name>,
    options: RecordOptions<Name> = {},
  ): void {
    if (this.#closing) throw new UsageError('the notarizer is closed')
    const item = makeItem(payload, options, Date.now())
    if (!this.#spool.hasRoom) throw new BufferFullError(describeFull(this.stats, this.#spool))
    if (this.#open !== null && !fits(this.#open, item, this.#limits)) this.#seal()
    if (this.#open === null) this.#begin(item)
    else this.#append(this.#open, item)
    this.#reports.buffered++
    if (this.#open!.records >= this.#limits.recordsPerBatchMax) this.#seal()
  }

  /**
   * Resolves when there is room for the next record. Await it before each record of a busy loop. A loop that does not
   * await it prevents the sending and ends with BufferFullError.
   */
  get ready(): Promise<void> {
    if (!this.#spool.hasRoom && !this.#stop.signal.aborted) {
      this.#room ??= makeDeferred()
      return this.#room.promise
    }
    if (!this.#mustYield) return Promise.resolve()
    this.#mustYield = false
    return new Promise((resolve) => setTimeout(resolve, 0))
  }

  /**
   * Resolves when every record so far was recorded, or was refused and reported. Rejects at once with an error that
   * only people can fix. Rejects with NotRecordedError after `timeoutMs`. After a rejection, accepted records stay in
   * the notarizer and are still sent.
   */
  async flush(options: WaitOptions = {}): Promise<void> {
    if (this.#open !== null) this.#open.due = true
    this.#pump()
    const pending = [...this.#underWay.keys(), ...this.#sealed, ...(this.#open ? [this.#open] : [])]
    if (pending.length === 0) return
    if (this.#stop.signal.aborted) throw this.#reports.notRecorded('the notarizer was closed')
    this.#delivery.retryBlocked()
    await waitFor(Promise.all(pending.map(({ settled }) => settled)), this.#reports, options)
  }

  /**
   * Stops accepting records, and flushes. If the flush fails, records in a spool stay there for the next process.
   * Records in memory are still sent while the process runs. Can be called again. Throws the errors of `flush`.
   */
  async close(options: WaitOptions = {}): Promise<void> {
    this.#closing = true
    try {
      await this.flush(options)
    } finally {
      this.#reports.end()
      if (this.#spool.isDurable) await this.#release()
    }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  get stats(): NotarizerStats {
    return {
      ...this.#reports.counts,
      bufferedBytes: this.#spool.usedBytes,
      inFlight: this.#underWay.size,
    }
  }

  async #release(): Promise<void> {
    this.#stop.abort()
    if (this.#open !== null) this.#sealOpen()
    await Promise.all(this.#underWay.values())
    this.#room?.resolve()
    await this.#spool.close()
  }

  /**
   * Takes records that other processes put into the spool's inbox, while there is room. They are sent after all records
   * that were accepted before. Returns the number of taken records.
   */
  async adopt(): Promise<number> {
    if (this.#closing || !this.#spool.adopt) return 0
    const found = await this.#spool.adopt()
    if (this.#open !== null) this.#seal()
    this.#take(found)
    return found.batches.reduce((sum, { records }) => sum + records, 0)
  }

  #take({ batches, errors }: SpoolContents): void {
    for (const error of errors) this.#reports.failed(error)
    for (const spooled of batches) {
      this.#reports.buffered += spooled.records
      this.#sealed.push(makePending(spooled))
    }
    this.#pump()
  }

  #begin(item: MeasuredItem): void {
    const spooled = this.#spool.begin(makeIdempotencyKey(), item, item.bytes)
    const timer = setTimeout(() => {
      open.due = true
      this.#pump()
    }, this.#limits.lingerMs)
    const open: Open = {
      ...makePending(spooled),
      types: new Set(),
      parents: new Set(),
      records: 0,
      bytes: 0,
      due: false,
      timer,
    }
    this.#open = open
    count(open, item)
  }

  #append(open: Open, item: MeasuredItem): void {
    try {
      open.spooled.append(item, item.bytes)
    } catch (error) {
      // Seals the batch, because the failed write may have left bytes in the file. No record may follow these bytes.
      this.#seal()
      throw error
    }
    count(open, item)
  }

  #seal(): void {
    this.#sealOpen()
    this.#pump()
  }

  #sealOpen(): void {
    const open = this.#open!
    clearTimeout(open.timer)
    open.spooled.seal()
    this.#open = null
    this.#sealed.push(open)
    this.#mustYield = true
  }

  /** Starts sending batches that are sealed or due, while fewer than `inFlightMax` batches are under way. */
  #pump(): void {
    while (this.#underWay.size < this.#limits.inFlightMax && !this.#stop.signal.aborted) {
      if (this.#sealed.length === 0 && this.#open?.due) this.#sealOpen()
      const next = this.#sealed.shift()
      if (next === undefined) return
      const older = Promise.all([...this.#underWay.keys()].map(({ settled }) => settled))
      this.#underWay.set(next, this.#deliver(next, older))
    }
  }

  async #deliver(pending: Pending, older: Promise<unknown>): Promise<void> {
    try {
      await this.#delivery.deliver(pending.spooled, older, this.#stop.signal)
    } catch (error) {
      if (this.#stop.signal.aborted) return // The notarizer was stopped. The batch stays in the spool.
      throw error
    }
    this.#underWay.delete(pending)
    pending.settle()
    if (this.#spool.hasRoom) {
      this.#room?.resolve()
      this.#room = null
    }
    this.#pump()
  }
}

function describeFull(stats: NotarizerStats, { usedBytes, bytesMax }: Spool): string {
  return `${stats.buffered} records in ${usedBytes} of ${bytesMax} bytes wait to be sent, and there is no room for another`
}
