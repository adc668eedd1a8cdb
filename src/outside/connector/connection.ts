import type { Socket } from 'node:net'
import { Client, type Dispatcher } from 'undici'
import { isPrivateAddress } from './allowances.ts'
import { ContinueFilter } from './continue-filter.ts'
import { type Dialling, dial } from './dial.ts'
import { OUTBOUND_HEADER_BYTES_MAX } from './limits.ts'

/**
 * One connection to one origin, for one exchange at a time: an undici `Client`, which dials when it is first used, and
 * closes a socket that was idle for too long or on which the peer speaks unasked.
 *
 * (An undici `Agent` hides which socket carries an exchange, and we have to know it: whether the peer is on an inner
 * network, whether the exchange is the socket's first, and what to cut when the caller gives up.)
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
      // The connector has one deadline for the whole exchange.
      headersTimeout: 0,
      bodyTimeout: 0,
    })
  }

  /** Whether the peer is on some inner network, which only an allowance has opened. */
  get isPrivate(): boolean {
    return isPrivateAddress(this.#socket?.remoteAddress ?? '')
  }

  /** Whether any byte has come for the newest exchange. */
  get heard(): boolean {
    return this.#filter.heard
  }

  onClosed(listener: () => void): void {
    this.#client.on('disconnect', listener)
  }

  dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): void {
    this.#filter.begin()
    this.#client.dispatch(options, handler)
  }

  /** Cuts it at once, also while it is being dialled. The handler of an exchange under way hears of an error. */
  destroy(): void {
    // It settles when the socket has closed, and nobody waits for that. A socket that is being dialled it does not know.
    void this.#client.destroy()
    this.#socket?.destroy()
  }
}
