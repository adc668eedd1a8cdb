import { TYPE_CACHE_BYTES_MAX, TYPE_CACHE_BYTES_PER_LEDGER_MAX } from './limits.ts'

type CachedType<T> = { readonly value: T; readonly bytes: number }
type LedgerCache<T> = { readonly types: Map<string, CachedType<T>>; bytes: number }

/**
 * Cache of types by ledger and name. If a ledger exceeds its own limit, its least recently used types are dropped. If
 * all ledgers together exceed the total limit, all types of the least recently used ledger are dropped.
 *
 * If a type does not exist, this is not cached. So a type that was registered through another server is found at once,
 * even if the same caller has just failed to find it.
 */
export class TypeCache<T> {
  /** Ledgers in the order of use. The types of each ledger are in the order of use too. */
  readonly #ledgers = new Map<string, LedgerCache<T>>()
  readonly #loading = new Map<string, Promise<CachedType<T> | null>>()
  #bytes = 0
  #hits = 0
  #misses = 0

  get bytes(): number {
    return this.#bytes
  }

  get figures(): { readonly bytes: number; readonly hits: number; readonly misses: number } {
    return { bytes: this.#bytes, hits: this.#hits, misses: this.#misses }
  }

  /**
   * Returns a type, or null if `load` finds no type. Concurrent callers share one call of `load`. If it finds no type,
   * the next caller calls `load` again.
   */
  async get(ledger: string, name: string, load: () => Promise<CachedType<T> | null>): Promise<T | null> {
    const cached = this.#find(ledger, name)
    if (cached) {
      this.#hits++
      return cached.value
    }
    this.#misses++
    const key = `${ledger} ${name}`
    const earlier = await this.#loading.get(key)
    if (earlier) return earlier.value
    // If the earlier call of `load` found nothing, the type may have been registered after that call began. So `load`
    // is called again.
    const found = await (this.#loading.get(key) ?? this.#load(ledger, name, key, load))
    return found?.value ?? null
  }

  #load(
    ledger: string,
    name: string,
    key: string,
    load: () => Promise<CachedType<T> | null>,
  ): Promise<CachedType<T> | null> {
    const loading = load()
    this.#loading.set(key, loading)
    const done = () => this.#loading.delete(key)
    loading.then((found) => {
      done()
      if (found) this.#store(ledger, name, found)
    }, done)
    return loading
  }

  #find(ledger: string, name: string): CachedType<T> | null {
    const ofLedger = this.#ledgers.get(ledger)
    const cached = ofLedger?.types.get(name)
    if (!ofLedger || !cached) return null
    moveToEnd(this.#ledgers, ledger, ofLedger)
    moveToEnd(ofLedger.types, name, cached)
    return cached
  }

  #store(ledger: string, name: string, cached: CachedType<T>): void {
    const ofLedger = this.#ledgers.get(ledger) ?? { types: new Map<string, CachedType<T>>(), bytes: 0 }
    const before = ofLedger.types.get(name)?.bytes ?? 0
    moveToEnd(this.#ledgers, ledger, ofLedger)
    moveToEnd(ofLedger.types, name, cached)
    ofLedger.bytes += cached.bytes - before
    this.#bytes += cached.bytes - before
    for (const [oldest, { bytes }] of ofLedger.types) {
      if (ofLedger.bytes <= TYPE_CACHE_BYTES_PER_LEDGER_MAX) break
      ofLedger.types.delete(oldest)
      ofLedger.bytes -= bytes
      this.#bytes -= bytes
    }
    for (const [oldest, { bytes }] of this.#ledgers) {
      if (this.#bytes <= TYPE_CACHE_BYTES_MAX) break
      this.#ledgers.delete(oldest)
      this.#bytes -= bytes
    }
  }
}

function moveToEnd<V>(map: Map<string, V>, key: string, value: V): void {
  map.delete(key)
  map.set(key, value)
}
