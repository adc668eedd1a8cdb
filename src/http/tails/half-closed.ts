import type { Socket } from 'node:net'

/**
 * Calls `end` when the client closes its sending side, or at once if the client has already closed it. Returns a
 * function that removes the listener.
 *
 * A client that closes its sending side has usually disconnected, but it may still read. So a waiting answer should end
 * with the data that it has, and release its slot.
 */
export function whenHalfClosed(socket: Socket, end: () => void): () => void {
  if (socket.readableEnded) end()
  socket.once('end', end)
  return () => socket.off('end', end)
}
