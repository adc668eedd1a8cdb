import type { RecordFilters } from './search-streams.ts'

/** A record's place in the chain: the entry that began it, and its place in that entry's batch (0 without one). */
export type Place = { readonly seq: number; readonly index: number }

/** Beyond every record of a batch (src/proof/statement/batch-ids.ts). */
export const PLACE_INDEX_MAX = 2_048

export type Order = 'asc' | 'desc'

export type RecordSearch = {
  readonly filters: RecordFilters
  readonly order: Order
  /** Records beyond this place only. */
  readonly after: Place | null
  readonly limit: number
  /** For tests: SEARCH_CANDIDATES_MAX otherwise, and of entries SEARCH_ENTRIES_SKIPPED_MAX. */
  readonly candidatesMax?: number
  /** For tests: SEARCH_CHUNKS_MAX otherwise. */
  readonly chunksMax?: number
}

/** A part of the chain: from an entry on, up to another and not including it. */
export type Stretch = { readonly from: number; readonly end: number }

/** Whether `a` comes after `b` in that order. */
export function isBeyond(a: Place, b: Place, order: Order): boolean {
  const difference = a.seq === b.seq ? a.index - b.index : a.seq - b.seq
  return order === 'asc' ? difference > 0 : difference < 0
}

/** The one that comes first; null: none is later. */
export function earlierOf(a: Place | null, b: Place | null, order: Order): Place | null {
  if (a === null || b === null) return a ?? b
  return isBeyond(a, b, order) ? b : a
}
