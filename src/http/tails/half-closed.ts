import type { Socket } from 'node:net'

/**
 * Calls `end` when the client closes its sending side. If it has already closed it, calls `end` at once. Most of
 * these clients have gone, but a few still read. So a waiting answer should end with the data that it has, and
 * release its slot. Returns a function that removes the listener.
 */
export function whenHalfClosed(socket: Socket, end: () => void): () => void {
  if (socket.readableEnded) end()
  socket.once('end', end)
  return () => socket.off('end', end)
}
