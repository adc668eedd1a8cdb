import { type Item, withParent } from './items.ts'
import type { Handles, RecordHandle, Segment } from './spool.ts'

/** Bounds what is kept for records that may never come: a handle with its id has 100 bytes or so. */
export const HANDLES_MAX = 10_000

/** In memory, the oldest forgotten first. */
export class MemoryHandles implements Handles {
  readonly ids = new Map<string, string>()

  find(handle: string): string | undefined {
    return this.ids.get(handle)
  }

  async keep(found: readonly RecordHandle[]): Promise<void> {
    this.add(found)
  }

  add(found: readonly RecordHandle[]): void {
    for (const [handle, id] of found) {
      this.ids.delete(handle)
      this.ids.set(handle, id)
    }
    for (const oldest of this.ids.keys()) {
      if (this.ids.size <= HANDLES_MAX) break
      this.ids.delete(oldest)
    }
  }
}

/** Whether a parent is named that is no earlier record of the segment: its id has to be known before it is sent. */
export function lacksParent(segment: Segment): boolean {
  return parentsElsewhere(segment).size > 0
}

/** The segment with the ids of these parents in its text. The same request after a crash, if it is kept before it is sent. */
export function giveParents(segment: Segment, handles: Handles): Segment {
  const elsewhere = parentsElsewhere(segment)
  const items = segment.items.map((item) => {
    if (!elsewhere.has(item)) return item
    const id = handles.find(item.parentHandle!)
    return {
      ...item,
      parentHandle: undefined,
      text: id === undefined ? item.text : withParent(item.text, id),
    }
  })
  return { ...segment, items }
}

/** Body of the request for a segment. */
export function bodyOf(segment: Segment): string {
  return `{"records":[${textsOf(segment).join(',')}]}`
}

/** Texts that are sent: a parent in the segment is named by its place, which the segment alone decides. */
function textsOf({ items }: Segment): string[] {
  const places = new Map<string, number>()
  return items.map(({ text, handle, parentHandle }, i) => {
    const place = parentHandle === undefined ? undefined : places.get(parentHandle)
    if (handle !== undefined) places.set(handle, i)
    return place === undefined ? text : withParent(text, place)
  })
}

/** Records whose parent is no earlier record of the segment. */
function parentsElsewhere({ items }: Segment): ReadonlySet<Item> {
  const earlier = new Set<string>()
  const found = new Set<Item>()
  for (const item of items) {
    if (item.parentHandle !== undefined && !earlier.has(item.parentHandle)) found.add(item)
    if (item.handle !== undefined) earlier.add(item.handle)
  }
  return found
}
