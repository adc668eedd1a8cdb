import { utf8Encode } from '../../src/proof/bytes.ts'
import { ApiError, TallystickError, UnexpectedAnswerError } from '../errors.ts'
import type { GetLedgerAnswer } from '../generated/api.ts'
import { operations } from '../generated/operations.ts'
import { retryDelayMs, sleep } from '../http/retries.ts'
import type { Transport } from '../http/transport.ts'
import { makeIdempotencyKey } from '../idempotency-key.ts'
import type { Batch } from '../resources/batches.ts'
import {
  halve,
  isBySize,
  passesWithoutRecords,
  problemOf,
  rejoin,
  renewKeys,
  SET_ASIDE_IN_A_ROW_MAX,
  sendOrJudge,
  sentInHalves,
  setAside,
  waitsAfter,
} from './foreign-refusals.ts'
import { bodyOf, lacksParent, withParentIds } from './handles.ts'
import type { Item } from './items.ts'
import type { Limits } from './options.ts'
import { splitRefused } from './refusals.ts'
import type { RecordHandle, Refused, Segment, Spool, SpooledBatch } from './spool.ts'

/** Callbacks of a delivery. They must not throw. */
export type DeliveryEvents = {
  recorded(segment: Segment, batch: Batch): void
  refused(refused: readonly Refused[], error: TallystickError): void
  failed(error: TallystickError): void
  /** Called when an attempt succeeds after failures. */
  recovered(): void
}

/**
 * Result of sending a segment.
 *
 * - `segment`: the segment that was sent.
 * - `others`: the segments that are still to be sent.
 * - `answer`: the answer, or the error that says that the segment will never be accepted.
 */
type Sent = {
  readonly segment: Segment
  readonly others: readonly Segment[]
  readonly answer: Batch | ApiError | UnexpectedAnswerError
}

/**
 * Maximum delay in ms that a Retry-After header can set. A longer delay is shortened, because the server may recover
 * sooner.
 */
const RETRY_AFTER_MS_MAX = 60_000

/**
 * Sends batches until every record is recorded or refused. The number of retries is unlimited. A retry sends the same
 * bytes with the same key, so nothing is recorded twice. Each change of a batch is stored in the spool before it is
 * sent. Only the signal ends the delivery early.
 */
export class Delivery {
  readonly #http: Transport
  readonly #spool: Spool
  readonly #limits: Limits
  readonly #timeoutMs: number | undefined
  readonly #events: DeliveryEvents
  /** Resolves when the agent of the API key owns the spool. null before the first delivery. */
  #claimed: Promise<void> | null = null
  /** Controllers of waits after errors that only people can fix. `retryBlocked` ends these waits early. */
  readonly #blocked = new Set<AbortController>()
  /**
   * Number of records that were set aside since the last recorded segment, because a proxy or firewall refused them.
   */
  #setAside = 0
  #isSizeReported = false

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

