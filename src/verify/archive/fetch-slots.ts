import { archiveUnavailable } from '../../db/connect/archive.ts'
import { FairQueue } from '../../load/fair-queue.ts'
import { Counts, Shares } from '../../load/shares.ts'
import {
  ARCHIVE_PIECES_AT_ONCE,
  ARCHIVE_PIECES_OF_LEDGER_AT_ONCE,
  ARCHIVE_PIECES_WAITING_MAX,
} from './limits.ts'

/**
 * Limits concurrent fetches from the archive. Ledgers get free slots round-robin. No ledger can occupy all slots, or
 * all places in the queue for slots.
 */
export class FetchSlots {
  /** Shares of all fetches, both running and waiting. */
  readonly #all = new Shares({ rule: 'equal', max: ARCHIVE_PIECES_AT_ONCE + ARCHIVE_PIECES_WAITING_MAX })
  readonly #running = new Counts()
  readonly #waiting = new FairQueue<() => void>()

  admits(ledger: string): boolean {
    return this.#all.admits(ledger)
  }

  /** Runs `work` in a slot. Throws ApiError `archive_unavailable` if no slot becomes free within `waitMsMax`. */
  async run<T>(ledger: string, waitMsMax: number, work: () => Promise<T>): Promise<T> {
    this.#all.take(ledger)
    try {
      if (this.#running.total < ARCHIVE_PIECES_AT_ONCE && this.#mayRun(ledger)) this.#running.add(ledger, 1)
      else await this.#wait(ledger, waitMsMax)
      try {
        return await work()
      } finally {
        this.#running.add(ledger, -1)
        this.#waiting.next((next) => this.#mayRun(next))?.()
      }
    } finally {
      this.#all.release(ledger)
    }
  }

  #wait(ledger: string, waitMsMax: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const go = () => {
        clearTimeout(timer)
        this.#running.add(ledger, 1)
        resolve()
      }
      const timer = setTimeout(() => {
        this.#waiting.delete(ledger, go)
        reject(
          archiveUnavailable(`other pieces of the archive were fetched first for ${waitMsMax / 1_000} s`),
        )
      }, waitMsMax)
      this.#waiting.add(ledger, go)
    })
  }

  #mayRun(ledger: string): boolean {
    return this.#running.of(ledger) < ARCHIVE_PIECES_OF_LEDGER_AT_ONCE
  }
}
