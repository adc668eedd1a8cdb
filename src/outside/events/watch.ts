import { setTimeout as sleep } from 'node:timers/promises'

type WatchLog = { warn(details: object, message: string): void }

type WatchOptions<Key, Seen> = {
  /** For the log: "ledgers that are tailed". */
  readonly what: string
  /** Text of a key; two that are one have the same. */
  readonly keyOf: (key: Key) => string
  /** State of each, in the order of the keys. */
  readonly look: (keys: readonly Key[]) => Promise<readonly Seen[]>
  readonly pollMs: number
  /** Share of the time that looks may take: with many keys they are made less often. */
  readonly timeShareMax: number
  readonly log: WatchLog
}

/** Hears of each look at its key. */
type Waiter<Seen> = (seen: Seen) => void

type Watched<Key, Seen> = { readonly key: Key; readonly waiters: Set<Waiter<Seen>> }

/**
 * Tells those who wait for it what was seen in the database: one query for all keys that somebody waits for, and none while
 * nobody does. It does not matter which process wrote it. While the database is away they wait on.
 */
export class Watch<Key, Seen> {
  readonly #options: WatchOptions<Key, Seen>
  /** By text of the key; without waiters one is not here. */
  readonly #watched = new Map<string, Watched<Key, Seen>>()
  #isPolling = false

  constructor(options: WatchOptions<Key, Seen>) {
    this.#options = options
  }

  /** The state as soon as `isIt`; null where it is not after `msMax`, or `signal` says to stop. */
  until(
    key: Key,
    isIt: (seen: Seen) => boolean,
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
        if (isIt(seen)) settle(seen)
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

  /** Until nobody waits. Never throws. */
  async #poll(): Promise<void> {
    const { pollMs, timeShareMax, log, what } = this.#options
    this.#isPolling = true
    let tookMs = 0
    let isAway = false
    for (;;) {
      await sleep(Math.max(pollMs, tookMs / timeShareMax - tookMs))
      if (this.#watched.size === 0) break
      const startedAt = performance.now()
      try {
        await this.#look()
        isAway = false
      } catch (error) {
        if (!isAway) log.warn({ err: error }, `${what} cannot be looked at`)
        isAway = true
      }
      tookMs = performance.now() - startedAt
    }
    this.#isPolling = false
  }

  async #look(): Promise<void> {
    const all = [...this.#watched.values()]
    const seen = await this.#options.look(all.map(({ key }) => key))
    for (const [i, { waiters }] of all.entries()) for (const waiter of [...waiters]) waiter(seen[i]!)
  }
}
