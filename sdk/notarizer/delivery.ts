import { ApiError, TallystickError, UnexpectedAnswerError } from '../errors.ts'
import type { GetLedgerAnswer } from '../generated/api.ts'
import { operations } from '../generated/operations.ts'
import { retryDelayMs, sleep } from '../http/retries.ts'
import type { Transport } from '../http/transport.ts'
import type { Batch } from '../resources/batches.ts'
import { giveParents, lacksParent, textsOf } from './handles.ts'
import type { Limits } from './options.ts'
import { isRefusal, splitRefused } from './refusals.ts'
import type { RecordHandle, Refused, Segment, Spool, SpooledBatch } from './spool.ts'

/** Callbacks of a delivery; none of these throws. */
export type DeliveryEvents = {
  recorded(segment: Segment, batch: Batch): void
  refused(refused: readonly Refused[], error: ApiError): void
  failed(error: TallystickError): void
  /** Attempts succeed again. */
  recovered(): void
}

/** A Retry-After is honoured up to this: the server may be well before. */
const RETRY_AFTER_MS_MAX = 60_000

/**
 * Sends a batch until all of it is recorded or refused, however long that takes: the same bytes with the same key, so that nothing
 * is there twice. A change of the batch is on the disk before it is acted upon. Only the signal ends it otherwise.
 */
export class Delivery {
  readonly #http: Transport
  readonly #spool: Spool
  readonly #limits: Limits
  readonly #timeoutMs: number | undefined
  readonly #events: DeliveryEvents
  /** The spool is known to be that of the key's agent, or will be. */
  #claimed: Promise<void> | null = null
  /** Waits that nobody but people can end. */
  readonly #blocked = new Set<AbortController>()

  constructor(
    http: Transport,
    spool: Spool,
    limits: Limits,
    timeoutMs: number | undefined,
    events: DeliveryEvents,
  ) {
    this.#http = http
    this.#spool = spool
    this.#limits = limits
    this.#timeoutMs = timeoutMs
    this.#events = events
  }

  /** `older`: batches that were taken before, and may hold parents of this one's records. */
  async deliver(batch: SpooledBatch, older: Promise<unknown>, signal: AbortSignal): Promise<void> {
    this.#claimed ??= this.#claim(signal)
    await this.#claimed
    let segments = await this.#persistently(signal, () => batch.read())
    let refusals = 0
    while (segments.length > 0) {
      segments = await this.#nameParents(batch, segments, older, signal)
      const segment = segments[0]!
      const answer = await this.#send(segment, signal)
      const others = segments.slice(1)
      if (answer instanceof ApiError) {
        segments = await this.#refuse(batch, { segment, others, again: refusals++ > 0 }, answer, signal)
      } else {
        await this.#keepHandles(segment, answer, signal)
        this.#events.recorded(segment, answer)
        segments = others
      }
    }
    await this.#persistently(signal, () => batch.remove())
  }

