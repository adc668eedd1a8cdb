import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { REFUSED_DISCARD_BYTES_MAX, REFUSED_LINGER_MS } from './limits.ts'
import { kindOf } from './owner.ts'

/** Makes the bytes of a refusal, with `Connection: close`; called when they are written, if they are. */
type RenderRefusal = () => string

/**
 * Places refusals of what is no request, or only a part of one, among the answers of a connection: behind all that were begun
 * (RFC 9112 §9.3.2), never within one, and never as a second answer to the same request. A refusal ends its connection.
 *
 * Requests are answered in order, so that the newest response of a connection is enough: when it has closed, nothing is under way.
 */
export class Connections {
  /** Newest response, until it closes. It stays where its request has not arrived whole: what is wrong then belongs to that request. */
  readonly #newest = new WeakMap<Socket, ServerResponse>()
  readonly #refused = new WeakSet<Socket>()
  readonly #onClose: (this: ServerResponse) => void

  constructor() {
    const newest = this.#newest
    this.#onClose = function (this: ServerResponse) {
      const { socket, complete } = this.req
      // A response refers to all that was made for it, and a connection may be idle for long.
      if (complete && newest.get(socket) === this) newest.delete(socket)
    }
  }

  /** MUST be called for each request that Node has read. */
  meet(response: ServerResponse): void {
    this.#newest.set(response.req.socket, response)
    response.on('close', this.#onClose)
  }

  /** Whether an answer is under way, or waits for its turn. */
  isAnswering(socket: Socket): boolean {
    return this.#newest.get(socket)?.destroyed === false
  }

  /** Refuses what the connection has brought behind its newest request, or in the midst of it. Only the first refusal counts. */
  refuse(socket: Socket, render: RenderRefusal): void {
    if (socket.destroyed || this.#refused.has(socket)) return
    this.#refused.add(socket)
    discardInput(socket)
    const newest = this.#newest.get(socket)
    if (newest === undefined) close(socket, render)
    else if (newest.req.complete) whenIt(newest, 'close', () => close(socket, render))
    // The rest is wrong with the body of the newest request. It may have its answer, or get one all the same: a read needs no body.
    else if (newest.headersSent || kindOf(newest.req.method) === 'reads')
      whenIt(newest, 'close', () => close(socket, null))
    // It waits for its body, which never comes whole: nothing was done, and this is its answer, in its turn.
    else whenIt(newest, 'socket', () => close(socket, render))
  }
}

/** Runs `next` when the response has got the connection (`socket`), or has closed; at once if it has. */
function whenIt(response: ServerResponse, event: 'socket' | 'close', next: () => void): void {
  if (response.destroyed || (event === 'socket' && response.socket)) next()
  else response.once(event, next)
}

/**
 * From now on the parser is given nothing: it must not complete a request that is refused. The server reads on for a while and drops
 * what comes: where bytes are left unread the kernel throws the answer away with them (RFC 9112 §9.6).
 */
function discardInput(socket: Socket): void {
  // Without its own listeners Node would not begin to read again, nor see that the client has closed.
  if (socket.isPaused()) return void socket.once('resume', () => discardInput(socket))
  const before = socket.bytesRead
  socket.removeAllListeners('data')
  socket.on('data', () => {
    if (socket.bytesRead - before > REFUSED_DISCARD_BYTES_MAX) socket.pause()
  })
}

/** Does nothing where the answer before was said to be the last: that one closes the connection. null: there is nothing to say. */
function close(socket: Socket, render: RenderRefusal | null): void {
  if (!socket.writable) return
  if (render) socket.write(render())
  socket.end()
  const timer = setTimeout(() => socket.destroy(), REFUSED_LINGER_MS).unref()
  socket.once('close', () => clearTimeout(timer))
}
