import { ApiError } from '../errors.ts'
import { makeIdempotencyKey } from '../idempotency-key.ts'
import type { Item } from './items.ts'
import type { Segment } from './spool.ts'

/** HTTP statuses that refuse the body. The server would refuse the same body every time. */
const OF_THE_BODY = [400, 413, 422]

/** Error codes about the signer, its key or its clock. The records do not cause these errors. */
const OF_THE_SIGNER: ReadonlySet<string> = new Set([
  'envelope_refused',
  'signing_key_refused',
  'signed_time_refused',
  'statement_mismatch',
])

/**
 * Returns whether the server will never accept this request. After any other error, the same request may succeed later.
 */
export function isRefusal(error: unknown): error is ApiError {
  return error instanceof ApiError && OF_THE_BODY.includes(error.status) && !OF_THE_SIGNER.has(error.code)
}

/** Result of splitting a segment. `left` are the segments that are still to be sent. */
type Split = { readonly refused: readonly Item[]; readonly left: readonly Segment[] }

/**
 * Splits a refused segment, the first of its batch. Every resulting segment has fewer items, so the splitting ends.
 *
 * If the server names an item, that item is refused and the other items are sent again. If that request is refused too
 * (`again`), the other items are halved. Without halving, 1000 bad records would need one request each, with half a
 * million records in total. The most common cause is an unknown type: then all records of that type are refused
 * together. If the server names no item, the segment is halved until the bad item is found.
 */
export function splitRefused(
  { idempotencyKey, items }: Segment,
  others: readonly Segment[],
  error: ApiError,
  again: boolean,
): Split {
  // The key has 128 random bits, but it was used before. There are three possible causes: the spool was changed, the
  // spool was copied and used twice, or a larger request was written and its answer was replaced on the way
  // (foreign-refusals.ts). It is unknown which of these records are in the ledger. With another key they might be
  // recorded twice, so they are refused.
  if (error.code === 'idempotency_key_reused') {
    const [same, left] = partition(others, (other) => other.idempotencyKey === idempotencyKey)
    return { refused: [...items, ...same.flatMap((other) => other.items)], left }
  }
  const index = indexOf(error)
  const named = index === null ? undefined : items[index]
  if (named === undefined)
    return items.length === 1
      ? { refused: items, left: others }
      : { refused: [], left: [...halves(items), ...others] }
  const isRefused = ofType(error)
    ? (item: Item) => typeOf(item) === typeOf(named)
    : (item: Item) => item === named
  const [refused, kept] = partition(items, isRefused)
  return { refused, left: [...(again ? halves(kept) : segments(kept)), ...others] }
}

function partition<T>(all: readonly T[], isFirst: (one: T) => boolean): [T[], T[]] {
  return [all.filter(isFirst), all.filter((one) => !isFirst(one))]
}

/**
 * Returns the index of the item that a problem names, or null if it names no item. Some problems name the item only by
 * `path`, such as `/records/7/occurredAt`.
 */
function indexOf({ problem }: ApiError): number | null {
  const { index, path } = problem as { index?: unknown; path?: unknown }
  if (typeof index === 'number') return index
  const found = typeof path === 'string' ? /^\/records\/(\d{1,4})(?:\/|$)/.exec(path) : null
  return found ? Number(found[1]) : null
}

function ofType({ code }: ApiError): boolean {
  return code === 'unknown_type' || code === 'not_notarizable'
}

/** Returns the beginning of the record's text, which contains its type (items.ts). */
function typeOf({ text }: Item): string {
  return text.slice(0, text.indexOf(',"payload":'))
}

function halves(items: readonly Item[]): Segment[] {
  const middle = Math.ceil(items.length / 2)
  return [...segments(items.slice(0, middle)), ...segments(items.slice(middle))]
}

/** Returns a list with one segment of these items and a new key. Returns an empty list if there are no items. */
function segments(items: readonly Item[]): Segment[] {
  return items.length === 0 ? [] : [{ idempotencyKey: makeIdempotencyKey(), items }]
}
