/**
 * Items that wait, by owner. Owners take turns (round-robin), and the items of one owner keep their order: an owner with a thousand
 * items delays another owner's first item by one. Pure; whoever adds MUST bound it (shares.ts).
 */
export class FairQueue<T> {
  /** The owner whose turn is next is first. No queue is empty. */
  readonly #queues = new Map<string, T[]>()
  #size = 0

  get size(): number {
    return this.#size
  }

  /** Owners that wait. */
  get owners(): number {
    return this.#queues.size
  }

  lengthOf(owner: string): number {
    return this.#queues.get(owner)?.length ?? 0
  }

  /** Owners in the order of their turns. An owner that `take` puts behind the others is visited once more. */
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

  /** The owner's first item. The owner is then behind all others. MUST NOT be called for an owner that has none. */
  take(owner: string): T {
    const queue = this.#queues.get(owner)!
    const item = queue.shift()!
    this.#queues.delete(owner)
    if (queue.length > 0) this.#queues.set(owner, queue)
    this.#size--
    return item
  }

  /** The first item of the first owner that `may`; null: there is none. */
  next(may: (owner: string, first: T) => boolean = () => true): T | null {
    for (const [owner, [first]] of this.#queues) if (may(owner, first!)) return this.take(owner)
    return null
  }

  /** For an item that waits no longer. */
  delete(owner: string, item: T): void {
    const queue = this.#queues.get(owner)
    const at = queue?.indexOf(item) ?? -1
    if (!queue || at < 0) return
    queue.splice(at, 1)
    if (queue.length === 0) this.#queues.delete(owner)
    this.#size--
  }
}
