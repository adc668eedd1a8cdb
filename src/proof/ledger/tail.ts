import { TAIL_AGE_MS_MAX } from '../limits.ts'

type EntryPosition = { readonly seq: number; readonly atMs: number }

/**
 * An entry that no checkpoint covers although it is more than a minute older than the newest entry. `newestAtMs`: time
 * of the newest entry.
 */
export type LateEntry = EntryPosition & { readonly newestAtMs: number }

/**
 * Measures the age of entries behind the checkpoints.
 *
 * A statement does not contain its seq, and the chain is a hash without a key. So anybody who has an export or the
 * database can remove or exchange the entries behind an older checkpoint, and end the file with that checkpoint. No key
 * is needed for this. But the times of entries are signed, so such an old checkpoint can be recognised: some entries
 * behind it are more than a minute older than the newest entry.
 *
 * Entries of the last minute can still be removed, and the end can be cut off. If an attacker removes everything
 * between the checkpoint and the last minute, a gap in time remains. A gap alone proves nothing, because a ledger may
 * be idle.
 */
export class LedgerTail {
  #newestAtMs = Number.NEGATIVE_INFINITY
  /** Time of the newest entry that the ledger's own checkpoint covers. */
  #newestCoveredAtMs = Number.POSITIVE_INFINITY
  #oldestBehindOwn: EntryPosition | null = null
  #oldestBehindAll: EntryPosition | null = null

  /**
   * Adds the next entry. `ownSize`, `outsideSize`: sizes of the largest checkpoints with which the ledger has agreed so
   * far.
   */
  append(
    position: EntryPosition,
    { ownSize, outsideSize }: { readonly ownSize: number; readonly outsideSize: number },
  ): void {
    this.#newestAtMs = Math.max(this.#newestAtMs, position.atMs)
    if (ownSize > position.seq) this.#newestCoveredAtMs = this.#newestAtMs
    this.#oldestBehindOwn = ownSize > position.seq ? null : older(this.#oldestBehindOwn, position)
    this.#oldestBehindAll =
      Math.max(ownSize, outsideSize) > position.seq ? null : older(this.#oldestBehindAll, position)
  }

  /**
   * The oldest entry behind the ledger's own checkpoints, if it is more than a minute older than the newest entry.
   * Otherwise null.
   */
  get lateBehindOwn(): LateEntry | null {
    return this.#late(this.#oldestBehindOwn)
  }

  /** Like lateBehindOwn, but for all checkpoints, including those that were stored outside of the ledger. */
  get lateBehindAll(): LateEntry | null {
    return this.#late(this.#oldestBehindAll)
  }

  /**
   * True if more than a minute lies between the last entry that the ledger's own checkpoint covers and the next entry.
   * Either somebody removed the entries in between, or the ledger was idle and was read just after its next entry.
   */
  get hasGapBehindOwn(): boolean {
    const oldest = this.#oldestBehindOwn
    return oldest !== null && oldest.atMs - this.#newestCoveredAtMs > TAIL_AGE_MS_MAX
  }

  #late(oldest: EntryPosition | null): LateEntry | null {
    const newestAtMs = this.#newestAtMs
    return oldest !== null && newestAtMs - oldest.atMs > TAIL_AGE_MS_MAX ? { ...oldest, newestAtMs } : null
  }
}

function older(one: EntryPosition | null, other: EntryPosition): EntryPosition {
  return one !== null && one.atMs <= other.atMs ? one : { seq: other.seq, atMs: other.atMs }
}

/** Describes a late entry for people. The text also says when an honest ledger has such an entry. */
export function describeLate({ seq, atMs, newestAtMs }: LateEntry, covered: number): string {
  const [at, newestAt] = [atMs, newestAtMs].map((ms) => new Date(ms).toISOString())
  return (
    `seq ${seq} was recorded at ${at}, the newest entry at ${newestAt}, and the newest checkpoint covers ${covered} entries: ` +
    'later entries could have been removed or replaced. A ledger gets no checkpoints while no worker runs, ' +
    'while it has a fault, or while it is closed: ask its operator, and verify again when it has a newer one'
  )
}
