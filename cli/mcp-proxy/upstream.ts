/** The server behind the proxy. */
export type Upstream = {
  /** Takes a piece of what the client writes, in order; resolves when the next one may come. */
  send(bytes: Buffer): Promise<void>
  /** Ends the server's input. The server gets time to end. */
  end(): void
  /** Ends the server now. */
  stop(): void
  /** Resolves with the reason after the server's last message. Never rejects. */
  readonly ended: Promise<Ended>
}

export type Ended = { readonly why: string; readonly isFailure: boolean }

/** Callbacks for what comes from the server. */
export type Downstream = {
  /** Called with bytes that the server writes, in order. The next ones wait until it resolves. */
  receive(bytes: Buffer): Promise<void>
  /** Called for each request that gets no answer from the server. */
  noAnswer(id: string | number, reason: NoAnswer): Promise<void>
  /** Prints a line for people. */
  say(message: string): void
}

export type NoAnswer = {
  readonly why: string
  /** Text that the server sent instead of a message; null: it sent none. */
  readonly sent: string | null
  /** True if the server did not execute the request, as HTTP 404 means. Otherwise that is unknown. */
  readonly isRefused: boolean
}
