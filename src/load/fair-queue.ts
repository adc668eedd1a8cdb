/**
 * A queue of items by owner. Owners are served round-robin, and the items of one owner stay in order. However many
 * items an owner has, it delays the first item of another owner by only one item. The queue has no limit, so callers
 * MUST limit what they add (shares.ts).
 */
export class FairQueue<T> {
  /**
   * Maps an owner to its queue. The owners are in round-robin order, and the next owner is first. Owners without items
   * are not listed.
   */
  readonly #queues = new Map<string, T[]>()
  #size = 0

  get size(): number {
    return this.#size
  }

  get owners(): number {
    return this.#queues.size
  }

  lengthOf(owner: string): number {
    return this.#queues.get(owner)?.length ?? 0
  }

  /**
   * Returns the owners in round-robin order, with their items. If `take` moves an owner to the end during the
   * iteration, the iteration visits this owner again.
   */
  entries(): Iterable<[owner: string, items: readonly T[]]> {
    return this.#queues
  }

  add(owner: string, item: T, place: 'first' | 'last' = 'last'): void {
    const queue = this.#queues.get(owner)
    if (!queue) this.#queues.set(owner, [item])
    else if (place === 'last') queue.push(item)
    else queue.unshift(item)
    this.#size++
  }

  /** Removes and returns the owner's first item, and moves the owner behind all others. The owner MUST have an item. */
  take(owner: string): T {
    const queue = this.#queues.get(owner)!
    const item = queue.shift()!
    this.#queues.delete(owner)
    if (queue.length > 0) this.#queues.set(owner, queue)
    this.#size--
    return item
  }

  /** Takes the first item of the first owner that `may` accepts. Returns null if no owner is accepted. */
  next(may: (owner: string, first: T) => boolean = () => true): T | null {
    for (const [owner, [first]] of this.#queues) if (may(owner, first!)) return this.take(owner)
    return null
  }

  delete(owner: string, item: T): void {
    const queue = this.#queues.get(owner)
    const at = queue?.indexOf(item) ?? -1
    if (!queue || at < 0) return
    queue.splice(at, 1)
    if (queue.length === 0) this.#queues.delete(owner)
    this.#size--
  }
}
