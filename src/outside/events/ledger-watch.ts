import type { LedgerEnds } from '../../db/events/read-events.ts'
import type { Uuid } from '../../proof/ids.ts'
import { EVENTS_POLL_MS, WATCH_TIME_SHARE_MAX } from './limits.ts'
import { Watch } from './watch.ts'

export class LedgerWatch {
  readonly #watch: Watch<Uuid, LedgerEnds>

  constructor(
    read: (ledgerIds: readonly Uuid[]) => Promise<LedgerEnds[]>,
    log: { warn(details: object, message: string): void },
  ) {
    this.#watch = new Watch({
      noun: 'ledgers with open event streams',
      keyOf: (ledgerId) => ledgerId,
      read: read,
      pollMs: EVENTS_POLL_MS,
      timeShareMax: WATCH_TIME_SHARE_MAX,
      log,
    })
  }

  /**
   * Waits until the ledger has grown beyond `than`. Returns the ledger's new size, verified size and newest checkpoint.
   * Returns null after `msMax`, or when `signal` aborts. `isGated`: true if the next event waits for verification. Then
   * only a higher verified size ends the wait.
   */
  grown(
    ledgerId: Uuid,
    than: LedgerEnds,
    {
      isGated,
      ...until
    }: { readonly msMax: number; readonly isGated: boolean; readonly signal: AbortSignal },
  ): Promise<LedgerEnds | null> {
    const isBeyond = ({ size, checkpoint, verifiedSize }: LedgerEnds) =>
      isGated ? verifiedSize > than.verifiedSize : size > than.size || checkpoint > than.checkpoint
    return this.#watch.until(ledgerId, isBeyond, until)
  }
}
