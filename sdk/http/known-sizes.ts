/** Ledgers whose size a client remembers: a key function may give keys of many. */
const LEDGERS_MAX = 1_000
const SIZE = /^[1-9][0-9]{0,14}$/
/** An API key begins with its ledger's id. */
const LEDGER_CHARS = 'tly_'.length + 26

/**
 * Largest size of each ledger that an answer has said, in `Tallystick-Ledger-Size`. Reads demand it (`If-Known-Size`), so that a
 * server that reads from a replica shows no less than what this client has written, or has read before.
 */
export class KnownSizes {
  readonly #sizes = new Map<string, number>()

  of(apiKey: string): number | undefined {
    return this.#sizes.get(apiKey.slice(0, LEDGER_CHARS))
  }

  note(apiKey: string, headers: Headers): void {
    const text = headers.get('tallystick-ledger-size') ?? ''
    if (!SIZE.test(text)) return
    const ledger = apiKey.slice(0, LEDGER_CHARS)
    const size = Math.max(Number(text), this.#sizes.get(ledger) ?? 0)
    if (!this.#sizes.has(ledger) && this.#sizes.size >= LEDGERS_MAX) this.#sizes.clear()
    this.#sizes.set(ledger, size)
  }

  /** After an error that told the caller: a database that lost entries must not be refused for ever. */
  forget(apiKey: string): void {
    this.#sizes.delete(apiKey.slice(0, LEDGER_CHARS))
  }
}
