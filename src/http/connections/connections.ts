import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { REFUSED_DISCARD_BYTES_MAX, REFUSED_LINGER_MS } from '../limits.ts'
import { kindOf } from './owner.ts'

/** Returns the bytes of a refusal, with `Connection: close`. Called only when the refusal is about to be written. */
type RenderRefusal = () => string

/**
 * Sends refusals of malformed or partial requests. A refusal is sent after all answers that have begun (RFC 9112
 * §9.3.2), never within an answer, and never as a second answer to the same request. After the refusal the connection
 * is closed.
 *
 * Requests are answered in order, so only the newest response of a connection matters. When this response has closed,
 * no answer is pending.
 */
export class Connections {
  /**
   * Maps a connection to its newest response, until the response closes. If the request of the response has not arrived
   * completely, the response stays here after it has closed, because a later error then concerns that request.
   */
  readonly #newest = new WeakMap<Socket, ServerResponse>()
  readonly #refused = new WeakSet<Socket>()
  readonly #onClose: (this: ServerResponse) => void

  constructor() {
    const newest = this.#newest
    this.#onClose = function (this: ServerResponse) {
      const { socket, complete } = this.req
      // Releases the response and all that it refers to, because a connection may be idle for a long time.
      if (complete && newest.get(socket) === this) newest.delete(socket)
    }
  }

  /** Registers a response. MUST be called for each request that Node has parsed. */
  meet(response: ServerResponse): void {
    this.#newest.set(response.req.socket, response)
    response.on('close', this.#onClose)
  }

  /** Returns whether an answer on the connection is being sent or will be sent. */
  isAnswering(socket: Socket): boolean {
    return this.#newest.get(socket)?.destroyed === false
  }

  /**
   * Refuses malformed or partial bytes that came after the newest request or within it. Only the first refusal of a
   * connection counts.
   */
  refuse(socket: Socket, render: RenderRefusal): void {
    if (socket.destroyed || this.#refused.has(socket)) return
    this.#refused.add(socket)
    discardInput(socket)
    const newest = this.#newest.get(socket)
    if (newest === undefined) close(socket, render)
    else if (newest.req.complete) whenIt(newest, 'close', () => close(socket, render))
    // The error is in the body of the newest request. This request already has its answer, or will get it because a
    // read needs no body. So no refusal is sent.
    else if (newest.headersSent || kindOf(newest.req.method) === 'reads')
      whenIt(newest, 'close', () => close(socket, null))
    // The error is in the body of the newest request, a write without an answer. The rest of its body is discarded, so
    // nothing was done for this request. The refusal is sent as the answer to it, after all earlier answers.
    else whenIt(newest, 'socket', () => close(socket, render))
  }
}

/**
 * Calls `next` when the response gets the connection (`socket`) or closes (`close`), or at once if this has already
 * happened.
 */
function whenIt(response: ServerResponse, event: 'socket' | 'close', next: () => void): void {
  if (response.destroyed || (event === 'socket' && response.socket)) next()
  else response.once(event, next)
}

/**
 * Detaches the parser, so that it cannot complete a refused request. The server still reads and drops bytes for a
 * while, because the kernel discards the answer if bytes stay unread (RFC 9112 §9.6).
 */
function discardInput(socket: Socket): void {
  // The listeners of a paused socket are removed only after it resumes. Without them, Node would neither read again
  // nor detect that the client has closed.
  if (socket.isPaused()) return void socket.once('resume', () => discardInput(socket))
  const before = socket.bytesRead
  socket.removeAllListeners('data')
  socket.on('data', () => {
    if (socket.bytesRead - before > REFUSED_DISCARD_BYTES_MAX) socket.pause()
  })
}

/**
 * Writes the refusal and ends the connection. If `render` is null, ends the connection without a refusal. Does nothing
 * if the previous answer has already ended the connection.
 */
function close(socket: Socket, render: RenderRefusal | null): void {
  if (!socket.writable) return
  if (render) socket.write(render())
  socket.end()
  const timer = setTimeout(() => socket.destroy(), REFUSED_LINGER_MS).unref()
  socket.once('close', () => clearTimeout(timer))
}
