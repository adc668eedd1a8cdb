import { type ApiError, NotRecordedError, type TallystickError } from '../errors.ts'
import type { Batch } from '../resources/batches.ts'
import type { DeliveryEvents } from './delivery.ts'
import type { NotarizerOptions, NotarizerStats, RefusedRecord } from './options.ts'
import type { Refused, Segment } from './spool.ts'

/** Counts what happens to records, and tells the caller, whose mistakes must not keep records from being sent. */
export class Reports implements DeliveryEvents {
  buffered = 0
  #recorded = 0
  #refused = 0
  #failures = 0
  #lastError: TallystickError | null = null
  readonly #told: Pick<NotarizerOptions, 'onRecorded' | 'onRefused' | 'onError'>
  /** Those who wait, and would wait for ever when only people can help. */
  readonly #waiting = new Set<(error: TallystickError) => void>()

  constructor(told: Pick<NotarizerOptions, 'onRecorded' | 'onRefused' | 'onError'>) {
    this.#told = told
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
    const { onRecorded } = this.#told
    if (!onRecorded) return
    const tagged = records.map((record, i) => {
      const tag = items[i]!.tag
      return tag === undefined ? record : { ...record, tag }
    })
    tell(() => onRecorded({ batch, entry, records: tagged }))
  }

  refused(refused: readonly Refused[], error: ApiError): void {
    this.buffered -= refused.length
    this.#refused += refused.length
    const { onRefused } = this.#told
    if (!onRefused) console.error(`tallystick: ${refused.length} record(s) were refused: ${error.message}`)
    else
      for (const { item } of refused) {
        tell(() => {
          const record = JSON.parse(item.text) as RefusedRecord
          return onRefused(item.tag === undefined ? record : { ...record, tag: item.tag }, error)
        })
      }
  }

  failed(error: TallystickError): void {
    const isNews = this.#lastError === null || !error.retryable
    this.#failures++
    this.#lastError = error
    const { onError } = this.#told
    if (onError) tell(() => onError(error))
    else if (isNews) console.error(`tallystick: ${error.message}`)
    if (!error.retryable) for (const tell of this.#waiting) tell(error)
  }

  recovered(): void {
    this.#lastError = null
  }

  /** Calls it with what only people can mend, as soon as it happens, until the answer is called. */
  whenBlocked(tell: (error: TallystickError) => void): () => void {
    this.#waiting.add(tell)
    return () => this.#waiting.delete(tell)
  }

  notRecorded(why: string): NotRecordedError {
    const last = this.#lastError
    return new NotRecordedError(
      `${why}: ${this.buffered} records are not recorded yet${last ? `, because: ${last.message}` : ''}`,
      { retryable: true, cause: last },
    )
  }
}

/** A caller's function may throw, at once or later. */
function tell(callback: () => unknown): void {
  const complain = (error: unknown) => console.error('tallystick: a callback of the notarizer failed:', error)
  try {
    Promise.resolve(callback()).catch(complain)
  } catch (error) {
    complain(error)
  }
}
