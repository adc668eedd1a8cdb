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

type Split = { readonly refused: readonly Item[]; readonly rest: readonly Segment[] }

/**
 * Splits a refused segment. Every part holds fewer items than the segment, so that it ends.
 *
 * Where the server names an item, that one is refused, and the rest is sent again; where that is refused as well (`again`), in
 * two halves: of 1000 records that are all bad, one request each would otherwise send half a million. A type that the
 * ledger does not have is the commonest of them, and concerns all of the batch's records of that type. Where no item is
 * named, halves find it.
 */
export function splitRefused({ items }: Segment, error: ApiError, again: boolean): Split {
  // A key of 128 random bits was used before: the spool was changed, or copied and used twice. Nobody knows which of
  // its records are in the ledger, and with another key they might be there twice.
  if (error.code === 'idempotency_key_reused') return { refused: items, rest: [] }
  const index = indexOf(error)
  const named = index === null ? undefined : items[index]
  if (named === undefined)
    return items.length === 1 ? { refused: items, rest: [] } : { refused: [], rest: halves(items) }
  const isRefused = ofType(error)
    ? (item: Item) => typeOf(item) === typeOf(named)
    : (item: Item) => item === named
  const kept = items.filter((item) => !isRefused(item))
  return { refused: items.filter(isRefused), rest: again ? halves(kept) : segments(kept) }
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
