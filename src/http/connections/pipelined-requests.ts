import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { PIPELINED_REQUESTS_MAX } from '../limits.ts'

type Begin = (request: IncomingMessage, response: ServerResponse) => void

/**
 * Delays pipelined requests until the previous answer of the connection was taken by the kernel. Node would begin
 * them at once, and store their answers for as long as the client does not read the first one. Node gives a response
 * its connection only when the previous response is done, and its request begins then. Until then the connection is
 * not read. The bytes that were read before (64 KiB) may contain thousands of requests, which take a hundred times as
 * much memory as objects. With too many of them the connection is closed.
 */
export class PipelinedRequests {
  readonly #begin: Begin
  /** Waiting requests by connection, for connections that have had any. */
  readonly #waiting = new WeakMap<Socket, number>()

  constructor(begin: Begin) {
    this.#begin = begin
  }

  /** Returns whether requests wait on the connection. */
  has(socket: Socket): boolean {
    return (this.#waiting.get(socket) ?? 0) > 0
  }

  /** Queues the request, and begins it when its response gets the connection. */
  add(request: IncomingMessage, response: ServerResponse): void {
    const { socket } = request
    const waiting = (this.#waiting.get(socket) ?? 0) + 1
    if (waiting > PIPELINED_REQUESTS_MAX) return void socket.destroy()
    this.#waiting.set(socket, waiting)
    socket.pause()
    response.once('socket', () => {
      const left = this.#waiting.get(socket)! - 1
      this.#waiting.set(socket, left)
      // The body of the last one may still be arriving.
      if (left === 0) socket.resume()
      this.#begin(request, response)
    })
  }
}
