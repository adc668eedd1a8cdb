import { ApiError } from '../errors.ts'
import { makeIdempotencyKey } from '../idempotency-key.ts'
import type { Item } from './items.ts'
import type { Segment } from './spool.ts'

/** Statuses of what is wrong with a body: it would be refused as often as it is sent. */
const OF_THE_BODY = [400, 413, 422]

/** Codes of what is wrong with the signer, its key or its clock: no record's fault. */
const OF_THE_SIGNER: ReadonlySet<string> = new Set([
  'envelope_refused',
  'signing_key_refused',
  'signed_time_refused',
  'statement_mismatch',
])

/** Whether the server will never take this request. It may take any other, when people have mended something. */
export function isRefusal(error: unknown): error is ApiError {
  return error instanceof ApiError && OF_THE_BODY.includes(error.status) && !OF_THE_SIGNER.has(error.code)
}

/** `left`: segments that are still to be sent. */
type Split = { readonly refused: readonly Item[]; readonly left: readonly Segment[] }

/**
 * Splits the first of a batch's segments, which was refused. Every part holds fewer items than the segment, so that it ends.
 *
 * Where the server names an item, that one is refused, and the rest is sent again; where that is refused as well (`again`), in
 * two halves: of 1000 records that are all bad, one request each would otherwise send half a million. A type that the
 * ledger does not have is the commonest of them, and concerns all of the batch's records of that type. Where no item is
 * named, halves find it.
 */
export function splitRefused(
  { idempotencyKey, items }: Segment,
  others: readonly Segment[],
  error: ApiError,
  again: boolean,
): Split {
  // A key of 128 random bits was used before: the spool was changed, or copied and used twice; or a larger request was written, and
  // something replaced its answer (foreign-refusals.ts). Nobody knows which of these records are in the ledger, and with
  // another key they might be there twice.
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

/** A fault that no schema of the batch knows is located by `path` alone: `/records/7/occurredAt`. */
function indexOf({ problem }: ApiError): number | null {
  const { index, path } = problem as { index?: unknown; path?: unknown }
  if (typeof index === 'number') return index
  const found = typeof path === 'string' ? /^\/records\/(\d{1,4})(?:\/|$)/.exec(path) : null
  return found ? Number(found[1]) : null
}

function ofType({ code }: ApiError): boolean {
  return code === 'unknown_type' || code === 'not_notarizable'
}

/** As its text begins (items.ts). */
function typeOf({ text }: Item): string {
  return text.slice(0, text.indexOf(',"payload":'))
}

function halves(items: readonly Item[]): Segment[] {
  const middle = Math.ceil(items.length / 2)
  return [...segments(items.slice(0, middle)), ...segments(items.slice(middle))]
}

/** A segment of these items: none of no items. */
function segments(items: readonly Item[]): Segment[] {
  return items.length === 0 ? [] : [{ idempotencyKey: makeIdempotencyKey(), items }]
}
