import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { PIPELINED_REQUESTS_MAX } from '../limits.ts'

type Begin = (request: IncomingMessage, response: ServerResponse) => void

/**
 * Requests that came before the one in front was answered. Node would begin them at once and keep their answers for as long as
 * nobody takes the first. Here each begins when the kernel has taken the answer before it: only then is its response given the
 * connection. Until then nothing more is read. The bytes that were read already (64 KiB) may hold thousands of
 * requests, which take a hundred times as much as objects: with too many the connection is closed.
 */
export class PipelinedRequests {
  readonly #begin: Begin
  /** How many wait on each connection; only of those that have had some. */
  readonly #waiting = new WeakMap<Socket, number>()

  constructor(begin: Begin) {
    this.#begin = begin
  }

  /** Whether any wait on the connection. */
  has(socket: Socket): boolean {
    return (this.#waiting.get(socket) ?? 0) > 0
  }

  /** Begins it in its turn. */
  add(request: IncomingMessage, response: ServerResponse): void {
    const { socket } = request
    const waiting = (this.#waiting.get(socket) ?? 0) + 1
    if (waiting > PIPELINED_REQUESTS_MAX) return void socket.destroy()
    this.#waiting.set(socket, waiting)
    socket.pause()
    response.once('socket', () => {
      const left = this.#waiting.get(socket)! - 1
      this.#waiting.set(socket, left)
      // The last one's body may be on its way still.
      if (left === 0) socket.resume()
      this.#begin(request, response)
    })
  }
}
