import { PRIMARY_LOG_BACK_MS, PRIMARY_LOG_SAMPLES_MAX, PRIMARY_LOG_SPACING_MS } from '../limits.ts'

type Sample = { readonly walBytes: number; readonly atMs: number }

/**
 * Stores log positions of the primary with their times, from which a standby's lag is computed.
 *
 * The lag is the age of the oldest sample beyond the standby's position. So an idle primary causes no lag, and the
 * clocks of the two servers do not matter. The computed lag may be too small by the time between two samples: 0.1 s
 * under load, 1 s otherwise.
 */
export class PrimaryLog {
  /** Samples in the order of time, oldest first. Their positions increase too. */
  readonly #samples: Sample[] = []
  #newest: Sample = { walBytes: 0, atMs: Number.NEGATIVE_INFINITY }

  /** Adds a sample. `atMs` is the time before the primary was queried. */
  note(walBytes: number, atMs: number): void {
    if (walBytes < this.#newest.walBytes) {
      // A lower position has two possible causes. Either a later answer arrived before an earlier one, or another
      // primary answers now. In the second case the position stays lower for some time. The samples are then dropped,
      // because a standby does not need what the old primary wrote beyond that position.
      if (atMs - this.#newest.atMs < PRIMARY_LOG_BACK_MS) return
      this.#samples.length = 0
    }
    const isApart = atMs - (this.#samples.at(-1)?.atMs ?? Number.NEGATIVE_INFINITY) >= PRIMARY_LOG_SPACING_MS
    const isMore = walBytes > (this.#samples.at(-1)?.walBytes ?? -1)
    this.#newest = { walBytes, atMs }
    if (!isApart || !isMore) return
    this.#samples.push(this.#newest)
    if (this.#samples.length > PRIMARY_LOG_SAMPLES_MAX) this.#samples.shift()
  }

  /** Returns the lag of a standby that has replayed `walBytes` of the log. */
  behind(walBytes: number, nowMs: number): { readonly bytes: number; readonly ms: number } {
    const lacked = this.#samples.find((sample) => sample.walBytes > walBytes)
    return {
      bytes: Math.max(0, this.#newest.walBytes - walBytes),
      ms: lacked === undefined ? 0 : nowMs - lacked.atMs,
    }
  }
}
