/**
 * Queue of items by owner, round-robin. The items of one owner stay in order. However many items one owner has, it
 * delays another owner's first item by only one item. The class is pure. Callers MUST limit what they add
 * (shares.ts).
 */
export class FairQueue<T> {
  /**
   * Queues of the owners in round-robin order, starting with the next owner. An owner with an empty queue is not
   * listed.
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
   * Owners in round-robin order, with their items. If `take` moves an owner to the end during the iteration, the
   * iteration visits that owner again.
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
