import { ApiError } from '../../errors.ts'

/**
 * Collects look-ups that arrive while a query is running, and sends them together in the next query.
 *
 * Under load many requests share one query. On an idle server there is no delay. Appends follow the same rule
 * (src/append/appender.ts).
 *
 * `load` MUST return one value for each key, in order. If it throws, every caller of that query gets the error. While
 * `waitingMax` look-ups are waiting, every further look-up rejects with ApiError `overloaded`.
 */
export class Coalescer<Key, Value> {
  readonly #load: (keys: readonly Key[]) => Promise<readonly Value[]>
  readonly #limits: Limits<Key>
  #waiting: WaitingLookup<Key, Value>[] = []
  #queries = 0
  #counts = { queries: 0, keys: 0 }

  constructor(load: (keys: readonly Key[]) => Promise<readonly Value[]>, limits: Limits<Key>) {
    this.#load = load
    this.#limits = limits
  }

  find(key: Key): Promise<Value> {
    const { queriesMax, waitingMax } = this.#limits
    if (waitingMax !== undefined && this.#waiting.length >= waitingMax) return Promise.reject(tooMany())
    const { promise, resolve, reject } = Promise.withResolvers<Value>()
    this.#waiting.push({ key, resolve, reject })
    // Waits for the next iteration of the event loop, so that all look-ups of this iteration share the query.
    if (this.#queries < queriesMax && this.#waiting.length === 1) setImmediate(() => this.#begin())
    return promise
  }

  /**
   * Three numbers. `waiting`: look-ups that are waiting now. `queries`: queries started so far. `keys`: look-ups in
   * these queries.
   */
  get figures(): { readonly waiting: number; readonly queries: number; readonly keys: number } {
    return { waiting: this.#waiting.length, ...this.#counts }
  }

  #begin(): void {
    if (this.#waiting.length === 0 || this.#queries >= this.#limits.queriesMax) return
    const taken = this.#waiting.splice(0, this.#countNext())
    this.#queries++
    this.#counts.queries++
    this.#counts.keys += taken.length
    void this.#answer(taken).finally(() => {
      this.#queries--
      this.#begin()
    })
    this.#begin()
  }

  /** Returns how many of the waiting look-ups the next query may contain. The result is at least one. */
  #countNext(): number {
    const { keysMax, weight } = this.#limits
    if (!weight) return keysMax
    let sum = 0
    const end = this.#waiting.findIndex(({ key }, i) => {
      sum += weight.of(key)
      return i === keysMax || (i > 0 && sum > weight.max)
    })
    return end < 0 ? keysMax : end
  }

  async #answer(taken: readonly WaitingLookup<Key, Value>[]): Promise<void> {
    try {
      const values = await this.#load(taken.map(({ key }) => key))
      if (values.length !== taken.length) throw new Error(`${values.length} values for ${taken.length} keys`)
      for (const [i, { resolve }] of taken.entries()) resolve(values[i]!)
    } catch (error) {
      for (const { reject } of taken) reject(error)
    }
  }
}

/**
 * Limits of a coalescer.
 *
 * - `keysMax`: maximum number of look-ups in one query.
 * - `queriesMax`: maximum number of concurrent queries.
 * - `waitingMax`: maximum number of waiting look-ups. Absent if there is no limit.
 * - `weight.max`: maximum total weight of the keys in one query.
 */
type Limits<Key> = {
  readonly keysMax: number
  readonly queriesMax: number
  readonly waitingMax?: number
  readonly weight?: { readonly of: (key: Key) => number; readonly max: number }
}

type WaitingLookup<Key, Value> = {
  readonly key: Key
  readonly resolve: (value: Value) => void
  readonly reject: (error: unknown) => void
}

export function tooMany(): ApiError {
  return new ApiError('overloaded', 'too many look-ups wait for the database: nothing was done', {
    retryable: true,
    retryAfterMs: 1_000,
  })
}
