import { type Item, withParent } from './items.ts'
import type { Handles, RecordHandle, Segment } from './spool.ts'

/**
 * Maximum number of handles that are remembered. The notarizer cannot know whether further child records will come, so
 * without a limit the handles would fill the memory. A handle with its id takes about 100 bytes.
 */
export const HANDLES_MAX = 10_000

/** Stores handles in memory. Forgets the oldest handles first. */
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

/**
 * Returns whether a record of the segment has a parent that is not an earlier record of the segment. The parent's id
 * must be known before the segment is sent.
 */
export function lacksParent(segment: Segment): boolean {
  return parentsElsewhere(segment).size > 0
}

/**
 * Returns the segment with the ids of parents from other segments added to its texts. A parent with an unknown id is
 * left out. Store the result before you send it, so that a retry after a crash sends the same request.
 */
export function withParentIds(segment: Segment, handles: Handles): Segment {
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

export function bodyOf(segment: Segment): string {
  return `{"records":[${textsOf(segment).join(',')}]}`
}

/** Returns the texts to send. A parent in the same segment is named by its position in the segment. */
function textsOf({ items }: Segment): string[] {
  const positions = new Map<string, number>()
  return items.map(({ text, handle, parentHandle }, i) => {
    const position = parentHandle === undefined ? undefined : positions.get(parentHandle)
    if (handle !== undefined) positions.set(handle, i)
    return position === undefined ? text : withParent(text, position)
  })
}

/** Returns the records whose parent is not an earlier record of the segment. */
function parentsElsewhere({ items }: Segment): ReadonlySet<Item> {
  const earlier = new Set<string>()
  const found = new Set<Item>()
  for (const item of items) {
    if (item.parentHandle !== undefined && !earlier.has(item.parentHandle)) found.add(item)
    if (item.handle !== undefined) earlier.add(item.handle)
  }
  return found
}
