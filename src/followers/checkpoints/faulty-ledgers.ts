const PAUSE_MS_MIN = 1_000
const PAUSE_MS_MAX = 60_000

/**
 * Ledgers that have failed recently and are paused. The pause of a ledger grows with each failure, and does not delay
 * the other ledgers. The clock MUST be monotonic.
 */
export class PausedLedgers {
  readonly #now: () => number
  readonly #ledgers = new Map<string, { pauseMs: number; untilMs: number }>()

  constructor(now: () => number = () => performance.now()) {
    this.#now = now
  }

  isPaused(ledger: string): boolean {
    return (this.#ledgers.get(ledger)?.untilMs ?? 0) > this.#now()
  }

  get paused(): string[] {
    return [...this.#ledgers.keys()].filter((ledger) => this.isPaused(ledger))
  }

  pause(ledger: string): void {
    const known = this.#ledgers.get(ledger)
    const pauseMs = known ? Math.min(2 * known.pauseMs, PAUSE_MS_MAX) : PAUSE_MS_MIN
    this.#ledgers.set(ledger, { pauseMs, untilMs: this.#now() + pauseMs })
  }

  get count(): number {
    return this.#ledgers.size
  }

  resume(ledger: string): void {
    this.#ledgers.delete(ledger)
  }
}
