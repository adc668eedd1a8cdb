import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { PIPELINED_REQUESTS_MAX } from '../limits.ts'

type Begin = (request: IncomingMessage, response: ServerResponse) => void

/**
 * Delays each pipelined request until the kernel has taken the answer to the previous request. Without the delay, Node
 * would begin all requests at once, and store their answers if the client does not read the first one.
 *
 * A response gets its connection when the previous response is done. Its request begins at this moment. Until then the
 * server does not read from the connection. But the 64 KiB that were already read may contain thousands of requests,
 * and request objects take a hundred times as much memory as their bytes. So if too many requests wait, the connection
 * is closed.
 */
export class PipelinedRequests {
  readonly #begin: Begin
  /**
   * Maps a connection to its number of waiting requests. Does not contain connections that never had a waiting request.
   */
  readonly #waiting = new WeakMap<Socket, number>()

  constructor(begin: Begin) {
    this.#begin = begin
  }

  has(socket: Socket): boolean {
    return (this.#waiting.get(socket) ?? 0) > 0
  }

  /** Queues the request. The request begins when its response gets the connection. */
  add(request: IncomingMessage, response: ServerResponse): void {
    const { socket } = request
    const waiting = (this.#waiting.get(socket) ?? 0) + 1
    if (waiting > PIPELINED_REQUESTS_MAX) return void socket.destroy()
    this.#waiting.set(socket, waiting)
    socket.pause()
    response.once('socket', () => {
      const left = this.#waiting.get(socket)! - 1
      this.#waiting.set(socket, left)
      // The body of the last request may still be arriving, so the connection must be read again.
      if (left === 0) socket.resume()
      this.#begin(request, response)
    })
  }
}
