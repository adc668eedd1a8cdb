export type Upstream = {
  /** Sends bytes of the client, in order. Resolves when the next bytes may be sent. */
  send(bytes: Buffer): Promise<void>
  /** Closes the server's input. The server then gets time to end. */
  end(): void
  stop(): void
  /** Resolves with the reason why the server ended, after the server's last message. Never rejects. */
  readonly ended: Promise<UpstreamEnd>
}

export type UpstreamEnd = { readonly why: string; readonly isFailure: boolean }

/** Callbacks for what the server sends. */
export type Downstream = {
  /** Called with bytes of the server, in order. The next bytes wait until the promise resolves. */
  receive(bytes: Buffer): Promise<void>
  /** Called for each request that the server does not answer. */
  noAnswer(id: string | number, reason: NoAnswer): Promise<void>
  say(message: string): void
}

export type NoAnswer = {
  readonly why: string
  /** Text that the server sent instead of a message, or null if it sent no text. */
  readonly sent: string | null
  /** True if the server did not execute the request, as after HTTP 404. False if the server may have executed it. */
  readonly isRefused: boolean
}
