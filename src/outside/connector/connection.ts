import type { Socket } from 'node:net'
import { Client, type Dispatcher } from 'undici'
import { isPrivateAddress } from './allowances.ts'
import { ContinueFilter } from './continue-filter.ts'
import { type Dialling, dial } from './dial.ts'
import { OUTBOUND_HEADER_BYTES_MAX } from './limits.ts'

/**
 * One connection to one origin, for one exchange at a time.
 *
 * Wraps an undici `Client`. The client connects when it is first used. It closes a socket that was idle for too long,
 * or on which the peer sends bytes that nobody requested.
 *
 * An undici `Agent` is not used, because it hides which socket carries an exchange. We need the socket to know whether
 * the peer is on a private network, and whether the exchange is the first on this socket. We also need it to close the
 * socket when the caller aborts.
 */
export class Connection {
  readonly origin: string
  readonly #client: Client
  readonly #filter = new ContinueFilter()
  #socket: Socket | null = null

  constructor(dialling: Dialling, idleMsMax: number) {
    this.origin = dialling.url.origin
    this.#client = new Client(dialling.url.origin, {
      connect: (_options, callback) => {
        this.#socket = dial(dialling, (error, socket) => {
          if (error !== null) return callback(error, null)
          this.#filter.watch(socket!)
          callback(null, socket!)
        })
      },
      allowH2: false,
      maxHeaderSize: OUTBOUND_HEADER_BYTES_MAX,
      keepAliveTimeout: idleMsMax,
      keepAliveMaxTimeout: idleMsMax,
      // The timeouts of undici are off, because the connector has one deadline for the whole exchange.
      headersTimeout: 0,
      bodyTimeout: 0,
    })
  }

  /** True if the peer's address is not public. Such an address was reached through an allowance. */
  get isPrivate(): boolean {
    return isPrivateAddress(this.#socket?.remoteAddress ?? '')
  }

  /** True once any byte of the answer of the newest exchange has arrived. */
  get hasAnswerBegun(): boolean {
    return this.#filter.hasAnswerBegun
  }

  onClosed(listener: () => void): void {
    this.#client.on('disconnect', listener)
  }

  dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): void {
    this.#filter.begin()
    this.#client.dispatch(options, handler)
  }

  /** Closes the connection at once, even while it is being opened. The handler of a running exchange gets an error. */
  destroy(): void {
    // The promise is not awaited, because it settles only when the socket has closed. The socket is destroyed
    // separately, because undici does not know a socket that is still being opened.
    void this.#client.destroy()
    this.#socket?.destroy()
  }
}
