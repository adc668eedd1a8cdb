import type { Uuid } from '../../proof/ids.ts'

/** Ledgers in which money waits for the follower: it looks at these at once, and at the others when their turn comes. */
export class AwaitedLedgers {
  readonly #wake: () => void
  readonly #ledgers = new Set<Uuid>()

  /** `wake`: the follower, which may rest. */
  constructor(wake: () => void) {
    this.#wake = wake
  }

  add(ledgerId: Uuid): void {
    this.#ledgers.add(ledgerId)
    this.#wake()
  }

  /** All of them: a round that still waits adds its ledger again. */
  take(): Uuid[] {
    const ledgers = [...this.#ledgers]
    this.#ledgers.clear()
    return ledgers
  }
}