  /**
   * Delivers one batch. `older` resolves when the deliveries of earlier batches have ended. These batches may contain
   * parents of this batch's records.
   */
  async deliver(batch: SpooledBatch, older: Promise<unknown>, signal: AbortSignal): Promise<void> {
    this.#claimed ??= this.#claim(signal)
    await this.#claimed
    let segments = await this.#persistently(signal, () => batch.read())
    let refusals = 0
    while (segments.length > 0) {
      segments = await this.#nameParents(batch, segments, older, signal)
      const { segment, others, answer } = await this.#sendFirst(segments, signal)
      if (answer instanceof ApiError) {
        segments = await this.#refuse(batch, { segment, others, again: refusals++ > 0 }, answer, signal)
      } else if (answer instanceof UnexpectedAnswerError) {
        segments = await this.#avoid(batch, segment, others, answer, signal)
      } else {
        this.#setAside = 0
        await this.#storeHandles(segment, answer, signal)
        this.#events.recorded(segment, answer)
        segments = renewKeys(others, segment.idempotencyKey, makeIdempotencyKey)
        if (segments !== others) await this.#replace(batch, segments, signal)
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
    const named = [withParentIds(first!, this.#spool.handles), ...others]
    await this.#replace(batch, named, signal)
    return named
  }

  async #storeHandles({ items }: Segment, { records }: Batch, signal: AbortSignal): Promise<void> {
    const found = items.flatMap(({ handle }, i): RecordHandle[] =>
      handle === undefined ? [] : [[handle, records[i]!.id]],
    )
    if (found.length > 0) await this.#persistently(signal, () => this.#spool.handles.keep(found))
  }

  /**
   * Sends the first segment. If the server answers `idempotency_key_reused`, the segment is joined with the following
   * segments of the same key and sent again. The joined request writes nothing new, because its key was used before. So
   * it is safe to send it again after a crash.
   */
  async #sendFirst(segments: readonly Segment[], signal: AbortSignal): Promise<Sent> {
    const [segment, ...others] = segments as [Segment, ...Segment[]]
    const answer = await this.#send(segment, signal)
    if (!(answer instanceof ApiError) || answer.code !== 'idempotency_key_reused')
      return { segment, others, answer }
    for (let joined = rejoin(segment, others); joined !== null; joined = rejoin(...joined)) {
      const [whole, rest] = joined
      const found = await this.#send(whole, signal)
      if (!(found instanceof TallystickError)) return { segment: whole, others: rest, answer: found }
    }
    return { segment, others, answer }
  }

  /**
   * Sends the segment until there is an answer. Returns the answer, or the error if the segment will never be accepted
   * in its current form.
   */
  #send(segment: Segment, signal: AbortSignal): Promise<Sent['answer']> {
    const text = bodyOf(segment)
    const { idempotencyKey } = segment
    const options = { signal, timeoutMs: this.#timeoutMs, retriesMax: 0 }
    const sender = {
      send: async () => {
        const call = { text, options: { ...options, idempotencyKey } }
        return verifyBatch(await this.#http.json<Batch>(operations.postRecordsBatch, call), segment)
      },
      passes: () => passesWithoutRecords(this.#http, options),
      pause: () => sleep(this.#limits.delayMsMin, signal),
    }
    return this.#persistently(signal, async () => {
      const answer = await sendOrJudge(sender, segment)
      const isTooMany = segment.items.length === 1 && this.#setAside >= SET_ASIDE_IN_A_ROW_MAX
      if (answer instanceof UnexpectedAnswerError && isTooMany) throw waitsAfter(this.#setAside, answer)
      return answer
    })
  }

  /**
   * Handles a segment that a proxy or firewall refused. Splits a segment with several records into halves. Sets aside
   * the record of a segment with a single record. Returns the segments that remain.
   */
  async #avoid(
    batch: SpooledBatch,
    segment: Segment,
    others: readonly Segment[],
    error: UnexpectedAnswerError,
    signal: AbortSignal,
  ): Promise<readonly Segment[]> {
    if (segment.items.length > 1) {
      const halves = [...halve(segment), ...others]
      await this.#replace(batch, halves, signal)
      this.#report(segment, error)
      return halves
    }
    const why = setAside(utf8Encode(bodyOf(segment)).length, error)
    this.#setAside++
    return this.#takeOut(batch, segment, segment.items, others, { why, problem: problemOf(why) }, signal)
  }

  /** Handles a segment that the server refused. Returns the segments that remain. */
  async #refuse(
    batch: SpooledBatch,
    { segment, others, again }: { segment: Segment; others: readonly Segment[]; again: boolean },
    error: ApiError,
    signal: AbortSignal,
  ): Promise<readonly Segment[]> {
    const { refused, left } = splitRefused(segment, others, error, again)
    return this.#takeOut(batch, segment, refused, left, { why: error, problem: error.problem }, signal)
  }

  /**
   * Reports the first segment that is sent in halves because of its size. Later segments are not reported, because a
   * proxy with a size limit refuses every large batch. A record that is set aside is reported separately.
   */
  #report(segment: Segment, error: UnexpectedAnswerError): void {
    if (this.#isSizeReported || !isBySize(error)) return
    this.#isSizeReported = true
    this.#events.failed(sentInHalves(segment, error))
    this.#events.recovered()
  }

  /**
   * Stores the refused records in the spool's list of refused records, where people can read them. Then replaces the
   * batch's segments by `left`. Returns `left`.
   */
  async #takeOut(
    batch: SpooledBatch,
    { idempotencyKey }: Segment,
    refused: readonly Item[],
    left: readonly Segment[],
    { why, problem }: { readonly why: TallystickError; readonly problem: Refused['problem'] },
    signal: AbortSignal,
  ): Promise<readonly Segment[]> {
    const dead = refused.map((item) => ({ item, problem, idempotencyKey }))
    if (dead.length > 0) await this.#persistently(signal, () => this.#spool.refuse(dead))
    await this.#replace(batch, left, signal)
    if (dead.length > 0) this.#events.refused(dead, why)
    return left
  }

  #replace(batch: SpooledBatch, segments: readonly Segment[], signal: AbortSignal): Promise<void> {
    return this.#persistently(signal, () => batch.replace(segments))
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

  /** Ends all waits after errors that only people can fix. Called by a flush, because the cause may be fixed by now. */
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

/**
 * Returns the answer if it matches the segment. Throws UnexpectedAnswerError otherwise, because a server that is not
 * Tallystick may also answer 201.
 */
export function verifyBatch(batch: Batch, { items, idempotencyKey }: Segment): Batch {
  const isBatch = typeof batch?.batch === 'string' && typeof batch.entry?.seq === 'number'
  if (isBatch && Array.isArray(batch.records) && batch.records.length === items.length) return batch
  throw new UnexpectedAnswerError(
    `the answer does not match the ${items.length} sent records: check that the address is that of a Tallystick server`,
    { retryable: false, idempotencyKey },
  )
}

/**
 * Returns the answer if it names a ledger and an agent. Throws UnexpectedAnswerError otherwise, because a wrong owner
 * would be stored in the spool for good.
 */
function verifyLedger(ledger: GetLedgerAnswer): GetLedgerAnswer {
  if (typeof ledger?.id === 'string' && typeof ledger.key?.agent === 'string') return ledger
  throw new UnexpectedAnswerError(
    `the answer names no ledger and agent: check that the address is that of a Tallystick server`,
    { retryable: false, idempotencyKey: null },
  )
}
