import type { Socket } from 'node:net'

/**
 * Calls `end` when the client closes its sending side, or at once if the client has already closed it. Returns a
 * function that removes the listener.
 *
 * Most such clients have disconnected, but a few still read. So a waiting answer should end with the data that it has,
 * and release its slot.
 */
export function whenHalfClosed(socket: Socket, end: () => void): () => void {
  if (socket.readableEnded) end()
  socket.once('end', end)
  return () => socket.off('end', end)
}
