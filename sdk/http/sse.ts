export type SseEvent = {
  /** Type of the event; `message` if the stream names no type. */
  readonly type: string
  readonly data: string
  /**
   * The newest `id` in the stream so far. An earlier event may have sent it. Empty if the stream has sent no id yet.
   */
  readonly lastEventId: string
}

/** The error for a line, or the data of an event, that exceeds `charsMax`. */
export class SseTooLongError extends Error {}

/**
 * Parses `text/event-stream` (WHATWG HTML §9.2.6) incrementally. An event that is cut off is not dispatched. `push`
 * throws SseTooLongError if a line or an event's data exceeds `charsMax`, because an endless line must not fill the
 * memory.
 */
export class SseParser {
  readonly #charsMax: number
  /** The decoder replaces invalid bytes instead of throwing. It drops a byte order mark at the beginning. */
  readonly #decoder = new TextDecoder()
  #begun: string[] = []
  #begunChars = 0
  /** True if the last character was CR, so that a following LF belongs to the same line break. */
  #afterCr = false
  #type = ''
  #data: string[] = []
  #dataChars = 0
  #id = ''
  #lastEventId = ''
  #retryMs: number | null = null

  constructor(charsMax: number) {
    this.#charsMax = charsMax
  }

  /** The newest `id` in the stream so far, including ids of events without data, which are not dispatched. */
  get lastEventId(): string {
    return this.#lastEventId
  }

  /** Reconnection time of the stream in ms (`retry`), or null if the stream has sent none. */
  get retryMs(): number | null {
    return this.#retryMs
  }

  /** Returns the events whose end is in this piece. */
  push(piece: Uint8Array): SseEvent[] {
    const events: SseEvent[] = []
    let text = this.#decoder.decode(piece, { stream: true })
    if (text === '') return events
    if (this.#afterCr && text[0] === '\n') text = text.slice(1)
    this.#afterCr = text.endsWith('\r')
    let from = 0
    for (const { index, 0: end } of text.matchAll(/\r\n|\r|\n/g)) {
      this.#begin(text.slice(from, index))
      const line = this.#begun.join('')
      this.#begun = []
      this.#begunChars = 0
      this.#take(line, events)
      from = index + end.length
    }
    if (from < text.length) this.#begin(text.slice(from))
    return events
  }

  #begin(text: string): void {
    this.#begunChars += text.length
    if (this.#begunChars > this.#charsMax) throw new SseTooLongError()
    this.#begun.push(text)
  }

  #take(line: string, events: SseEvent[]): void {
    if (line === '') this.#dispatch(events)
    const colon = line.indexOf(':')
    const name = colon < 0 ? line : line.slice(0, colon)
    const rest = colon < 0 ? '' : line.slice(colon + 1)
    const value = rest.startsWith(' ') ? rest.slice(1) : rest
    if (name === 'data') this.#addData(value)
    else if (name === 'event') this.#type = value
    else if (name === 'id' && !value.includes('\0')) this.#id = value
    else if (name === 'retry' && /^[0-9]{1,15}$/.test(value)) this.#retryMs = Number(value)
  }

  #addData(value: string): void {
    this.#dataChars += value.length + 1
    if (this.#dataChars > this.#charsMax) throw new SseTooLongError()
    this.#data.push(value)
  }

  #dispatch(events: SseEvent[]): void {
    this.#lastEventId = this.#id
    const type = this.#type === '' ? 'message' : this.#type
    if (this.#data.length > 0) events.push({ type, data: this.#data.join('\n'), lastEventId: this.#id })
    this.#type = ''
    this.#data = []
    this.#dataChars = 0
  }
}
