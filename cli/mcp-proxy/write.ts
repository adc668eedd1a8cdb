import { once } from 'node:events'
import type { Writable } from 'node:stream'

/** Writes bytes. Waits for a slow reader, so that memory stays bounded. */
export async function write(out: Writable, bytes: Buffer): Promise<void> {
  if (out.write(bytes) || out.destroyed) return
  const over = new AbortController()
  const { signal } = over
  await Promise.race([once(out, 'drain', { signal }), once(out, 'close', { signal })]).catch(() => {})
  // Removes the listener for the other event. Otherwise that listener would stay as long as the stream.
  over.abort()
}