  async #claim(signal: AbortSignal): Promise<void> {
    const spool = this.#spool
    if (!spool.claim) return
    const options = { signal, timeoutMs: this.#timeoutMs, retriesMax: 0 }
    await this.#persistently(signal, async () => {
      const { id, key } = verifyLedger(
        await this.#http.json<GetLedgerAnswer>(operations.getLedger, { options }),
      )
      await spool.claim?.({ ledger: id, agent: key.agent })
    })
  }

  async #nameParents(
    batch: SpooledBatch,
    segments: readonly Segment[],
    older: Promise<unknown>,
    signal: AbortSignal,
  ): Promise<readonly Segment[]> {
    const [first, ...others] = segments
    if (!lacksParent(first!)) return segments
    await untilAborted(older, signal)
    const named = [giveParents(first!, this.#spool.handles), ...others]
    await this.#persistently(signal, () => batch.replace(named))
    return named
  }

  async #keepHandles({ items }: Segment, { records }: Batch, signal: AbortSignal): Promise<void> {
    const found = items.flatMap(({ handle }, i): RecordHandle[] =>
      handle === undefined ? [] : [[handle, records[i]!.id]],
    )
    if (found.length > 0) await this.#persistently(signal, () => this.#spool.handles.keep(found))
  }

  /** The answer, or why the server will never take it. */
  async #send(segment: Segment, signal: AbortSignal): Promise<Batch | ApiError> {
    const text = `{"records":[${textsOf(segment).join(',')}]}`
    const { idempotencyKey } = segment
    const options = { idempotencyKey, signal, timeoutMs: this.#timeoutMs, retriesMax: 0 }
    return this.#persistently(signal, async () => {
      try {
        const batch = await this.#http.json<Batch>(operations.postRecordsBatch, { text, options })
        return verifyBatch(batch, segment)
      } catch (error) {
        if (isRefusal(error)) return error
        throw error
      }
    })
  }

  /** The segments that are left to be sent. */
  async #refuse(
    batch: SpooledBatch,
    { segment, others, again }: { segment: Segment; others: readonly Segment[]; again: boolean },
    error: ApiError,
    signal: AbortSignal,
  ): Promise<readonly Segment[]> {
    const { refused, rest } = splitRefused(segment, error, again)
    const { problem } = error
    const { idempotencyKey } = segment
    const dead = refused.map((item) => ({ item, problem, idempotencyKey }))
    if (dead.length > 0) await this.#persistently(signal, () => this.#spool.refuse(dead))
    const left = [...rest, ...others]
    await this.#persistently(signal, () => batch.replace(left))
    if (dead.length > 0) this.#events.refused(dead, error)
    return left
  }

  async #persistently<T>(signal: AbortSignal, action: () => Promise<T>): Promise<T> {
    for (let retries = 0; ; retries++) {
      signal.throwIfAborted()
      try {
        const result = await action()
        if (retries > 0) this.#events.recovered()
        return result
      } catch (cause) {
        signal.throwIfAborted()
        const error = cause instanceof TallystickError ? cause : new TallystickError(`${cause}`, { cause })
        this.#events.failed(error)
        if (error.retryable) await sleep(this.#delayMs(error, retries), signal)
        else await this.#waitForPeople(signal)
      }
    }
  }

  #delayMs(error: TallystickError, retries: number): number {
    const { delayMsMin, delayMsMax } = this.#limits
    return retryDelayMs({ delayMsMin, delayMsMax }, retries, error) ?? RETRY_AFTER_MS_MAX
  }

  async #waitForPeople(signal: AbortSignal): Promise<void> {
    const mended = new AbortController()
    this.#blocked.add(mended)
    try {
      await sleep(this.#limits.blockedDelayMs, AbortSignal.any([signal, mended.signal]))
    } catch {
      signal.throwIfAborted()
    } finally {
      this.#blocked.delete(mended)
    }
  }

  /** Tries again now what waits for people: somebody asks, so it may be mended. */
  retryBlocked(): void {
    for (const mended of this.#blocked) mended.abort()
  }
}

function untilAborted(done: Promise<unknown>, signal: AbortSignal): Promise<unknown> {
  signal.throwIfAborted()
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason)
    signal.addEventListener('abort', abort, { once: true })
    done.then(resolve).finally(() => signal.removeEventListener('abort', abort))
  })
}

/** Throws unless the answer is about these records: anything that answers 201 could say that they are recorded. */
function verifyBatch(batch: Batch, { items, idempotencyKey }: Segment): Batch {
  const isBatch = typeof batch?.batch === 'string' && typeof batch.entry?.seq === 'number'
  if (isBatch && Array.isArray(batch.records) && batch.records.length === items.length) return batch
  throw new UnexpectedAnswerError(
    `what was answered does not speak of the ${items.length} records that were sent: check that the address is a Tallystick server's`,
    { retryable: false, idempotencyKey },
  )
}

/** Throws unless the answer says whose key it is: a spool would be another's for good. */
function verifyLedger(ledger: GetLedgerAnswer): GetLedgerAnswer {
  if (typeof ledger?.id === 'string' && typeof ledger.key?.agent === 'string') return ledger
  throw new UnexpectedAnswerError(
    `what was answered does not name a ledger and an agent: check that the address is a Tallystick server's`,
    { retryable: false, idempotencyKey: null },
  )
}
