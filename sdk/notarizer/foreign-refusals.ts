import { ApiError, UnexpectedAnswerError } from '../errors.ts'
import { operations } from '../generated/operations.ts'
import type { CallOptions, Transport } from '../http/transport.ts'
import type { Batch } from '../resources/batches.ts'
import { isRefusal } from './refusals.ts'
import type { ForeignProblem, Segment } from './spool.ts'

/*
 * Handles refusals of a proxy or firewall between a notarizer and its server. A proxy or firewall may refuse a request
 * for its content or its size.
 *
 * The segment is halved until the refused record is found. The refusal does not prove that the server never got the
 * request. So each half keeps the key of the whole request (K), and there are three cases:
 *
 * - `abcd` with K is refused. `ab` and then `cd` are sent with K. It is unknown whether K was used.
 * - `ab` with K is recorded. So K was not used for `abcd`. `cd` gets a new key.
 * - `ab` with K is answered `idempotency_key_reused`. So `abcd` was recorded, and its answer was lost or replaced.
 *   `abcd` is sent again with K. If the server answers, all four are recorded. Otherwise none of them is sent again.
 */

/** HTTP statuses that request authentication. They do not depend on the content of the request. */
const LOGINS: ReadonlySet<number> = new Set([401, 407, 511])
const BY_SIZE: ReadonlySet<number> = new Set([413, 414, 431])
/**
 * Number of attempts with a single record before the record is set aside. Each attempt also checks that a request
 * without records reaches the server.
 */
const ATTEMPTS_ALONE = 3
/**
 * Maximum number of consecutive records that are set aside. The notarizer then stops, because the proxy may refuse
 * every request that contains a record.
 */
export const SET_ASIDE_IN_A_ROW_MAX = 100
/** Size in MB of the largest request body, including space for parents. */
const BODY_MB = 1.1

/** Sends requests, and checks whether a harmless request reaches the server. */
export type Sender = {
  /** Sends a segment and returns the answer. Throws the errors of `Transport.json`. */
  send(segment: Segment): Promise<Batch>
  /** Returns whether a harmless request of the same kind reaches the server. */
  passes(): Promise<boolean>
  pause(): Promise<void>
}

/** Returns whether a proxy or firewall in front of the server refused the request. */
export function isForeignRefusal(error: unknown): error is UnexpectedAnswerError {
  if (!(error instanceof UnexpectedAnswerError) || error.retryable || error.status === null) return false
  return error.status >= 400 && error.status < 600 && !LOGINS.has(error.status)
}

export function isBySize({ status }: UnexpectedAnswerError): boolean {
  return status !== null && BY_SIZE.has(status)
}

/**
 * Sends a segment. Returns the answer, or the error if this segment will never be accepted. Throws every other error.
 * Throws also if requests without records are refused, because the segment is then not the cause.
 */
export async function sendOrJudge(
  sender: Sender,
  segment: Segment,
): Promise<Batch | ApiError | UnexpectedAnswerError> {
  const isAlone = segment.items.length === 1
  for (let attempts = 1; ; attempts++) {
    try {
      return await sender.send(segment)
    } catch (error) {
      if (isRefusal(error)) return error
      if (!isForeignRefusal(error)) throw error
      if (!isAlone && isBySize(error)) return error
      if (!(await sender.passes())) throw everythingRefused(error)
      if (!isAlone || attempts === ATTEMPTS_ALONE) return error
      await sender.pause()
    }
  }
}

const NO_RECORDS = '{"records":[]}'

/**
 * Sends a batch without records. The server refuses it, but a firewall has no reason to refuse it. Returns whether the
 * request reached the server.
 */
export async function passesWithoutRecords(http: Transport, options: CallOptions): Promise<boolean> {
  try {
    // `text` is used instead of `json`, because `json` would request a signature from the signer.
    const text = await http.text(operations.postRecordsBatch, 'application/json', {
      text: NO_RECORDS,
      options: { ...options, retriesMax: 0 },
    })
    return isEmptyBatch(text)
  } catch (error) {
    if (error instanceof ApiError && error.status < 500) return true
    if (isForeignRefusal(error)) return false
    throw error
  }
}

