import { TIMER_MS_MAX } from '../http/patience.ts'
import type { Reports } from './reports.ts'

export type WaitOptions = {
  readonly signal?: AbortSignal | undefined
  /** Maximum time of the wait, in milliseconds. Default: 60,000. */
  readonly timeoutMs?: number | undefined
}

const WAIT_MS_DEFAULT = 60_000

/**
 * Resolves when `all` resolves. Rejects with the signal's reason, with NotRecordedError after `timeoutMs`, or with the
 * first error that only people can fix.
 */
export async function waitFor(
  all: Promise<unknown>,
  reports: Reports,
  { signal, timeoutMs = WAIT_MS_DEFAULT }: WaitOptions,
): Promise<void> {
  signal?.throwIfAborted()
  const stops: (() => void)[] = []
  const stopped = new Promise<never>((_resolve, reject) => {
    if (timeoutMs <= TIMER_MS_MAX) {
      const timer = setTimeout(() => reject(reports.notRecorded(`after ${timeoutMs} ms`)), timeoutMs)
      stops.push(() => clearTimeout(timer))
    }
    const abort = () => reject(signal!.reason)
    signal?.addEventListener('abort', abort, { once: true })
    stops.push(() => signal?.removeEventListener('abort', abort))
    stops.push(reports.whenBlocked(reject))
  })
  try {
    await Promise.race([all, stopped])
  } finally {
    for (const stop of stops) stop()
  }
}
