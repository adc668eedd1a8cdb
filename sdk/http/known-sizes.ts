/**
 * Maximum number of ledgers whose size a client remembers. There may be many ledgers, because an `apiKey` function
 * may return keys of different ledgers.
 */
const LEDGERS_MAX = 1_000
const SIZE = /^[1-9][0-9]{0,14}$/
/** Characters that identify the ledger of an API key: a key begins with its ledger's id. */
const LEDGER_CHARS = 'tly_'.length + 26

/**
 * Stores the largest size of each ledger that an answer reported in `Tallystick-Ledger-Size`. Reads require this size
 * (`If-Known-Size`). So a server that reads from a replica never shows less than this client has written or read.
 */
export class KnownSizes {
  readonly #sizes = new Map<string, number>()

  sizeOf(apiKey: string): number | undefined {
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

  /**
   * Forgets the size of a ledger. Called when the server says that the ledger is smaller than this size. Without this,
   * a ledger whose database lost entries could never be read again.
   */
  forget(apiKey: string): void {
    this.#sizes.delete(apiKey.slice(0, LEDGER_CHARS))
  }
}
