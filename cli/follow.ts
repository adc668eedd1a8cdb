import { setTimeout as sleep } from 'node:timers/promises'
import { TallystickError } from '../sdk/errors.ts'
import { plain } from '../sdk/plain.ts'
import { type Io, write } from './io.ts'

/** Delay in ms before the next attempt, in addition to the client's own retries. */
const AWAY_MS = 1_000
const ENDS = ['SIGINT', 'SIGTERM'] as const

/**
 * Prints the items of `read` until Ctrl-C. `last` is the last printed item, after which `read` continues, or null if no
 * item was printed. While the server is not reachable, reports this once and tries again. Throws every other error.
 */
export async function follow<Item>(
  io: Io,
  read: (last: Item | null, signal: AbortSignal) => AsyncIterable<Item>,
  textOf: (item: Item) => string,
): Promise<void> {
  const stop = new AbortController()
  const end = () => stop.abort()
  for (const signal of ENDS) process.once(signal, end)
  try {
    for await (const item of readOn(io, read, stop.signal)) await write(io.stdout, textOf(item))
  } catch (error) {
    if (!stop.signal.aborted) throw error
  } finally {
    for (const signal of ENDS) process.off(signal, end)
  }
}

async function* readOn<Item>(
  io: Io,
  read: (last: Item | null, signal: AbortSignal) => AsyncIterable<Item>,
  signal: AbortSignal,
): AsyncGenerator<Item> {
  let lastReported: string | null = null
  for (let last: Item | null = null; ; ) {
    try {
      for await (const item of read(last, signal)) {
        yield item
        last = item
        lastReported = null
      }
    } catch (error) {
      if (signal.aborted || !(error instanceof TallystickError && error.retryable)) throw error
      if (error.name !== lastReported) io.stderr.write(`tallystick: ${plain(error.message)}\n`)
      lastReported = error.name
      await sleep(AWAY_MS, undefined, { signal })
    }
  }
}
