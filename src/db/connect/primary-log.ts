import { PRIMARY_LOG_BACK_MS, PRIMARY_LOG_LOOKS_MAX, PRIMARY_LOG_SPACING_MS } from '../limits.ts'

type Look = { readonly walBytes: number; readonly atMs: number }

/**
 * How far the primary's log was, and when. A standby's lag is the age of the first byte that it lacks: of the oldest look that saw
 * more than it has replayed. So an idle primary makes no lag, and neither server's clock counts. It says up to a look's spacing less
 * than the truth: a tenth of a second under load, a second without.
 */
export class PrimaryLog {
  /** Oldest first, both members rising. */
  readonly #looks: Look[] = []
  #newest: Look = { walBytes: 0, atMs: Number.NEGATIVE_INFINITY }

  /** `atMs`: before the primary was asked. */
  note(walBytes: number, atMs: number): void {
    if (walBytes < this.#newest.walBytes) {
      // Answers overtake each other. A primary that stays behind is another one: what the old one wrote beyond it is no standby's lack.
      if (atMs - this.#newest.atMs < PRIMARY_LOG_BACK_MS) return
      this.#looks.length = 0
    }
    const isApart = atMs - (this.#looks.at(-1)?.atMs ?? Number.NEGATIVE_INFINITY) >= PRIMARY_LOG_SPACING_MS
    const isMore = walBytes > (this.#looks.at(-1)?.walBytes ?? -1)
    this.#newest = { walBytes, atMs }
    if (!isApart || !isMore) return
    this.#looks.push(this.#newest)
    if (this.#looks.length > PRIMARY_LOG_LOOKS_MAX) this.#looks.shift()
  }

  /** Lag of a standby that has replayed so many bytes of the log. */
  behind(walBytes: number, nowMs: number): { readonly bytes: number; readonly ms: number } {
    const lacked = this.#looks.find((look) => look.walBytes > walBytes)
    return {
      bytes: Math.max(0, this.#newest.walBytes - walBytes),
      ms: lacked === undefined ? 0 : nowMs - lacked.atMs,
    }
  }
}