function isEmptyBatch(text: string): boolean {
  try {
    const { records } = JSON.parse(text) as Partial<Batch>
    return Array.isArray(records) && records.length === 0
  } catch {
    return false
  }
}

/** Splits a segment of several records into two with the same key. */
export function halve({ idempotencyKey, items }: Segment): Segment[] {
  const middle = Math.ceil(items.length / 2)
  return [items.slice(0, middle), items.slice(middle)].map((half) => ({ idempotencyKey, items: half }))
}

/**
 * Joins the first segment with the next segment if both have the same key. This undoes a halving. Returns the joined
 * segment and the remaining segments. Returns null if the next segment has another key.
 */
export function rejoin(
  { idempotencyKey, items }: Segment,
  others: readonly Segment[],
): [Segment, readonly Segment[]] | null {
  const [next, ...rest] = others
  if (next?.idempotencyKey !== idempotencyKey) return null
  return [{ idempotencyKey, items: [...items, ...next.items] }, rest]
}

/** Gives a new key to each segment that has the key `recorded`, because a recorded segment has used this key. */
export function renewKeys(
  segments: readonly Segment[],
  recorded: string,
  makeKey: (segment: Segment) => string,
): readonly Segment[] {
  if (!segments.some(({ idempotencyKey }) => idempotencyKey === recorded)) return segments
  return segments.map((segment) =>
    segment.idempotencyKey === recorded ? { ...segment, idempotencyKey: makeKey(segment) } : segment,
  )
}

/** Returns an error for `onError` with the message that the segment is sent in halves. */
export function sentInHalves({ items }: Segment, error: UnexpectedAnswerError): UnexpectedAnswerError {
  const { status } = error
  return new UnexpectedAnswerError(
    `something in front of the server answered ${status} to a batch of ${items.length} records, which is sent in halves now. What to do: ${adviceFor(error)}`,
    { retryable: true, idempotencyKey: null, status, nothingDone: true },
  )
}

/**
 * Returns an error for `onRefused` with the message that the record is set aside. `bytes` is the size of the record's
 * request.
 */
export function setAside(bytes: number, error: UnexpectedAnswerError): UnexpectedAnswerError {
  const { status, nothingDone } = error
  return new UnexpectedAnswerError(
    `something in front of the server answers ${status} to this record (${bytes} bytes), but lets other requests pass: the record is skipped. What to do: ${adviceFor(error)}; then record it again`,
    { retryable: false, idempotencyKey: null, status, nothingDone },
  )
}

/**
 * Returns an error for `onError` with the message that records wait, because too many consecutive records were refused.
 * `records` is their number.
 */
export function waitsAfter(records: number, error: UnexpectedAnswerError): UnexpectedAnswerError {
  return new UnexpectedAnswerError(
    `something in front of the server refused ${records} records in a row, each sent alone: the others wait. What to do: ${adviceFor(error)}`,
    { retryable: false, idempotencyKey: null, status: error.status, nothingDone: true },
  )
}

function everythingRefused(error: UnexpectedAnswerError): UnexpectedAnswerError {
  const { status, nothingDone, message } = error
  return new UnexpectedAnswerError(
    `requests without records are refused too, so all records wait: ${message}`,
    {
      retryable: false,
      // null, because the message already contains the key.
      idempotencyKey: null,
      status,
      nothingDone,
      cause: error,
    },
  )
}

function adviceFor(error: UnexpectedAnswerError): string {
  return isBySize(error)
    ? `let the proxy accept bodies of ${BODY_MB} MB for POST /v1/records/batch (client_max_body_size of nginx)`
    : 'let the firewall pass bodies of POST /v1/records/batch, whatever they contain'
}

/** Returns the problem for `refused.ndjson`. It has no `code`, because the server did not answer. */
export function problemOf({ status, message }: UnexpectedAnswerError): ForeignProblem {
  return { type: 'about:blank', title: 'Refused in front of the server', status: status!, detail: message }
}
