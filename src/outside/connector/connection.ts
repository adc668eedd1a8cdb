import type { Socket } from 'node:net'
import { Client, type Dispatcher } from 'undici'
import { isPrivateAddress } from './allowances.ts'
import { ContinueFilter } from './continue-filter.ts'
import { type Dialling, dial } from './dial.ts'
import { OUTBOUND_HEADER_BYTES_MAX } from './limits.ts'

/**
 * One connection to one origin, for one exchange at a time.
 *
 * Wraps an undici `Client`: it dials on first use, and closes a socket that was idle for too long or on which the
 * peer sends unrequested bytes. An undici `Agent` hides which socket carries an exchange. We need the socket to know
 * whether the peer is on a private network and whether the exchange is the first one on it, and to cut it when the
 * caller aborts.
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
      // No timeouts of undici, because the connector has one deadline for the whole exchange.
      headersTimeout: 0,
      bodyTimeout: 0,
    })
  }

  /** True if the peer's address is not public, so that only an allowance has opened it. */
  get isPrivate(): boolean {
    return isPrivateAddress(this.#socket?.remoteAddress ?? '')
  }

  /** True once any byte of the newest exchange's answer has come. */
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

  /** Cuts the connection at once, also while it is being dialled. The handler of a running exchange gets an error. */
  destroy(): void {
    // Not awaited, because the promise settles only when the socket has closed. The socket is destroyed separately,
    // because undici does not know a socket that is still being dialled.
    void this.#client.destroy()
    this.#socket?.destroy()
  }
}
