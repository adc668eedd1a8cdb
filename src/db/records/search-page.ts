import { PAGE_BYTES_MAX } from '../limits.ts'
import { isBeyond, type Order, type Place } from './search.ts'

type Placed = { readonly place: Place; readonly bytes: number }

/** `isFull`: no further record would fit. `next`: where the next page begins; null: there is none. */
export type Page<T> = { readonly found: readonly T[]; readonly next: Place | null; readonly isFull: boolean }

/**
 * Merges the sources into one page. Each source is sorted and complete up to `end`, and no record is in two of them.
 * `end` null: the sources are complete.
 */
export function cutPage<T extends Placed>(
  sources: readonly (readonly T[])[],
  end: Place | null,
  order: Order,
  limit: number,
): Page<T> {
  const all = sources
    .flat()
    .filter(({ place }) => end === null || !isBeyond(place, end, order))
    .sort((a, b) => (isBeyond(a.place, b.place, order) ? 1 : -1))
  const found: T[] = []
  let bytes = 0
  for (const one of all) {
    bytes += one.bytes
    if (found.length === limit || (found.length > 0 && bytes > PAGE_BYTES_MAX)) break
    found.push(one)
  }
  const isCut = found.length < all.length
  return { found, next: isCut ? found.at(-1)!.place : end, isFull: isCut || found.length === limit }
}
