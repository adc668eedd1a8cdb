import { NotRecordedError, type TallystickError } from '../errors.ts'
import type { Batch } from '../resources/batches.ts'
import type { DeliveryEvents } from './delivery.ts'
import type { NotarizerOptions, NotarizerStats, RefusedRecord } from './options.ts'
import type { Refused, Segment } from './spool.ts'

/**
 * Minimum time in ms between two console lines about refused records. A faulty producer can cause thousands of
 * refusals.
 */
const REFUSED_LINES_MS = 10_000

/**
 * Counts recorded and refused records, and calls the caller's callbacks. An error of a callback must not stop the
 * sending.
 */
export class Reports implements DeliveryEvents {
  buffered = 0
  #recorded = 0
  #refused = 0
  #failures = 0
  #lastError: TallystickError | null = null
  #hasComplained = false
  /** Number and newest error of refusals that were not written to the console yet. null if there are none. */
  #unreported: { count: number; latest: TallystickError } | null = null
  #reportedRefusedAtMs = Number.NEGATIVE_INFINITY
  readonly #callbacks: Pick<NotarizerOptions, 'onRecorded' | 'onRefused' | 'onError'>
  /** Callbacks of waiting calls of `flush`. They let `flush` reject when an error occurs that only people can fix. */
  readonly #waiting = new Set<(error: TallystickError) => void>()

  constructor(told: Pick<NotarizerOptions, 'onRecorded' | 'onRefused' | 'onError'>) {
    this.#callbacks = told
  }

  get counts(): Omit<NotarizerStats, 'bufferedBytes' | 'inFlight'> {
    return {
      buffered: this.buffered,
      recorded: this.#recorded,
      refused: this.#refused,
      failures: this.#failures,
      lastError: this.#lastError,
    }
  }

  recorded({ items }: Segment, { batch, entry, records }: Batch): void {
    this.buffered -= items.length
    this.#recorded += items.length
    const { onRecorded } = this.#callbacks
    if (!onRecorded) return
    const tagged = records.map((record, i) => {
      const tag = items[i]!.tag
      return tag === undefined ? record : { ...record, tag }
    })
    callSafely(() => onRecorded({ batch, entry, records: tagged }))
  }

  refused(refused: readonly Refused[], error: TallystickError): void {
    this.buffered -= refused.length
    this.#refused += refused.length
    const { onRefused } = this.#callbacks
    if (!onRefused) {
      this.#unreported = { count: (this.#unreported?.count ?? 0) + refused.length, latest: error }
      if (performance.now() - this.#reportedRefusedAtMs >= REFUSED_LINES_MS) this.#reportRefused()
    } else
      for (const { item } of refused) {
        callSafely(() => {
          const record = JSON.parse(item.text) as RefusedRecord
          return onRefused(item.tag === undefined ? record : { ...record, tag: item.tag }, error)
        })
      }
  }

  /** Writes to the console the refusals that were not written yet. */
  end(): void {
    this.#reportRefused()
  }

  #reportRefused(): void {
    if (this.#unreported === null) return
    const { count, latest } = this.#unreported
    console.error(`tallystick: ${count} record(s) were refused: ${latest.message}`)
    this.#unreported = null
    this.#reportedRefusedAtMs = performance.now()
  }

  failed(error: TallystickError): void {
    const isNews = this.#lastError === null || !error.retryable
    this.#failures++
    this.#lastError = error
    const { onError } = this.#callbacks
    if (onError) callSafely(() => onError(error))
    else if (isNews) {
      this.#hasComplained = true
      console.error(`tallystick: ${error.message}`)
    }
    if (!error.retryable) for (const call of this.#waiting) call(error)
  }

  recovered(): void {
    this.#lastError = null
    if (!this.#hasComplained) return
    this.#hasComplained = false
    console.error('tallystick: records are sent again')
  }

  /** Calls `onBlocked` with each error that only people can fix. Returns a function that unsubscribes. */
  whenBlocked(onBlocked: (error: TallystickError) => void): () => void {
    this.#waiting.add(onBlocked)
    return () => this.#waiting.delete(onBlocked)
  }

  notRecorded(why: string): NotRecordedError {
    const last = this.#lastError
    return new NotRecordedError(
      `${why}: ${this.buffered} records are not recorded yet${last ? `, because: ${last.message}` : ''}`,
      { retryable: true, cause: last },
    )
  }
}

/** Calls a callback, which may throw or reject. Its error is written to the console. */
function callSafely(callback: () => unknown): void {
  const complain = (error: unknown) => console.error('tallystick: a callback of the notarizer failed:', error)
  try {
    Promise.resolve(callback()).catch(complain)
  } catch (error) {
    complain(error)
  }
}
