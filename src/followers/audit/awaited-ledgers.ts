import { toUuid } from '../../db/connect/uuid.ts'

/** Ledgers in which money waits for the follower: it looks at these at once, and at the others when their turn comes. */
export class AwaitedLedgers {
  readonly #wake: () => void
  readonly #ledgers = new Map<string, Uint8Array>()

  /** `wake`: the follower, which may rest. */
  constructor(wake: () => void) {
    this.#wake = wake
  }

  add(ledgerId: Uint8Array): void {
    this.#ledgers.set(toUuid(ledgerId), ledgerId)
    this.#wake()
  }

  /** All of them: whoever still waits adds its ledger again. */
  take(): Uint8Array[] {
    const ledgers = [...this.#ledgers.values()]
    this.#ledgers.clear()
    return ledgers
  }
}
