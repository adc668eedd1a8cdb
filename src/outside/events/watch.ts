import { setTimeout as sleep } from 'node:timers/promises'

type WatchLog = { warn(details: object, message: string): void }

type WatchOptions<Key, Seen> = {
  /** Name of the watched things in log messages, for example "ledgers with open event streams". */
  readonly noun: string
  /** Returns a text that identifies the key. Equal keys have equal texts. */
  readonly keyOf: (key: Key) => string
  /** Reads the state of each key. The result has the order of `keys`. */
  readonly read: (keys: readonly Key[]) => Promise<readonly Seen[]>
  readonly pollMs: number
  /** Maximum share of time that queries may take. With many keys, queries run less often. */
  readonly timeShareMax: number
  readonly log: WatchLog
}

type Waiter<Seen> = (seen: Seen) => void

type Watched<Key, Seen> = { readonly key: Key; readonly waiters: Set<Waiter<Seen>> }

/**
 * Waits for changes of state in the database. Any process may make these changes, so the database is polled. One query
 * serves all keys that have a waiter. Without waiters no query runs. While the database is unreachable, waiters
 * continue to wait.
 */
export class Watch<Key, Seen> {
  readonly #options: WatchOptions<Key, Seen>
  /** Maps the text of a key to the key and its waiters. */
  readonly #watched = new Map<string, Watched<Key, Seen>>()
  #isPolling = false

  constructor(options: WatchOptions<Key, Seen>) {
    this.#options = options
  }

  /** Returns the first state for which `matches` is true. Returns null after `msMax`, or when `signal` aborts. */
  until(
    key: Key,
    matches: (seen: Seen) => boolean,
    { msMax, signal }: { readonly msMax: number; readonly signal: AbortSignal },
  ): Promise<Seen | null> {
    if (signal.aborted) return Promise.resolve(null)
    const text = this.#options.keyOf(key)
    return new Promise((resolve) => {
      const settle = (seen: Seen | null) => {
        clearTimeout(timer)
        signal.removeEventListener('abort', stop)
        this.#forget(text, waiter)
        resolve(seen)
      }
      const waiter: Waiter<Seen> = (seen) => {
        if (matches(seen)) settle(seen)
      }
      const stop = () => settle(null)
      const timer = setTimeout(stop, msMax)
      signal.addEventListener('abort', stop)
      this.#remember(text, key, waiter)
    })
  }

  #remember(text: string, key: Key, waiter: Waiter<Seen>): void {
    const watched = this.#watched.get(text) ?? { key, waiters: new Set() }
    watched.waiters.add(waiter)
    this.#watched.set(text, watched)
    if (!this.#isPolling) void this.#poll()
  }

  #forget(text: string, waiter: Waiter<Seen>): void {
    const watched = this.#watched.get(text)
    watched?.waiters.delete(waiter)
    if (watched?.waiters.size === 0) this.#watched.delete(text)
  }

  /** Polls until there are no waiters. Never throws. */
  async #poll(): Promise<void> {
    const { pollMs, timeShareMax, log, noun } = this.#options
    this.#isPolling = true
    let tookMs = 0
    let isAway = false
    for (;;) {
      await sleep(Math.max(pollMs, tookMs / timeShareMax - tookMs))
      if (this.#watched.size === 0) break
      const startedAt = performance.now()
      try {
        await this.#readAll()
        isAway = false
      } catch (error) {
        if (!isAway) log.warn({ err: error }, `${noun} cannot be read`)
        isAway = true
      }
      tookMs = performance.now() - startedAt
    }
    this.#isPolling = false
  }

  async #readAll(): Promise<void> {
    const all = [...this.#watched.values()]
    const seen = await this.#options.read(all.map(({ key }) => key))
    for (const [i, { waiters }] of all.entries()) for (const waiter of [...waiters]) waiter(seen[i]!)
  }
}
