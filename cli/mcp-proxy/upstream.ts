/** The server behind the proxy. */
export type Upstream = {
  /** Takes a piece of what the client writes, in order; resolves when the next one may come. */
  send(bytes: Buffer): Promise<void>
  /** The client writes no more. */
  end(): void
  /** Ends it, whether it wants to or not. */
  stop(): void
  /** Resolves when nothing comes from it any more, with why. Never rejects. */
  readonly ended: Promise<Ended>
}

export type Ended = { readonly why: string; readonly isFailure: boolean }

/** Takes what the server writes, in order; the next piece waits for it. */
export type Receive = (bytes: Buffer) => Promise<void>
