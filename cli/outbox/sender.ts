import { setTimeout as sleep } from 'node:timers/promises'
import type { Tallystick } from '../../sdk/client.ts'
import { SpoolInUseError, type TallystickError } from '../../sdk/errors.ts'
import { openSpool } from '../../sdk/node/spool.ts'
import type { Notarizer } from '../../sdk/notarizer/notarizer.ts'
import { settleCalls } from './calls.ts'
import { hasWork } from './directory.ts'
import { InboxWatch } from './inbox-watch.ts'
import {
  OUTBOX_BLOCKED_MS,
  OUTBOX_BUSY_POLL_MS,
  OUTBOX_DELAY_MS_MAX,
  OUTBOX_IDLE_MS,
  OUTBOX_POLL_MS,
  OUTBOX_REPEAT_MS,
  OUTBOX_RETRY_MS,
} from './limits.ts'

export type SenderOptions = {
  readonly directory: string
  /** Opens the client. Throws if no API key is found. */
  readonly connect: () => Promise<Tallystick>
  /** Reports to the user what prevents records from being sent. */
  readonly report: (message: string) => void
}

type SendOptions = {
  readonly idleMs: number
  readonly signal: AbortSignal
  readonly onRecorded?: (() => void) | undefined
}

export type SendResult = {
  readonly recorded: number
  readonly refused: number
  /** Reason why records remain, or null if no records remain. */
  readonly left: string | null
}

/**
 * Sends the records of an outbox. Ends when no record came for `idleMs`, when an error occurs that only people can
 * fix, or when the signal aborts. Throws SpoolInUseError while another process sends from the outbox.
 */
export async function sendOnce(
  { directory, connect, report }: SenderOptions,
  { idleMs, signal, onRecorded }: SendOptions,
): Promise<SendResult> {
  const client = await connect()
  const spool = await openSpool(directory)
  const watch = new InboxWatch(directory)
  let blocked: TallystickError | null = null
  const notarizer = client.notarizer({
    spool,
    delayMsMax: OUTBOX_DELAY_MS_MAX,
    onRecorded,
    onError: (error) => {
      report(`records wait in ${directory}: ${error.message}`)
      if (!error.retryable) blocked = error
    },
    onRefused: ({ type }, error) =>
      report(`a record of type ${type} was refused, and is in ${directory}/refused.ndjson: ${error.message}`),
  })
  try {
    settleCalls(directory)
    await adoptUntilIdle(notarizer, watch, { idleMs, isOver: () => signal.aborted || blocked !== null })
  } finally {
    watch.close()
    // Rejects if records remain. The error is ignored, because these records stay in the spool.
    await notarizer.close({ timeoutMs: 1 }).catch(() => {})
  }
  const { recorded, refused, buffered, lastError } = notarizer.stats
  return {
    recorded,
    refused,
    left: buffered === 0 ? null : (lastError?.message ?? 'the time limit was reached'),
  }
}

/**
 * Sends until no record came for `idleMs`, or no record was recorded for `giveUpMs`. Returns the reason why records
 * remain, or null. Throws the errors of sendOnce.
 */
export async function sendWhileItWorks(
  options: SenderOptions,
  { idleMs, giveUpMs }: { readonly idleMs: number; readonly giveUpMs: number },
): Promise<string | null> {
  const stop = new AbortController()
  const { signal } = stop
  const timer = setTimeout(() => stop.abort(), giveUpMs)
  const onRecorded = () => void timer.refresh()
  try {
    let left: string | null
    // A hook that detected this running sender has started no other sender. This sender therefore also sends records
    // that came while it released the outbox.
    do left = (await sendOnce(options, { idleMs, signal, onRecorded })).left
    while (left === null && hasWork(options.directory) && !signal.aborted)
    return left
  } finally {
    clearTimeout(timer)
  }
}

async function adoptUntilIdle(
  notarizer: Notarizer,
  watch: InboxWatch,
  { idleMs, isOver }: { readonly idleMs: number; readonly isOver: () => boolean },
): Promise<void> {
  let idleSince = performance.now()
  while (!isOver()) {
    await notarizer.adopt()
    if (notarizer.stats.buffered > 0) {
      idleSince = performance.now()
      await sleep(OUTBOX_BUSY_POLL_MS)
      continue
    }
    const idleLeftMs = idleSince + idleMs - performance.now()
    if (idleLeftMs <= 0) return
    await watch.next(Math.min(idleLeftMs, OUTBOX_POLL_MS))
  }
}

/** Sends as long as the process runs. Of the processes that share an outbox, only one sends at a time. */
export class Sender {
  readonly #options: SenderOptions
  readonly #stop = new AbortController()
  readonly #watch: InboxWatch
  readonly #done: Promise<void>

  constructor(options: SenderOptions) {
    this.#watch = new InboxWatch(options.directory)
    this.#options = { ...options, report: reportRarely(options.report) }
    this.#done = this.#run()
  }

  /** Ends the sender after at most `waitMs`. Returns whether everything was sent. */
  async close(waitMs: number): Promise<boolean> {
    const until = performance.now() + waitMs
    while (hasWork(this.#options.directory) && performance.now() < until) await sleep(OUTBOX_BUSY_POLL_MS)
    this.#stop.abort()
    this.#watch.close()
    await this.#done
    return !hasWork(this.#options.directory)
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop
    while (!signal.aborted) {
      if (!hasWork(this.#options.directory)) await this.#watch.next(OUTBOX_POLL_MS)
      else await sleep(await this.#send(signal), undefined, { signal }).catch(() => {})
    }
  }

  /** Sends once. Returns the delay before the next attempt. */
  async #send(signal: AbortSignal): Promise<number> {
    try {
      const { left } = await sendOnce(this.#options, { idleMs: OUTBOX_IDLE_MS, signal })
      return left === null ? 0 : OUTBOX_BLOCKED_MS
    } catch (error) {
      if (error instanceof SpoolInUseError) return OUTBOX_RETRY_MS
      this.#options.report(`no records are sent from ${this.#options.directory}: ${(error as Error).message}`)
      return OUTBOX_BLOCKED_MS
    }
  }
}

/** Wraps `report` to suppress the same message for OUTBOX_REPEAT_MS, because a sender tries again and again. */
export function reportRarely(report: (message: string) => void): (message: string) => void {
  let last = ''
  let reportedAt = Number.NEGATIVE_INFINITY
  return (message) => {
    if (message === last && performance.now() - reportedAt < OUTBOX_REPEAT_MS) return
    last = message
    reportedAt = performance.now()
    report(message)
  }
}
