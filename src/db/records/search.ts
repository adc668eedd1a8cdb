import type { RecordFilters } from './search-streams.ts'

/** A record's place in the chain: the entry that began it, and its place in that entry's batch (0 without one). */
export type Place = { readonly seq: number; readonly index: number }

export type RecordSearch = {
  readonly filters: RecordFilters
  readonly order: 'asc' | 'desc'
  /** Records beyond this place only. */
  readonly after: Place | null
  readonly limit: number
  /** For tests: SEARCH_CANDIDATES_MAX otherwise, and of entries SEARCH_ENTRIES_SKIPPED_MAX. */
  readonly candidatesMax?: number
}

/** A part of the chain: from an entry on, up to another and not including it. */
export type Stretch = { readonly from: number; readonly end: number }
