import { PAGE_BYTES_MAX } from '../limits.ts'
import { isBeyond, type Order, type RecordPosition } from './search.ts'

type Positioned = { readonly position: RecordPosition; readonly bytes: number }

/**
 * A page of records.
 *
 * - `isFull`: true if no further record fits into the page.
 * - `next`: position after which the next page begins. null if this is the last page.
 */
export type Page<T> = {
  readonly found: readonly T[]
  readonly next: RecordPosition | null
  readonly isFull: boolean
}

/**
 * Merges lists of matches into one page. Each list must be sorted and must contain all matches up to `end`. If `end` is
 * null, each list must contain all matches of the search. No record may be in two lists.
 */
export function cutPage<T extends Positioned>(
  sources: readonly (readonly T[])[],
  end: RecordPosition | null,
  order: Order,
  limit: number,
): Page<T> {
  const all = sources
    .flat()
    .filter(({ position }) => end === null || !isBeyond(position, end, order))
    .sort((a, b) => (isBeyond(a.position, b.position, order) ? 1 : -1))
  const found: T[] = []
  let bytes = 0
  for (const one of all) {
    bytes += one.bytes
    if (found.length === limit || (found.length > 0 && bytes > PAGE_BYTES_MAX)) break
    found.push(one)
  }
  const isCut = found.length < all.length
  return { found, next: isCut ? found.at(-1)!.position : end, isFull: isCut || found.length === limit }
}
