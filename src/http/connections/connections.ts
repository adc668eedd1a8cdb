import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { REFUSED_DISCARD_BYTES_MAX, REFUSED_LINGER_MS } from '../limits.ts'
import { kindOf } from './owner.ts'

/** Returns the bytes of a refusal, with `Connection: close`. Called when they are written, or never. */
type RenderRefusal = () => string

/**
 * Sends refusals of malformed or partial requests: after all answers that were begun (RFC 9112 §9.3.2), never within an answer,
 * and never as a second answer to one request. A refusal ends its connection.
 *
 * Requests are answered in order, so the newest response is enough: when it has closed, no answer is under way.
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

  /** Whether an answer is under way or waiting. */
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

/** Calls `next` when the response gets the connection (`socket`) or closes; at once if that has happened. */
function whenIt(response: ServerResponse, event: 'socket' | 'close', next: () => void): void {
  if (response.destroyed || (event === 'socket' && response.socket)) next()
  else response.once(event, next)
}

/**
 * Detaches the parser, which must not complete a refused request. The server reads and drops bytes for a while, because the
 * kernel discards the answer if bytes stay unread (RFC 9112 §9.6).
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
