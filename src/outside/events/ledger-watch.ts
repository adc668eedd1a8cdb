import { setTimeout as sleep } from 'node:timers/promises'
import type { LedgerEnds } from '../../db/events/read-events.ts'
import type { Uuid } from '../../proof/ids.ts'
import { EVENTS_POLL_MS, EVENTS_POLL_TIME_SHARE_MAX } from './limits.ts'

type ReadEnds = (ledgerIds: readonly Uuid[]) => Promise<LedgerEnds[]>
type WatchLog = { warn(details: object, message: string): void }

/** Hears of each look at its ledger. */
type Waiter = (ends: LedgerEnds) => void

type Watched = { readonly ledgerId: Uuid; readonly waiters: Set<Waiter> }

/**
 * Tells those who wait for it that a ledger has grown, or that its floor has risen: one query for all ledgers that somebody waits for, and none while nobody
 * does. While the database is away they wait on.
 */
export class LedgerWatch {
  readonly #readEnds: ReadEnds
  readonly #log: WatchLog
  /** By ledger; without waiters one is not here. */
  readonly #watched = new Map<string, Watched>()
  #isPolling = false

  constructor(readEnds: ReadEnds, log: WatchLog) {
    this.#readEnds = readEnds
    this.#log = log
  }

  /**
   * The ledger's ends as soon as they are beyond these; null where they are not after `msMax`, or `signal` says to stop. `isHeld`:
   * only a higher floor counts, because nothing else lets it go on.
   */
  grown(
    ledgerId: Uuid,
    than: LedgerEnds,
    {
      msMax,
      isHeld,
      signal,
    }: { readonly msMax: number; readonly isHeld: boolean; readonly signal: AbortSignal },
  ): Promise<LedgerEnds | null> {
    if (signal.aborted) return Promise.resolve(null)
    const key = ledgerId
    return new Promise((resolve) => {
      const settle = (ends: LedgerEnds | null) => {
        clearTimeout(timer)
        signal.removeEventListener('abort', stop)
        this.#forget(key, waiter)
        resolve(ends)
      }
      const waiter: Waiter = (ends) => {
        const hasGrown = ends.size > than.size || ends.checkpoint > than.checkpoint
        if (isHeld ? ends.floor > than.floor : hasGrown) settle(ends)
      }
      const stop = () => settle(null)
      const timer = setTimeout(stop, msMax)
      signal.addEventListener('abort', stop)
      this.#remember(key, ledgerId, waiter)
    })
  }

  #remember(key: string, ledgerId: Uuid, waiter: Waiter): void {
    const watched = this.#watched.get(key) ?? { ledgerId, waiters: new Set() }
    watched.waiters.add(waiter)
    this.#watched.set(key, watched)
    if (!this.#isPolling) void this.#poll()
  }

  #forget(key: string, waiter: Waiter): void {
    const watched = this.#watched.get(key)
    watched?.waiters.delete(waiter)
    if (watched?.waiters.size === 0) this.#watched.delete(key)
  }

  /** Until nobody waits. Never throws. */
  async #poll(): Promise<void> {
    this.#isPolling = true
    let tookMs = 0
    let isAway = false
    for (;;) {
      await sleep(Math.max(EVENTS_POLL_MS, tookMs / EVENTS_POLL_TIME_SHARE_MAX - tookMs))
      if (this.#watched.size === 0) break
      const startedAt = performance.now()
      try {
        await this.#look()
        isAway = false
      } catch (error) {
        if (!isAway) this.#log.warn({ err: error }, 'ledgers that are tailed cannot be looked at')
        isAway = true
      }
      tookMs = performance.now() - startedAt
    }
    this.#isPolling = false
  }

  async #look(): Promise<void> {
    const all = [...this.#watched.values()]
    const ends = await this.#readEnds(all.map(({ ledgerId }) => ledgerId))
    for (const [i, { waiters }] of all.entries()) for (const waiter of [...waiters]) waiter(ends[i]!)
  }
}
