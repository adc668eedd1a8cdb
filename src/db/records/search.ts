import type { RecordFilters } from './search-streams.ts'

/**
 * The position of a record in the chain: the seq of the record's first entry, and the record's index in that entry's
 * batch. `index` is 0 for a record that is not in a batch.
 */
export type RecordPosition = { readonly seq: number; readonly index: number }

/** A number larger than any index in a batch (src/proof/statement/batch-ids.ts). */
export const POSITION_INDEX_MAX = 2_048

export type Order = 'asc' | 'desc'

export type RecordSearch = {
  readonly filters: RecordFilters
  readonly order: Order
  /** The search finds only records beyond this position. null if the search finds all records. */
  readonly after: RecordPosition | null
  readonly limit: number
  /**
   * Limit that only tests set. The default is SEARCH_CANDIDATES_MAX for candidates and SEARCH_ENTRIES_SKIPPED_MAX for
   * skipped entries.
   */
  readonly candidatesMax?: number
  /** Limit that only tests set. The default is SEARCH_CHUNKS_MAX. */
  readonly chunksMax?: number
}

/** A range of entries, from `from` up to, but not including, `end`. */
export type SeqRange = { readonly from: number; readonly end: number }

export function isBeyond(a: RecordPosition, b: RecordPosition, order: Order): boolean {
  const difference = a.seq === b.seq ? a.index - b.index : a.seq - b.seq
  return order === 'asc' ? difference > 0 : difference < 0
}

/** Returns the position that comes first in search order. null stands for the end of the search, which comes last. */
export function earlierOf(
  a: RecordPosition | null,
  b: RecordPosition | null,
  order: Order,
): RecordPosition | null {
  if (a === null || b === null) return a ?? b
  return isBeyond(a, b, order) ? b : a
}
