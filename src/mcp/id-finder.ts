/** Maximum size of an id in bytes. JSON-RPC does not limit ids, but a longer id is ignored here. */
const ID_BYTES_MAX = 256

const [QUOTE, BACKSLASH, COLON, COMMA] = [0x22, 0x5c, 0x3a, 0x2c]
const OPENING: ReadonlySet<number> = new Set([0x7b, 0x5b])
const CLOSING: ReadonlySet<number> = new Set([0x7d, 0x5d])

/**
 * Finds the id of a JSON-RPC message that is too long to be parsed. The bytes may come in chunks of any size. Only
 * names and values of the outermost object are stored, each up to `ID_BYTES_MAX`.
 */
export class IdFinder {
  #depth = 0
  #inString = false
  #isEscaped = false
  /**
   * Bytes of the current name or value at depth 1. null if the value is too long, or is neither a text nor a number.
   */
  #token: number[] | null = []
  #name = ''
  #id: string | number | null = null
  #isRequest = false

  /** Id of the request, or of the request that the message answers. null if no id was found. */
  get id(): string | number | null {
    return this.#id
  }

  get isRequest(): boolean {
    return this.#isRequest
  }

  push(bytes: Uint8Array): void {
    for (const byte of bytes) this.#read(byte)
  }

  #read(byte: number): void {
    if (this.#inString) {
      this.#addToToken(byte)
      if (this.#isEscaped) this.#isEscaped = false
      else if (byte === BACKSLASH) this.#isEscaped = true
      else if (byte === QUOTE) this.#inString = false
      return
    }
    if (byte === QUOTE) {
      this.#inString = true
      this.#addToToken(byte)
    } else if (OPENING.has(byte)) {
      // An object or a list is not an id.
      this.#token = this.#depth++ === 0 ? [] : null
    } else if (CLOSING.has(byte)) {
      if (this.#depth-- === 1) this.#endValue()
    } else if (this.#depth !== 1) return
    else if (byte === COLON) this.#endName()
    else if (byte === COMMA) this.#endValue()
    else this.#addToToken(byte)
  }

  #addToToken(byte: number): void {
    if (this.#depth !== 1 || this.#token === null) return
    if (this.#token.length < ID_BYTES_MAX) this.#token.push(byte)
    else this.#token = null
  }

  #endName(): void {
    this.#name = `${this.#take()}`
  }

  #endValue(): void {
    const value = this.#take()
    if (this.#name === 'method') this.#isRequest = true
    if (this.#name === 'id' && (typeof value === 'string' || typeof value === 'number')) this.#id = value
    this.#name = ''
  }

  #take(): unknown {
    const token = this.#token
    this.#token = []
    if (token === null) return undefined
    try {
      return JSON.parse(Buffer.from(token).toString('utf8'))
    } catch {
      return undefined
    }
  }
}
