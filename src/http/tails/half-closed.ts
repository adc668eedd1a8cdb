import type { Socket } from 'node:net'

/**
 * Calls `end` when the client has closed its sending side, or at once if it has. Most such clients are gone, and a few read on: so an
 * answer that waits for something ends there with what it has, and gives its slot back. Returns what takes the listener away.
 */
export function whenHalfClosed(socket: Socket, end: () => void): () => void {
  if (socket.readableEnded) end()
  socket.once('end', end)
  return () => socket.off('end', end)
}
