import type { LedgerEnds } from '../../db/events/read-events.ts'
import type { Uuid } from '../../proof/ids.ts'
import { EVENTS_POLL_MS, WATCH_TIME_SHARE_MAX } from './limits.ts'
import { Watch } from './watch.ts'

/** Tells those who wait for it that a ledger has grown, or that its floor has risen. */
export class LedgerWatch {
  readonly #watch: Watch<Uuid, LedgerEnds>

  constructor(
    look: (ledgerIds: readonly Uuid[]) => Promise<LedgerEnds[]>,
    log: { warn(details: object, message: string): void },
  ) {
    this.#watch = new Watch({
      what: 'ledgers that are tailed',
      keyOf: (ledgerId) => ledgerId,
      look,
      pollMs: EVENTS_POLL_MS,
      timeShareMax: WATCH_TIME_SHARE_MAX,
      log,
    })
  }

  /**
   * The ledger's ends as soon as they are beyond these; null where they are not after `msMax`, or `signal` says to stop. `isHeld`:
   * only a higher floor counts, because nothing else lets it go on.
   */
  grown(
    ledgerId: Uuid,
    than: LedgerEnds,
    { isHeld, ...until }: { readonly msMax: number; readonly isHeld: boolean; readonly signal: AbortSignal },
  ): Promise<LedgerEnds | null> {
    const isBeyond = ({ size, checkpoint, floor }: LedgerEnds) =>
      isHeld ? floor > than.floor : size > than.size || checkpoint > than.checkpoint
    return this.#watch.until(ledgerId, isBeyond, until)
  }
}
