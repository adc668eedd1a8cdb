import type { Socket } from 'node:net'

/**
 * Calls `end` when the client closes its sending side, or at once if it has. Most such clients are gone, a few still
 * read. So a waiting answer ends with what it has, and releases its slot. Returns a function that removes the
 * listener.
 */
export function whenHalfClosed(socket: Socket, end: () => void): () => void {
  if (socket.readableEnded) end()
  socket.once('end', end)
  return () => socket.off('end', end)
}
