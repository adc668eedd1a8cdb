import { TAIL_AGE_MS_MAX } from '../limits.ts'

type Place = { readonly seq: number; readonly atMs: number }

/** An entry that a checkpoint should have covered long ago, and the time of the newest one. */
export type LateEntry = Place & { readonly newestAtMs: number }

/**
 * How old the entries are that stand behind the checkpoints.
 *
 * A statement does not hold its seq, and the chain is a hash without a key: anybody who has an export or the database, and no key at
 * all, can put an older checkpoint under it and take out or exchange the entries behind that. Their times are signed, so an older
 * checkpoint shows: entries behind it are older than a minute. Younger entries can be thinned still, and the end cut
 * off. An attacker who takes out everything older, and leaves a minute of it, leaves a gap. The gap alone is no proof,
 * because a ledger may rest.
 */
export class LedgerTail {
  #newestAtMs = Number.NEGATIVE_INFINITY
  /** Newest of the entries that the ledger's own checkpoint covers. */
  #newestCoveredAtMs = Number.POSITIVE_INFINITY
  #oldestBehindOwn: Place | null = null
  #oldestBehindAll: Place | null = null

  /** The next entry, with the sizes of the largest checkpoints that agreed with the ledger up to it. */
  append(place: Place, { ownSize, keptSize }: { readonly ownSize: number; readonly keptSize: number }): void {
    this.#newestAtMs = Math.max(this.#newestAtMs, place.atMs)
    if (ownSize > place.seq) this.#newestCoveredAtMs = this.#newestAtMs
    this.#oldestBehindOwn = ownSize > place.seq ? null : older(this.#oldestBehindOwn, place)
    this.#oldestBehindAll =
      Math.max(ownSize, keptSize) > place.seq ? null : older(this.#oldestBehindAll, place)
  }

  /** null where each entry that is older than a minute is covered by a checkpoint of the ledger's own. */
  get lateBehindOwn(): LateEntry | null {
    return this.#late(this.#oldestBehindOwn)
  }

  /** The same of all checkpoints, those kept outside as well. */
  get lateBehindAll(): LateEntry | null {
    return this.#late(this.#oldestBehindAll)
  }

  /**
   * Whether more than a minute lies between what a checkpoint of the ledger's own covers and what stands behind it. It
   * is true as well for a ledger that rested, and was read in the second after it went on; or somebody took out all
   * that stood there.
   */
  get hasGapBehindOwn(): boolean {
    const oldest = this.#oldestBehindOwn
    return oldest !== null && oldest.atMs - this.#newestCoveredAtMs > TAIL_AGE_MS_MAX
  }

  #late(oldest: Place | null): LateEntry | null {
    const newestAtMs = this.#newestAtMs
    return oldest !== null && newestAtMs - oldest.atMs > TAIL_AGE_MS_MAX ? { ...oldest, newestAtMs } : null
  }
}

function older(one: Place | null, other: Place): Place {
  return one !== null && one.atMs <= other.atMs ? one : { seq: other.seq, atMs: other.atMs }
}

/** For people: its meaning, and the honest ledgers to which it happens. */
export function describeLate({ seq, atMs, newestAtMs }: LateEntry, covered: number): string {
  const [at, newestAt] = [atMs, newestAtMs].map((ms) => new Date(ms).toISOString())
  return (
    `seq ${seq} was recorded at ${at}, the newest entry at ${newestAt}, and the newest checkpoint covers ${covered} entries: ` +
    'anybody could have removed or exchanged entries behind it. A ledger gets no checkpoints while no worker runs, ' +
    'while it has a fault, or while it is closed: ask its operator, and look again when it has a newer one'
  )
}
