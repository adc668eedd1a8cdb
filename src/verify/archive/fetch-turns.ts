import { Places } from '../../append/places.ts'
import { archiveUnavailable } from '../../db/chunks/released-chunks.ts'
import {
  ARCHIVE_PIECES_AT_ONCE,
  ARCHIVE_PIECES_OF_LEDGER_AT_ONCE,
  ARCHIVE_PIECES_WAITING_MAX,
} from './limits.ts'

type Waiting = { readonly ledger: string; readonly go: () => void }

/**
 * Turns to fetch a piece of the archive. No ledger can have all of them, or all places of those that wait: the next turn goes to the ledger
 * that has fewest under way.
 */
export class FetchTurns {
  /** Places of fetches that are under way or wait. */
  readonly #places: Places
  readonly #waiting: Waiting[] = []
  /** How many each ledger has under way, of those that have any. */
  readonly #ofLedger = new Map<string, number>()
  #underWay = 0

  constructor(now: () => number) {
    const underWayMax = ARCHIVE_PIECES_AT_ONCE + ARCHIVE_PIECES_WAITING_MAX
    this.#places = new Places(now, { underWayMax, burstMax: 0, burstPerSecond: 0 })
  }

  /** Whether one more of the ledger may come. */
  admits(ledger: string): boolean {
    return this.#places.admits(ledger)
  }

  /** Works in a turn of the ledger. Throws ApiError `archive_unavailable` where none comes within `waitMsMax`. */
  async run<T>(ledger: string, waitMsMax: number, work: () => Promise<T>): Promise<T> {
    this.#places.enter(ledger)
    try {
      await this.#take(ledger, waitMsMax)
      try {
        return await work()
      } finally {
        this.#count(ledger, -1)
        this.#goOn()
      }
    } finally {
      this.#places.leave(ledger)
    }
  }

  async #take(ledger: string, waitMsMax: number): Promise<void> {
    if (this.#underWay < ARCHIVE_PIECES_AT_ONCE && this.#hasTurn(ledger)) return this.#count(ledger, 1)
    await new Promise<void>((resolve, reject) => {
      const waiting: Waiting = {
        ledger,
        go: () => {
          clearTimeout(timer)
          resolve()
        },
      }
      const timer = setTimeout(() => {
        this.#waiting.splice(this.#waiting.indexOf(waiting), 1)
        reject(archiveUnavailable(`other pieces of the archive took all turns for ${waitMsMax / 1_000} s`))
      }, waitMsMax)
      this.#waiting.push(waiting)
    })
  }

  /** Gives a turn that became free to one that waits. */
  #goOn(): void {
    const [next] = this.#waiting
      .filter(({ ledger }) => this.#hasTurn(ledger))
      .sort((a, b) => this.#countOf(a.ledger) - this.#countOf(b.ledger))
    if (!next) return
    this.#waiting.splice(this.#waiting.indexOf(next), 1)
    this.#count(next.ledger, 1)
    next.go()
  }

  #hasTurn(ledger: string): boolean {
    return this.#countOf(ledger) < ARCHIVE_PIECES_OF_LEDGER_AT_ONCE
  }

  #countOf(ledger: string): number {
    return this.#ofLedger.get(ledger) ?? 0
  }

  #count(ledger: string, sign: 1 | -1): void {
    this.#underWay += sign
    const count = this.#countOf(ledger) + sign
    if (count === 0) this.#ofLedger.delete(ledger)
    else this.#ofLedger.set(ledger, count)
  }
}
